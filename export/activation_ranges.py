"""Ranges of activations, which int8 graphs fix at export."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

SIGNED_LEVELS = 127
UNSIGNED_LEVELS = 255


@dataclass(frozen=True, slots=True)
class ActivationRange:
    """Range to which the input of a projection is clipped before it is rounded to 8 bits."""

    clip: float
    """Largest magnitude kept."""
    is_signed: bool
    """Whether the levels cover negative values; if not, all 255 of them lie above zero."""

    @property
    def scale(self) -> float:
        """Distance between neighbouring levels."""
        return self.clip / (SIGNED_LEVELS if self.is_signed else UNSIGNED_LEVELS)


@dataclass(frozen=True, slots=True)
class Quantisation:
    """Everything that int8 graphs fix at export: measured, or in a model's own files."""

    ranges: Mapping[str, ActivationRange]
    """Range of the input of every product, by the name of its first layer, or `OUTPUT`; empty if a model's
    files have none."""
    scales: Mapping[str, NDArray[np.float32]] = field(default_factory=dict)
    """Scales [N] of weights that are -128 to 127 times the scale of their row, by the name of the layer or
    table; a graph's tables are called `encoder.` or `decoder.` and their name there. Other weights get scales
    of their own."""
