"""Precisions in which a graph can be written: how weights and activations are stored and multiplied."""

from typing import NamedTuple

from export.activation_ranges import Calibration
from export.graph.precision.float16 import Float16
from export.graph.precision.float32 import Float32
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
    "Writers",
    "make_writers",
    "quantise_channels",
]

PRECISIONS = ("int8", "fp16", "fp32")
"""Precisions of bundles; the first is the default."""


class Writers(NamedTuple):
    """Writers of the two graphs of a bundle."""

    encoder: Precision
    decoder: Precision


def make_writers(name: str, calibration: Calibration | None) -> Writers:
    """Return new writers for the two graphs of a bundle.

    Args:
        name: one of `PRECISIONS`.
        calibration: calibration of the model; required for int8.

    Raises:
        ValueError: the name is unknown, or a required calibration is missing.
    """
    if name == "fp32":
        return Writers(Float32(), Float32())
    if name == "fp16":
        return Writers(Float16(), Float16())
    if name not in PRECISIONS or calibration is None:
        raise ValueError(
            f"precision {name} is unknown or lacks a calibration; known are {', '.join(PRECISIONS)}"
        )
    return Writers(Int8(calibration), Int8(calibration))
