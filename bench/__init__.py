"""Reproducible measurements; their results are in bench/results."""

import os

# As in `dragoman.graphs`, for modules that import onnxruntime before it and for other engines' environments.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
