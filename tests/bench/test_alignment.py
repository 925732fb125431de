"""Alignment error rates: what is counted, and between which words."""

from pathlib import Path

import numpy as np
import pytest

from bench.alignment import (
    GOLD,
    GoldPair,
    Tokens,
    align,
    alignment_error_rate,
    attentions,
    gold_words,
    rate_of_bundle,
    read_gold,
    reverse_pair,
    select_pieces,
    to_gold_links,
)
from dragoman.bundle import open_bundle
from dragoman.text.tokenizer import Tokenizer
from dragoman.types import Link, Span
from export.checkpoint import load_checkpoint
from export.model import Transformer
from tests.bench.tiny_pairs import PAIRS, TINY

PAIR = GoldPair("a b", "c d", frozenset({(0, 0)}), frozenset({(0, 0), (1, 1)}))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({(0, 0), (1, 1)}, 0.0),  # a possible link does no harm
        ({(0, 0)}, 0.0),  # nor does it have to be there
        ({(1, 1)}, 0.5),  # a sure one has: 1 - (0 + 1) / (1 + 1)
        ({(0, 0), (1, 0)}, 1 / 3),  # 1 - (1 + 1) / (2 + 1)
        (set(), 1.0),
    ],
)
def test_the_error_rate_is_that_of_och_and_ney(found: set[tuple[int, int]], expected: float) -> None:
    assert alignment_error_rate([found], [PAIR]) == pytest.approx(expected)


def test_all_pairs_are_counted_together() -> None:
    assert alignment_error_rate([{(0, 0)}, {(1, 1)}], [PAIR, PAIR]) == pytest.approx(1 - (1 + 2) / (2 + 2))


def test_words_are_parted_by_white_space_and_from_punctuation() -> None:
    text = "„Don't\", she said: 3.5 well-known (odd) ones..."

    assert [text[word.start : word.end] for word in gold_words(text)] == [
        *("„", "Don't", '"', ",", "she", "said", ":", "3.5", "well-known", "(", "odd", ")", "ones"),
        *(".", ".", "."),
    ]


def test_links_of_smaller_words_are_links_of_those_they_are_part_of() -> None:
    source, target = gold_words("I can't go"), gold_words("ich kann nicht")
    links = [Link(Span(2, 5), Span(4, 8)), Link(Span(6, 7), Span(9, 14)), Link(Span(1, 2), Span(0, 3))]

    assert to_gold_links(links, source, target) == {(1, 1), (1, 2)}


@pytest.mark.parametrize(
    "line", ["a b\tc\t0-1", "a b\tc\t2?0", "a b\tc\t0-0 0?0", "a b\tc\t0 0", "a b\tc\t0=0"]
)
def test_a_link_to_no_word_is_refused(line: str, tmp_path: Path) -> None:
    file = tmp_path / "gold.tsv"
    file.write_text(f"a\tb\t0-0\n{line}\n", encoding="utf8")

    with pytest.raises(ValueError, match=r"gold.tsv:2: .* is no link"):
        read_gold(file)


def test_a_pair_the_other_way_round_has_the_same_links() -> None:
    pair = GoldPair("a b", "c", frozenset({(1, 0)}), frozenset({(1, 0), (0, 0)}))

    assert reverse_pair(pair) == GoldPair("c", "a b", frozenset({(0, 1)}), frozenset({(0, 1), (0, 0)}))


def test_the_committed_links_can_be_read_and_leave_little_alone() -> None:
    pairs = read_gold(GOLD)
    aligned = sum(len({word for _, word in pair.possible}) for pair in pairs)
    words = sum(len(gold_words(pair.target)) for pair in pairs)

    assert len(pairs) == 100
    assert aligned > 0.98 * words


def test_the_step_that_reads_a_token_comes_after_the_one_that_says_it() -> None:
    steps = np.arange(4, dtype=np.float32)[:, None] * np.ones(3, np.float32)  # said: two pieces, then the end
    tokens = Tokens((5, 6), (7, 8, 9))

    assert select_pieces(steps, tokens, reads_token=False).tolist() == [[0, 0], [1, 1], [2, 2]]
    assert select_pieces(steps, tokens, reads_token=True).tolist() == [[1, 1], [2, 2], [3, 3]]


def test_the_model_is_asked_for_what_the_engine_reads() -> None:
    """In fp32, the rate of a bundle is that of the model's own attention."""
    checkpoint, manifest = load_checkpoint(TINY / "checkpoint"), open_bundle(TINY / "bundle-fp32").manifest
    assert isinstance(checkpoint.model, Transformer)
    model = checkpoint.model
    tokenizer = Tokenizer.load(checkpoint.source_tokenizer)
    gold = [GoldPair(*texts, frozenset({(0, 0)}), frozenset({(0, 0)})) for texts in PAIRS[:12]]
    alignment = manifest.alignment

    def read(tokens: Tokens) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        of_layer = attentions(model, tokens)[alignment.layer, list(alignment.heads)]
        return select_pieces(of_layer.mean(axis=0), tokens, reads_token=alignment.reads_token)

    found = [align(tokenizer, pair, read) for pair in gold]

    rate = rate_of_bundle(TINY / "bundle-fp32", tokenizer, gold)["error_rate"]
    assert rate == pytest.approx(alignment_error_rate(found, gold), abs=1e-4)
    assert 0 < rate < 1
