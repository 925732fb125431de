"""Native kernels: int8 bundles on a CPU, without onnxruntime.

`onnx_file` reads the graphs, `program` turns them into instructions, `library` runs these in C++ (`src/`),
and `search_state` offers what `dragoman.graphs` offers: an encoder and decoder steps.
"""
