"""The encoder and decoder graphs on onnxruntime, with plain numpy arrays as interface."""

import os

# From 1.29 on, onnxruntime's Linux packages write an identifier of the machine into the home folder and
# report models and runs to their maker. The variable is read once, when onnxruntime is imported, which
# modules of this package do first; `disable_telemetry_events` is too late, but is all that Windows has.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
