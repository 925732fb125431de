"""fp16 bundles on NVIDIA GPUs, with kernels of the engine's own (`dragoman[cuda]`: PyTorch and Triton).

Nothing outside this package imports its modules before a GPU is asked for.
"""
