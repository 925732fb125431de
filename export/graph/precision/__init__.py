"""Precisions in which a graph can be written: how weights and activations are stored and multiplied."""

from export.activation_ranges import Quantisation
from export.graph.precision.float32 import Float16, Float32
from export.graph.precision.int8 import Int8, quantise_channels
from export.graph.precision.protocol import LinearLayer, OutputProjection, Precision, Weights

__all__ = [
    "PRECISIONS",
    "Float16",
    "Float32",
    "Int8",
    "LinearLayer",
    "OutputProjection",
    "Precision",
    "Weights",
    "make_writer",
    "quantise_channels",
]

PRECISIONS = ("int8", "fp16", "fp32")
"""Precisions of bundles; the first is the default."""


def make_writer(name: str, calibration: Quantisation | None) -> Precision:
    """Return a new writer for one graph of a bundle.

    Args:
        name: one of `PRECISIONS`.
        calibration: calibration of the model; required for int8.

    Raises:
        ValueError: the name is unknown, or a required calibration is missing.
    """
    if name == "fp32":
        return Float32()
    if name == "fp16":
        return Float16()
    if name not in PRECISIONS or calibration is None:
        raise ValueError(
            f"precision {name} is unknown or lacks a calibration; known are {', '.join(PRECISIONS)}"
        )
    return Int8(calibration)
