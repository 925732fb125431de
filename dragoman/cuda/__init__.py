"""fp16 bundles on NVIDIA GPUs, on Triton kernels (`dragoman[cuda]`: PyTorch and Triton).

Nothing outside this package imports its modules before a GPU is asked for.
"""
