"""Bundles opened on the kernels, and their log-probabilities."""

from pathlib import Path

import numpy as np

from dragoman.bundle import open_bundle
from dragoman.native.model import NativeModel
from dragoman.native.search_state import NativeEncoder, NativeSteps
from dragoman.native.weights_cache import WeightsCache
from dragoman.shortlist import Shortlist
from dragoman.types import SearchKind
from tests.imports.parity.random_bundles import Ids, Logprobs


def open_native(
    folder: Path, shortlist: Shortlist | None = None, cache: WeightsCache | None = None
) -> tuple[NativeModel, NativeEncoder]:
    """Open a bundle on the kernels."""
    model = NativeModel(open_bundle(folder), shortlist=shortlist, cache=cache)
    return model, NativeEncoder(model)


def native_logprobs_by_steps(
    folder: Path, sources: list[list[int]], targets: Ids, vocab_size: int, cache: WeightsCache | None = None
) -> Logprobs:
    """The kernels' log-probabilities of every token, [R, T, V]."""
    model, encoder = open_native(folder, cache=cache)
    steps = NativeSteps(model, SearchKind(len(targets) // len(sources)))
    steps.join(encoder.run(sources))
    found = np.full((*targets.shape, vocab_size), np.nan, np.float32)
    for step in range(targets.shape[1]):
        logprobs, ids = steps.step(np.ascontiguousarray(targets[:, step]), vocab_size)
        np.put_along_axis(found[:, step], ids, logprobs, axis=1)
    return found
