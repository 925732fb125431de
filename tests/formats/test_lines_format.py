"""Plain text: a line is an entry."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.formats.entries import Entry, FileFormatError, FileOptions
from service.formats.lines import MAX_LINE_BYTES, LinesFormat

LINES = LinesFormat(FileOptions("de", "en"))

contents = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))
endings = st.sampled_from(["\n", "\r\n"])


def read(content: bytes) -> list[Entry]:
    return list(LINES.read(io.BytesIO(content)))


def written(content: bytes, *texts: str) -> bytes:
    target = io.BytesIO()
    LINES.write(io.BytesIO(content), iter(texts), target)
    return target.getvalue()


@given(lines=st.lists(st.tuples(contents, endings)), last=contents, mark=st.sampled_from(["", "\ufeff"]))
def test_with_their_own_texts_lines_come_back_byte_for_byte(
    lines: list[tuple[str, str]], last: str, mark: str
) -> None:
    content = (mark + "".join(text + ending for text, ending in lines) + last).encode()

    assert written(content, *(entry.text for entry in read(content))) == content


def test_lines_are_entries_and_blank_ones_are_none() -> None:
    content = "\ufeffEins\r\n\n \t\nZwei\u2028und\x0bdrei\rvier\nFünf".encode()

    assert read(content) == [
        Entry("Eins", "line 1"),
        Entry("Zwei\u2028und\x0bdrei\rvier", "line 4"),
        Entry("Fünf", "line 5"),
    ]
    assert written(content, "One", "Two", "Five") == b"\xef\xbb\xbfOne\r\n\n \t\nTwo\nFive"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])) | st.text("a\r\n")))
def test_no_translation_moves_the_lines_after_it(translations: list[str]) -> None:
    content = b"".join(b"a%d\n" % i for i in range(len(translations)))

    result = written(content, *translations)

    assert result.count(b"\n") == len(translations)
    assert b"\r\n" not in result


def test_a_line_feed_in_a_translation_is_a_space_and_no_ending_changes() -> None:
    assert written(b"a\nb\r\nc", "x\ny\r\nz\r", "x\r", "x\n") == b"x y z\nx\r\r\nx "


def test_what_is_not_utf_8_is_refused_with_its_line_and_byte() -> None:
    with pytest.raises(
        FileFormatError, match=r"^line 2 is not UTF-8: byte 0xfc at position 4 of it; convert"
    ):
        read(b"Gr\xc3\xbc\xc3\x9fe\nGr\xc3\xfc\n".replace(b"Gr\xc3\xfc", b"Gra\xfc"))


def test_a_mark_counts_for_the_position_of_what_is_not_utf_8() -> None:
    with pytest.raises(FileFormatError, match="byte 0xff at position 5 of it"):
        read(b"\xef\xbb\xbfa\xff")


def test_a_line_may_be_as_long_as_the_limit() -> None:
    content = b"\xef\xbb\xbf" + b"a" * MAX_LINE_BYTES + b"\r\nb\n"

    assert [len(entry.text) for entry in read(content)] == [MAX_LINE_BYTES, 1]


def test_a_longer_line_is_refused_before_it_is_read_to_its_end() -> None:
    class Endless(io.RawIOBase):
        num_read = 0

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
            size = len(buffer)
            buffer[:] = b"a" * size
            Endless.num_read += size
            return size

    lines = LINES.read(io.BufferedReader(Endless()))
    with pytest.raises(FileFormatError, match=r"^line 1 is longer than 10,000,000 bytes; split it"):
        next(lines)
    assert Endless.num_read < 2 * MAX_LINE_BYTES


@pytest.mark.parametrize(
    ("texts", "problem"),
    [(("x",), "fewer texts than entries: none for line 2"), (("x", "y", "z"), "more texts than entries")],
)
def test_writing_takes_as_many_texts_as_reading_gives(texts: tuple[str, ...], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        written(b"a\nb\n", *texts)


def test_a_translation_that_is_no_unicode_is_refused_with_its_place() -> None:
    with pytest.raises(
        FileFormatError, match=r"^line 2: its translation cannot be written in UTF-8: character 3"
    ):
        written(b"a\nb\n", "x", "ab\ud800")
