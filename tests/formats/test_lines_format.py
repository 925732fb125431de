"""Plain text in UTF-8: a line is an entry."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.formats.entries import FileFormatError
from service.formats.lines import MAX_LINE_BYTES, LinesFormat
from tests.formats.rewriting import OPTIONS, own, places, rewritten, texts, written

LINES = LinesFormat(OPTIONS)
contents = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))


@given(
    lines=st.lists(st.tuples(contents, st.sampled_from(["\n", "\r\n"]))),
    last=contents,
    mark=st.sampled_from(["", "\ufeff"]),
)
def test_with_their_own_texts_lines_come_back_byte_for_byte(
    lines: list[tuple[str, str]], last: str, mark: str
) -> None:
    content = (mark + "".join(text + ending for text, ending in lines) + last).encode()

    assert rewritten(LINES, content, own) == content


def test_lines_are_entries_and_blank_ones_are_none() -> None:
    content = "\ufeffEins\r\n\n \t\nZwei\u2028und\x0bdrei\rvier\nFünf".encode()

    assert places(LINES, content) == [
        ("Eins", "line 1"),
        ("Zwei\u2028und\x0bdrei\rvier", "line 4"),
        ("Fünf", "line 5"),
    ]
    assert written(LINES, content, "One", "Two", "Five") == b"\xef\xbb\xbfOne\r\n\n \t\nTwo\nFive"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])) | st.text("a\r\n")))
def test_no_translation_moves_the_lines_after_it(translations: list[str]) -> None:
    result = written(LINES, b"".join(b"a%d\n" % i for i in range(len(translations))), *translations)

    assert result.count(b"\n") == len(translations)
    assert b"\r\n" not in result


def test_a_line_feed_in_a_translation_is_a_space_and_no_ending_changes() -> None:
    assert written(LINES, b"a\nb\r\nc", "x\ny\r\nz\r", "x\r", "x\n") == b"x y z\nx\r\r\nx "


def test_a_line_may_be_as_long_as_the_limit() -> None:
    content = b"\xef\xbb\xbf" + b"a" * MAX_LINE_BYTES + b"\r\nb\n"

    assert [len(text) for text in texts(LINES, content)] == [MAX_LINE_BYTES, 1]


def test_a_longer_line_is_rejected_before_it_is_read_to_its_end() -> None:
    source = io.BytesIO(b"a" * 3 * MAX_LINE_BYTES)

    with pytest.raises(FileFormatError, match=r"^line 1 is longer than 10,000,000 bytes; split it"):
        next(LINES.read(source))
    assert source.tell() < 2 * MAX_LINE_BYTES
