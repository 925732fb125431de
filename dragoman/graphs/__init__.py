"""The two graphs on onnxruntime, behind plain numpy arrays."""

import os

# From 1.29 on, onnxruntime's Linux packages write an identifier of the machine into the home folder and
# report models and runs to their maker. This is looked at once, when onnxruntime is imported, which modules
# of this package do first; `disable_telemetry_events` comes too late, but is all that Windows has.
os.environ["ORT_DISABLE_TELEMETRY"] = "1"
