# ruff: noqa: RUF001 -- the signs of several scripts are meant as they stand
import math
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.errors import InputError
from dragoman.text.boundaries import Boundaries
from dragoman.text.segmentation import (
    MAX_WORD_CHARACTERS,
    MAX_WORD_TOKENS,
    WINDOW_CHARS,
    SegmentedText,
    _halve_to_fit,
    _split_at_spans,
    fit_segments,
    has_letters,
    segment,
)
from dragoman.text.tokenizer import Tokenizer
from dragoman.types import Splitting

SHARED_TOKENIZER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
WORDY = st.lists(
    st.sampled_from([*"aä字😀\u0301\u200d.,;:!? \n\u00a0", "Hund", "läuft", ", ", ". "]), max_size=60
)


def split_to_fit(text: str, count_tokens: Callable[[str], int], max_tokens: int) -> SegmentedText:
    """Halve a text that `fit_segments` might leave whole, or cut at its words first."""
    pieces = _halve_to_fit(Boundaries(text), (0, len(text)), count_tokens, max_tokens)
    return _split_at_spans(text, pieces)


def words(text: str) -> int:
    return len(text.split())


@settings(SHARED_TOKENIZER)
@given(text=WORDY.map("".join) | st.text(), max_tokens=st.integers(16, 40))
def test_every_piece_fits_and_nothing_is_lost(tokenizer: Tokenizer, text: str, max_tokens: int) -> None:
    whole = fit_segments(segment(text, "de"), tokenizer.count, max_tokens)
    assert whole.rejoin(whole.segments) == text
    assert all(tokenizer.count(piece) <= max_tokens or not has_letters(piece) for piece in whole.segments)

    document = split_to_fit(text, tokenizer.count, max_tokens)
    assert document.rejoin(document.segments) == text
    assert all(tokenizer.count(piece) <= max_tokens for piece in document.segments)
    assert all(piece == piece.strip() != "" for piece in document.segments)
    assert all(not gap.strip() for gap in document.gaps)


CUTS = {
    "a segment that fits stays whole": (3, ["eins, zwei, drei"]),
    "of two clause ends the one nearer the middle is taken": (5, ["ab cd, ef gh,", "ij kl mn op"]),
    "a clause end far from the middle is not worth a scrap": (5, ["Ja, das ist so", "wie es immer war"]),
    "a comma inside a number ends no clause": (3, ["das kostet 3,50", "und nicht mehr"]),
    **{
        f"a clause end is preferred to a nearer space: {mark}": (
            6,
            [f"eins zwei drei{mark}", "vier fünf sechs sieben acht"],
        )
        for mark in [*".!?;:,–…", ".“", ",'", "?)"]
    },
}


@pytest.mark.parametrize("rule", CUTS)
def test_a_long_segment_is_cut_between_words_where_it_hurts_least(rule: str) -> None:
    max_words, pieces = CUTS[rule]

    assert split_to_fit(" ".join(pieces), words, max_words).segments == tuple(pieces)


@pytest.mark.parametrize(
    ("text", "max_characters", "document"),
    [
        # White space between pieces is kept, and preferred to cutting a word wherever it stands.
        ("ab,\u00a0 \tcd", 3, SegmentedText(("ab,", "cd"), ("", "\u00a0 \t", ""))),
        ("ab " + "c" * 20, 20, SegmentedText(("ab", "c" * 20), ("", " ", ""))),
        # Sentences of scripts without spaces are cut after their stops, and long words into like lengths.
        ("一二三。四五六七", 5, SegmentedText(("一二三。", "四五六七"), ("", "", ""))),
        ("x" * 1000, 300, SegmentedText(("x" * 250,) * 4, ("",) * 5)),
    ],
)
def test_characters_are_cut_apart_where_there_are_no_spaces(
    text: str, max_characters: int, document: SegmentedText
) -> None:
    assert split_to_fit(text, len, max_characters) == document


@pytest.mark.parametrize(
    "character",
    [
        "e\u0301",
        "e\u0301\u0323\u0301",
        "👩\u200d👩\u200d👧",
        "❤\ufe0f",
        "👍🏽",
        "🇩🇪",
        "🏴\U000e0067\U000e0062\U000e007f",
        "\u1112\u1161\u11ab",
        "\u0915\u093e",
    ],
)
@pytest.mark.parametrize("count", [2, 3, 7, 10])
def test_a_grapheme_cluster_is_not_cut(character: str, count: int) -> None:
    document = split_to_fit(character * count, len, 2 * len(character))

    assert len(document.segments) > 1 or count == 2
    assert all(piece == character * (len(piece) // len(character)) for piece in document.segments)


def test_one_character_under_more_marks_than_fit_is_cut_all_the_same() -> None:
    text = "e" + "\u0301" * 99

    document = split_to_fit(text, len, 20)

    assert document.rejoin(document.segments) == text
    assert max(map(len, document.segments)) <= 20


@pytest.mark.parametrize("text", ["x", "xyz", "ein Wort"])
def test_a_character_that_does_not_fit_is_rejected(text: str) -> None:
    with pytest.raises(InputError, match="this character alone") as caught:
        split_to_fit(text, lambda piece: len(piece) + 5, 5)

    assert caught.value.field == "text"


@pytest.mark.parametrize("unit", ["x", "x ", "x, ", "x " * 500 + "y" * 5000, "e\u0301", "🇩🇪"])
def test_the_tokenizer_reads_a_text_only_log_n_times(unit: str) -> None:
    text = (unit * 100_000)[:100_000].strip()
    read_chars = 0

    def count(piece: str) -> int:
        nonlocal read_chars
        read_chars += len(piece)
        return len(piece)

    split_to_fit(text, count, 100)

    assert read_chars <= 2 * len(text) * math.log2(len(text) / 100)


@pytest.mark.parametrize("unit", ["a", "ä ", "字", "e\u0301", "x, ", "👩\u200d"])
def test_nothing_is_lost_of_a_very_long_segment(tokenizer: Tokenizer, unit: str) -> None:
    text = (unit * 30_000)[:30_000]

    document = split_to_fit(text, tokenizer.count, 128)

    assert document.rejoin(document.segments) == text
    assert max(map(tokenizer.count, document.segments)) <= 128


def test_segments_that_fit_are_those_of_segment() -> None:
    text = "  Ja.\n\n\tNein.  Gut. "

    assert fit_segments(segment(text, "de"), words, 1) == segment(text, "de")


def test_a_segment_that_will_be_copied_is_never_split_or_counted() -> None:
    def reject(piece: str) -> int:
        raise AssertionError(piece)

    rule = "-" * 500

    assert fit_segments(segment(f"\n{rule}\n", "de"), reject, 16) == SegmentedText((rule,), ("\n", "\n"))


@given(
    st.text(alphabet="ab ä.\n", max_size=40),
    st.sampled_from(["a", "xy", "ä", "https://a.b/"]),
    st.integers(60, 300),
)
def test_a_word_without_end_is_taken_apart_and_nothing_of_it_is_lost(
    around: str, part: str, repeats: int
) -> None:
    text = f"{around} {part * repeats} {around}"

    document = fit_segments(segment(text, "de"), len, 200)

    assert document.rejoin(document.segments) == text
    assert max(map(len, document.segments)) <= 200
    for piece in document.segments:
        assert len(piece) <= MAX_WORD_TOKENS or max(map(len, piece.split())) <= MAX_WORD_CHARACTERS


def test_a_segment_over_the_limit_is_cut_with_any_splitting() -> None:
    cut = fit_segments(segment("eins zwei drei vier", "de", Splitting.OFF), words, 2).segments

    assert cut == ("eins zwei", "drei vier")


def test_text_without_spaces_is_not_one_endless_word() -> None:
    text = "漢字" * 90

    assert fit_segments(segment(text, "zh"), len, 200).segments == (text,)


def test_no_more_than_a_window_is_counted_at_once() -> None:
    counted: list[int] = []

    def count(text: str) -> int:
        counted.append(len(text))
        return len(text)

    fit_segments(segment("a" * 100_000, "de"), count, 200)

    assert max(counted) <= WINDOW_CHARS
    assert sum(counted) <= 20 * 100_000
