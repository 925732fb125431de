# ruff: noqa: RUF001 -- the signs of several scripts are meant as they stand

from typing import Any

import pytest
import sentencex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dragoman.text.segmentation import WINDOW_CHARS, SegmentedText, has_letters, segment
from dragoman.types import Splitting
from tests.cases import read_cases

CASES = read_cases(__file__)

ANY_TEXT = st.text(st.characters(exclude_categories=()))  # surrogates too
SENTENCE_LIKE = st.lists(
    st.sampled_from(
        [
            *"aÄ字1.!?:;,'\"„“”‘’»«()[]-–…。😀 \t\n\r\x00\x1c\x0b\x85\u2028\u00a0\u3000",
            *"\u200b\u0301\u200d\ud800",
            *("\r\n", "  ", ". ", "Hallo", "Dr. ", "z. B. ", "A. ", " Ö", "12. ", "…\u00a0"),
        ]
    )
).map("".join)
MAX_MARK_CHARS = 12
LINE_BREAKS = ["\n", "\r\n", "\r", "\x0b", "\x0c", "\x85", "\u2028", "\u2029"]


@settings(max_examples=300)
@given(
    text=ANY_TEXT | SENTENCE_LIKE,
    language=st.sampled_from(["de", "en", "ja", "ru", "hy", "xx"]),
    splitting=st.sampled_from(Splitting),
)
def test_rejoining_the_segments_gives_back_the_text(text: str, language: str, splitting: Splitting) -> None:
    document = segment(text, language, splitting)

    assert document.rejoin(document.segments) == text
    assert splitting is not Splitting.OFF or len(document.segments) == bool(text.strip())


EXPECTED = {
    Splitting.SENTENCES: ("Guten Morgen!", "Es ist", "früh.", "Und kalt."),
    Splitting.NO_NEWLINES: ("Guten Morgen!", "Es ist\nfrüh.", "Und kalt."),
    Splitting.OFF: ("Guten Morgen! Es ist\nfrüh.\n\nUnd kalt.",),
}


@pytest.mark.parametrize("splitting", Splitting)
def test_a_text_is_cut_where_its_caller_says(splitting: Splitting) -> None:
    assert (
        segment(" Guten Morgen! Es ist\nfrüh.\n\nUnd kalt. ", "de", splitting).segments == EXPECTED[splitting]
    )


@settings(max_examples=400)
@given(text=ANY_TEXT | SENTENCE_LIKE)
def test_gaps_are_all_the_white_space_around_segments_and_marks_that_begin_a_line(text: str) -> None:
    document = segment(text, "de")

    assert len(document.gaps) == len(document.segments) + 1
    for i, gap in enumerate(document.gaps):
        before, mark, _ = gap.partition(gap.strip() or "none")
        assert not mark or i == 0 or any(end in before for end in (*LINE_BREAKS, "\t"))
        assert len(mark) <= MAX_MARK_CHARS
    assert all(part and part == part.strip() for part in document.segments)
    assert not any(mark in part for part in document.segments for mark in (*LINE_BREAKS, "\t"))


@pytest.mark.parametrize(("mark", "said"), CASES["marks"])
def test_list_marks_and_numbers_of_a_line_are_gaps(mark: str, said: str) -> None:
    assert segment(f"Vorher\n  {mark}{said}", "de") == SegmentedText(
        ("Vorher", said), ("", f"\n  {mark}", "")
    )
    assert segment(f"{mark}{said}", "de", Splitting.NO_NEWLINES) == SegmentedText((said,), (mark, ""))
    assert segment(f"{mark}{said}", "de", Splitting.OFF) == SegmentedText((f"{mark}{said}",), ("", ""))


@pytest.mark.parametrize("line", CASES["no_marks"])
def test_a_mark_that_may_belong_to_the_sentence_is_no_gap(line: str) -> None:
    assert segment(line, "fr").gaps[0] == ""


def test_translations_stand_where_their_segments_stood() -> None:
    document = segment("  Ja.\n\n\tNein.  Gut. ", "de")

    assert document.segments == ("Ja.", "Nein.", "Gut.")
    assert document.rejoin(["Yes.", "No.", "Good."]) == "  Yes.\n\n\tNo.  Good. "


@pytest.mark.parametrize("translated", [[], ["a"], ["a", "b", "c"]])
def test_another_number_of_translations_is_an_error(translated: list[str]) -> None:
    with pytest.raises(ValueError, match="zip"):
        SegmentedText(("x", "y"), ("", " ", "")).rejoin(translated)


@pytest.mark.parametrize("line_break", [*LINE_BREAKS, "\t", "\n\n\n", "\n    ", " \t "])
def test_line_breaks_tabs_and_indentation_are_gaps(line_break: str) -> None:
    document = segment(f"eine Zeile{line_break}noch eine", "de")

    assert document == SegmentedText(("eine Zeile", "noch eine"), ("", line_break, ""))
    assert segment(line_break, "de") == SegmentedText((), (line_break,))
    assert segment("", "de") == SegmentedText((), ("",))


@pytest.mark.parametrize("case", CASES["sentences"], ids=lambda case: case["rule"])
def test_a_line_is_cut_between_its_sentences(case: dict[str, Any]) -> None:
    text = case.get("between", " ").join(case["sentences"])

    assert segment(text, case["language"]).segments == tuple(case["sentences"])


@given(language=ANY_TEXT)
@example(language="\ud800")
def test_any_language_code_will_do(language: str) -> None:
    assert segment("One came. Two went.", language).segments == ("One came.", "Two went.")


@pytest.mark.parametrize("space", ["\u00a0", "\u3000", "\u202f", "\u1680", "\u2003"])
def test_wide_and_unbreakable_spaces_are_spaces_to_the_splitter(
    space: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Shown as they are, they make it panic: a traceback on stderr, and an error no handler expects."""
    text = "Nimm Vitamin D . Das hilft. Am 3. Mai kam sie. Ende."
    plain = segment(text, "de").segments
    wide = segment(text.replace(" ", space), "de").segments

    assert len(plain) == 3
    assert wide == tuple(sentence.replace(" ", space) for sentence in plain)
    assert capfd.readouterr().err == ""


class PanicException(BaseException):
    """What pyo3 raises when Rust panics; the real class cannot be imported."""


@pytest.mark.parametrize("result", [PanicException(), ["Ja.", "Nein."]], ids=["it panics", "it loses text"])
def test_a_splitter_that_fails_leaves_the_line_whole(
    monkeypatch: pytest.MonkeyPatch, result: BaseException | list[str]
) -> None:
    def split(_language: str, _text: str) -> list[str]:
        if isinstance(result, BaseException):
            raise result
        return result

    monkeypatch.setattr(sentencex, "segment", split)

    assert segment("Ja. Nein.\nGut. Na.", "de").segments == ("Ja. Nein.", "Gut. Na.")


def test_an_interrupt_during_splitting_is_an_interrupt(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(_language: str, _text: str) -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(sentencex, "segment", interrupt)

    with pytest.raises(KeyboardInterrupt):
        segment("Ja.", "de")


def test_a_line_of_many_windows_is_split_like_a_short_one() -> None:
    sentences = [f"Satz Nummer {number} steht hier, und das z. B. gut." for number in range(100, 700)]
    line = " ".join(sentences)
    assert len(line) > 5 * WINDOW_CHARS

    assert segment(line, "de").segments == tuple(sentences)


def test_the_window_never_opens_inside_a_word() -> None:
    """Of `bzw.` cut in two, the end would look like a sentence's last word."""
    line = "so ist es bzw. Hause " * WINDOW_CHARS + "Ende."

    assert segment(line, "de").segments == (line,)


@pytest.mark.parametrize("word", ["wort, ", "wort", "w" * (WINDOW_CHARS - 3) + " "])
def test_the_window_itself_ends_no_sentence(word: str) -> None:
    sentence = (word * (5 * WINDOW_CHARS // len(word))).strip() + "."

    assert segment(sentence + " Ende.", "de").segments == (sentence, "Ende.")


@pytest.mark.parametrize(
    "unit",
    [
        *"a.(\"'`‘“«😀字",
        *(" ", "\n", "\x00", "\x01", "\u202e", "\u0301", "\ud800"),
        *("((((", "a ", "a. ", "1. ", "‘a. ", "a\n", "字。", "z. B. ", "A\u00a0. "),
    ],
)
def test_nothing_is_lost_of_very_long_and_odd_text(unit: str) -> None:
    text = (unit * 20_000)[:20_000]

    document = segment(text, "de")

    assert document.rejoin(document.segments) == text


def test_a_megabyte_of_prose_is_split_into_its_sentences() -> None:
    text = ("Der Hund läuft über die Straße. Am 3. Mai kam Dr. Müller, z. B. mit dem Rad.\n" * 14_000)[
        :1_000_000
    ]

    document = segment(text, "de")

    assert len(document.segments) > 20_000
    assert document.rejoin(document.segments) == text


def test_a_segment_with_a_letter_is_translated_and_no_other() -> None:
    letters = ["a", "ß", "字", "1a", "ª", "\u00a0Ж!", "é"]
    others = ["", " ", "1.234,5 €", "12:30", "--- *** ---", "😀", "½", "\u0301", "\u200b"]

    assert [text for text in [*letters, *others] if has_letters(text)] == letters
