"""Where the sources still searched for sit in the batch."""

import numpy as np
from numpy.typing import NDArray


def fill_holes(is_leaving: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Close up after sources have left, moving as few of the others as possible.

    Args:
        is_leaving: bool [B], per slot.

    Returns:
        int64 [B'], the old slot of each new one: slot i stays slot i, unless its source has left; then a
        source from the end fills it.
    """
    num_staying = int(np.count_nonzero(~is_leaving))
    slots = np.arange(num_staying, dtype=np.int64)
    slots[is_leaving[:num_staying]] = num_staying + np.flatnonzero(~is_leaving[num_staying:])
    return slots
