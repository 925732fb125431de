"""Relative position biases: a learned number by head and bucket of distances, added to attention scores.

Raffel et al. 2020, "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer",
section 2.1. Near distances have a bucket each; farther ones share buckets that grow with their logarithm.
"""

import numpy as np
from numpy.typing import NDArray

from export.model_config import ModelConfig

Floats = NDArray[np.float32]


def distance_buckets(config: ModelConfig, *, is_bidirectional: bool) -> NDArray[np.int64]:
    """Return the bucket of each distance from query to key, in tokens, that needs its own entry.

    Args:
        config: has the number of buckets, and the distance M from which all share the last one.
        is_bidirectional: whether keys may follow the query.

    Returns:
        int64 [2M + 1] for keys from M positions before the query to M positions after it; without those after
        it int64 [M + 1], for keys from 0 to M positions before it.
    """
    reach = config.relative_max_distance
    if not is_bidirectional:
        return _one_direction(np.arange(reach + 1), config.relative_buckets, reach)
    half = config.relative_buckets // 2
    offsets = np.arange(-reach, reach + 1)
    return _one_direction(np.abs(offsets), half, reach) + half * (offsets > 0)


def biases_by_distance(config: ModelConfig, biases: Floats, *, is_bidirectional: bool) -> Floats:
    """Return biases [buckets, H] for the distances of `distance_buckets`: [H, distances]."""
    by_distance = biases[distance_buckets(config, is_bidirectional=is_bidirectional)]
    return np.ascontiguousarray(by_distance.T)


def _one_direction(distances: NDArray[np.int64], num_buckets: int, reach: int) -> NDArray[np.int64]:
    """Return the buckets of distances that are not negative.

    In float32, as in Mesh TensorFlow and `transformers`: the rounding decides where a bucket ends.
    """
    num_exact = num_buckets // 2
    ratios = np.maximum(distances, 1).astype(np.float32) / np.float32(num_exact)
    span = np.float32(np.log(reach / num_exact))
    farther = num_exact + (np.log(ratios) / span * np.float32(num_buckets - num_exact)).astype(np.int64)
    return np.where(distances < num_exact, distances, np.minimum(farther, num_buckets - 1))
