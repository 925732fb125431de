"""The two graphs on onnxruntime, behind plain numpy arrays."""
