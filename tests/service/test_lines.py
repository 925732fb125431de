"""Line in, line out."""

import io
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import DecodingOptions, FinishReason, InputError, Translation
from service.cli.lines import translate_lines
from service.formats.entries import FileFormatError
from service.formats.lines import parse_line

OPTIONS = DecodingOptions()

contents = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))
endings = st.sampled_from([b"\n", b"\r\n"])


class Spelling:
    """Translates by a table and else leaves a text alone; reads `ahead` texts before it answers."""

    def __init__(self, table: dict[str, Translation | InputError] | None = None, ahead: int = 3) -> None:
        self.table = table or {}
        self.ahead = ahead
        self.seen: list[str] = []

    def translate_many(
        self, texts: Iterable[str], options: DecodingOptions = OPTIONS, read_ahead: int = 512
    ) -> Iterator[Translation | InputError]:
        assert options is OPTIONS
        assert read_ahead == 512
        window: list[str] = []
        for text in texts:
            self.seen.append(text)
            window.append(text)
            if len(window) == self.ahead:
                yield from map(self._translate, window)
                window = []
        yield from map(self._translate, window)

    def _translate(self, text: str) -> Translation | InputError:
        return self.table.get(text) or translation(text)


def translation(text: str) -> Translation:
    return Translation(text, None, FinishReason.STOP, (), ())


def translated(source: bytes, translator: Spelling) -> bytes:
    return b"".join(line.content for line in translate_lines(translator, io.BytesIO(source), OPTIONS))


@given(lines=st.lists(st.tuples(contents, endings)), last=contents, ahead=st.integers(1, 5))
def test_an_identity_translation_gives_back_every_byte(
    lines: list[tuple[str, bytes]], last: str, ahead: int
) -> None:
    source = b"".join(text.encode() + ending for text, ending in lines) + last.encode()

    assert translated(source, Spelling(ahead=ahead)) == source


@given(lines=st.lists(contents, min_size=1))
def test_the_nth_line_out_is_the_translation_of_the_nth_line_in(lines: list[str]) -> None:
    numbered = [f"{number}:{line}" for number, line in enumerate(lines)]
    table: dict[str, Translation | InputError] = {
        # The text of a line ends before a carriage return that belongs to its ending.
        line.removesuffix("\r"): translation(f"translated {number}")
        for number, line in enumerate(numbered)
    }

    out = translated("".join(line + "\n" for line in numbered).encode(), Spelling(table))

    assert [line.rstrip(b"\r") for line in out.split(b"\n")[:-1]] == [
        f"translated {number}".encode() for number in range(len(lines))
    ]


def test_line_endings_and_a_byte_order_mark_are_no_part_of_the_text() -> None:
    translator = Spelling()

    translated("\ufeffeins\r\nzwei\n\n drei\u2028vier\x0c\n\ufefffünf".encode(), translator)

    assert translator.seen == ["eins", "zwei", "", " drei\u2028vier\x0c", "\ufefffünf"]


def test_a_line_that_cannot_be_translated_keeps_its_place_and_its_ending() -> None:
    translator = Spelling({"zwei": InputError("text", "is wrong", 1)})

    lines = list(translate_lines(translator, io.BytesIO(b"eins\nzwei\r\ndrei"), OPTIONS))

    assert [line.content for line in lines] == [b"eins\n", b"zwei\r\n", b"drei"]
    assert [(line.number, line.problem) for line in lines] == [(1, None), (2, "is wrong"), (3, None)]


def test_a_translation_with_line_feeds_stays_on_one_line() -> None:
    translator = Spelling({"eins": translation("o\nn\ne")})

    assert translated(b"eins\nzwei\n", translator) == b"o n e\nzwei\n"


def test_lines_before_one_that_is_not_utf8_are_translated_first() -> None:
    lines = translate_lines(Spelling(ahead=10), io.BytesIO(b"eins\nzwei\nd\xffrei\nvier\n"), OPTIONS)

    assert [next(lines).content, next(lines).content] == [b"eins\n", b"zwei\n"]
    with pytest.raises(FileFormatError, match="line 3 is not UTF-8: byte 0xff at position 2"):
        next(lines)


def test_the_position_of_a_bad_byte_counts_a_byte_order_mark() -> None:
    with pytest.raises(FileFormatError, match="line 1 is not UTF-8: byte 0xe4 at position 5"):
        parse_line(b"\xef\xbb\xbfa\xe4\n", 1)


def test_no_more_is_read_than_the_translator_asks_for() -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b"ja\n"

    lines = translate_lines(Spelling(), endless(), OPTIONS)

    assert [next(lines).number for _ in range(10)] == list(range(1, 11))
