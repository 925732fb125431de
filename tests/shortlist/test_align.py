"""IBM Model 1 on text whose dictionary is known."""

import numpy as np
import pytest

from export.shortlist import pairs as pairs_module
from export.shortlist.align import link_pieces
from export.shortlist.pairs import TokenPairs, occurrences, spans

VOCAB = 12
DICTIONARY = np.array([7, 3, 9, 0, 11, 1, 5, 2, 10, 4, 8, 6])


def toy_pairs(seed: int = 1, num_pairs: int = 200) -> TokenPairs:
    """Sentences of two to five pieces; each is translated by the dictionary, in another order."""
    rng = np.random.default_rng(seed)
    sources = [rng.choice(VOCAB, rng.integers(2, 6), replace=False) for _ in range(num_pairs)]
    return TokenPairs.of(
        [(source.tolist(), rng.permutation(DICTIONARY[source]).tolist()) for source in sources]
    )


def test_em_finds_exactly_the_dictionary_of_a_shuffled_text() -> None:
    pairs = toy_pairs()
    links = link_pieces(pairs, VOCAB, VOCAB, iterations=5)
    assert links.source_ids.tolist() == list(range(VOCAB))
    assert links.target_ids.tolist() == DICTIONARY.tolist()
    assert links.num_tokens.tolist() == np.bincount(pairs.sources.ids, minlength=VOCAB).tolist()


def test_cooccurrence_counts_alone_do_not_find_the_dictionary() -> None:
    """Piece 0 is in every sentence, so every target stands beside it most often: EM must explain it away."""
    rng = np.random.default_rng(2)
    rows = [(0, other) for other in rng.integers(1, 6, 100).tolist()]
    links = link_pieces(TokenPairs.of([(row, [10 + row[0], 10 + row[1]]) for row in rows]), 6, 16, 5)
    assert sorted(zip(links.source_ids.tolist(), links.target_ids.tolist(), strict=True)) == [
        (piece, 10 + piece) for piece in range(6)
    ]


def test_the_result_does_not_depend_on_the_size_of_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = toy_pairs(seed=3, num_pairs=60)
    whole = link_pieces(pairs, VOCAB, VOCAB, iterations=2)
    monkeypatch.setattr(pairs_module, "CHUNK_OCCURRENCES", 50)
    assert len(spans(pairs)) > 5
    parts = link_pieces(pairs, VOCAB, VOCAB, iterations=2)
    assert parts.source_ids.tolist() == whole.source_ids.tolist()
    assert parts.target_ids.tolist() == whole.target_ids.tolist()
    assert parts.num_tokens.tolist() == whole.num_tokens.tolist()


def test_every_target_token_cooccurs_with_every_source_piece_and_the_empty_one() -> None:
    pairs = TokenPairs.of([([], [4]), ([0, 1], [2, 3]), ([1], []), ([1], [3])])
    keys, starts = occurrences(pairs, 1, 4, source_vocab=9, target_vocab=10)
    assert keys.tolist() == [92, 2, 12, 93, 3, 13, 93, 13]  # ten times the source, and the target
    assert starts.tolist() == [0, 3, 6]


@pytest.mark.parametrize("pairs", [[], [([], [4, 5]), ([2], [])]])
def test_a_token_without_a_source_is_linked_to_nothing(pairs: list[tuple[list[int], list[int]]]) -> None:
    assert len(link_pieces(TokenPairs.of(pairs), 6, 6, 2).source_ids) == 0
