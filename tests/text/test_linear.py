"""Work on a text is in proportion to its length, whatever is in it: counted, not timed."""

import re
from collections.abc import Callable, Iterator

import pytest
import sentencex

from dragoman.text import boundaries
from dragoman.text.normalization import normalise_segment, normalised_offsets
from dragoman.text.segmentation import WINDOW_CHARS, fit_segments, segment
from dragoman.text.words import Word, group_into_words
from dragoman.types import Span, Splitting
from tests.linear import is_linear

UNITS = [
    *("x", "x ", ".", "..x", '"', 'a"', '". ', "„", "(", "a (b", " ", "\n", "1\n", "1. ", "19. J", "!?"),
    *("z.B. ", "日", "日。", "\u0301", "a\u0301", "\u0f73", "\u0301\x01", "\x01", "\u200d"),
    *("\u1100\u1161", "\U0001f1e9", "a\t"),
]
"""What a text of any length is made of."""


def text_of(unit: str, size: int) -> str:
    return (unit * size)[:size]


def count_letters(text: str) -> int:
    return len(text.split()) + len(text) // 8


@pytest.mark.parametrize("unit", UNITS, ids=ascii)
@pytest.mark.parametrize(
    "work",
    [
        normalise_segment,
        normalised_offsets,
        lambda text: segment(text, "de"),
        lambda text: segment(text, "de", Splitting.NO_NEWLINES),
        lambda text: fit_segments(segment(text, "de"), count_letters, 100),
    ],
    ids=["normalise", "places", "segment", "segment_no_newlines", "fit_segments"],
)
def test_twice_the_text_takes_twice_the_calls(work: Callable[[str], object], unit: str) -> None:
    assert is_linear(lambda size: work(text_of(unit, size)))


class CountingPattern:
    """A pattern that notes how many characters it is given."""

    def __init__(self, pattern: re.Pattern[str]) -> None:
        self.pattern = pattern
        self.num_characters = 0

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        self.num_characters += len(text)
        return self.pattern.finditer(text)


@pytest.mark.parametrize("name", ["_CLAUSE_END", "_SPACES"])
def test_boundaries_are_searched_once_for_any_number_of_cut_words(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = " ".join(["x" * 1000] * 20)
    pattern = CountingPattern(getattr(boundaries, name))
    monkeypatch.setattr(boundaries, name, pattern)

    fit_segments(segment(text, "de"), count_letters, 100)

    assert pattern.num_characters == len(text)


@pytest.mark.parametrize("unit", UNITS, ids=ascii)
def test_the_splitter_is_shown_no_character_more_than_twice(
    unit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown: list[int] = []
    split = sentencex.segment

    def watched(code: str, text: str) -> list[str]:
        shown.append(len(text))
        found: list[str] = split(code, text)
        return found

    monkeypatch.setattr(sentencex, "segment", watched)
    size = 10 * WINDOW_CHARS

    segment(text_of(unit, size), "de")

    assert max(shown, default=0) <= WINDOW_CHARS
    assert sum(shown) <= 2 * size + WINDOW_CHARS


def test_a_word_of_many_pieces_is_put_together_once() -> None:
    def group(size: int) -> list[Word]:
        return group_into_words("x" * size, [Span(place, place + 1) for place in range(size)])

    assert is_linear(group)
    assert group(3)[0].pieces == (0, 1, 2)
