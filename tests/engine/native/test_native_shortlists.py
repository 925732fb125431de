"""The library selects the candidates that `Shortlist.candidates` names."""

import numpy as np
import pytest
from numpy.typing import NDArray

from dragoman.bundle import Bundle, open_bundle
from dragoman.native.library import best_kernels
from dragoman.native.model import NativeModel
from dragoman.native.search_state import NativeEncoder, NativeSteps
from dragoman.shortlist import MAX_UINT16_VOCAB, Shortlist
from dragoman.types import SearchKind
from tests.imports.parity.conftest import Export
from tests.imports.parity.random_bundles import OWN_TARGET, VOCAB
from tests.imports.shortlist.random_shortlists import random_shortlist

TARGET_VOCABS = (80, MAX_UINT16_VOCAB, MAX_UINT16_VOCAB + 1, 2 * MAX_UINT16_VOCAB)
BEGIN = 2

pytestmark = pytest.mark.skipif(not best_kernels(), reason="the kernels are not built, or not for this CPU")


def selected(bundle: Bundle, shortlist: Shortlist, sources: list[list[int]]) -> list[NDArray[np.int64]]:
    """Return the tokens that the first step may choose, of each source."""
    model = NativeModel(bundle, shortlist=shortlist)
    steps = NativeSteps(model, SearchKind(1, is_shortlisted=True))
    steps.join(NativeEncoder(model).run(sources))
    logprobs, ids = steps.step(np.full(len(sources), BEGIN), bundle.manifest.sizes.target_vocab)
    return [np.sort(row[is_possible]) for row, is_possible in zip(ids, logprobs > -np.inf, strict=True)]


@pytest.mark.parametrize(("num_always", "max_listed"), [(0, 0), (0, 3), (30, 0), (30, 40)])
@pytest.mark.parametrize("target_vocab", TARGET_VOCABS)
def test_selected_candidates_are_those_of_the_shortlist(
    target_vocab: int, num_always: int, max_listed: int, exported: Export
) -> None:
    bundle = open_bundle(exported({**OWN_TARGET, "target_vocab_size": target_vocab}, "int8"))
    rng = np.random.default_rng([target_vocab, num_always, max_listed])
    always = rng.integers(0, target_vocab, num_always)
    shortlist = random_shortlist(rng, VOCAB, target_vocab, always, max_listed)
    sources = [rng.integers(0, VOCAB, length).tolist() for length in (1, 2, 9, 70, 1, 30)]
    sources += [[0], [VOCAB - 1], [7] * 5, [*sources[2], *sources[2][::-1]]]

    found = selected(bundle, shortlist, sources)

    for source, tokens in zip(sources, found, strict=True):
        np.testing.assert_array_equal(tokens, shortlist.candidates(source))


@pytest.mark.parametrize("target_vocab", TARGET_VOCABS)
def test_the_first_and_the_last_token_can_be_candidates(target_vocab: int, exported: Export) -> None:
    bundle = open_bundle(exported({**OWN_TARGET, "target_vocab_size": target_vocab}, "int8"))
    first, last = np.array([0]), np.array([target_vocab - 1])
    offsets = np.arange(VOCAB + 1) == VOCAB  # only the last piece lists a token

    for always, listed in ((first, last), (last, first)):
        shortlist = Shortlist.of(always, offsets.astype(np.int64), listed, target_vocab)
        found = selected(bundle, shortlist, [[VOCAB - 2], [VOCAB - 1]])
        assert [tokens.tolist() for tokens in found] == [always.tolist(), [0, target_vocab - 1]]
