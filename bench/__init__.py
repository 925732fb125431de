"""Measurements that anyone can run again; results lie in bench/results."""

import os

# As in `dragoman.graphs`, for what imports onnxruntime before it, and for other engines' environments.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
