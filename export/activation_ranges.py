"""What int8 and int4 graphs fix at export: ranges of activations, and moments of inputs."""

from collections.abc import Mapping
from dataclasses import dataclass

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
class Calibration:
    """Everything that int8 and int4 graphs fix at export."""

    ranges: Mapping[str, ActivationRange]
    """Range of the input of every product, by the name of its first layer, or `OUTPUT`."""
    moments: Mapping[str, NDArray[np.float64]]
    """Mean of x xᵀ over the inputs x of the requested layers, [K, K]."""
