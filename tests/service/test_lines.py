"""Line in, line out."""

import io
from collections.abc import Iterable, Iterator
from itertools import islice

from hypothesis import given
from hypothesis import strategies as st

from service.batch.texts import TranslatedEntry
from service.cli.lines import translate_lines
from service.formats.entries import Entry

contents = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))
endings = st.sampled_from([b"\n", b"\r\n"])


class Spelling:
    """Leaves texts alone, but for one; reads `ahead` texts before it answers."""

    def __init__(self, ahead: int = 3) -> None:
        self.ahead = ahead
        self.seen: list[str] = []

    def translate(self, entries: Iterable[Entry]) -> Iterator[TranslatedEntry]:
        texts = (entry.text for entry in entries)
        while window := list(islice(texts, self.ahead)):
            self.seen += window
            for text in window:
                yield TranslatedEntry("o\nn\ne" if text == "eins" else text)


def translated(source: bytes, translator: Spelling) -> bytes:
    return b"".join(line.content for line in translate_lines(translator, io.BytesIO(source)))


@given(lines=st.lists(st.tuples(contents, endings)), last=contents, ahead=st.integers(1, 5))
def test_an_identity_translation_gives_back_every_byte(
    lines: list[tuple[str, bytes]], last: str, ahead: int
) -> None:
    source = b"".join(text.encode() + ending for text, ending in lines) + last.encode()

    assert translated(source, Spelling(ahead=ahead)) == source


def test_line_endings_and_a_byte_order_mark_are_no_part_of_the_text() -> None:
    translator = Spelling()

    translated("\ufeffeins\r\nzwei\n\n drei\u2028vier\x0c\n\ufefffünf".encode(), translator)

    assert translator.seen == ["eins", "zwei", "", " drei\u2028vier\x0c", "\ufefffünf"]


def test_a_translation_with_line_feeds_stays_on_one_line() -> None:
    assert translated(b"eins\nzwei\n", Spelling()) == b"o n e\nzwei\n"


def test_no_more_is_read_than_the_translator_asks_for() -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b"ja\n"

    lines = translate_lines(Spelling(), endless())

    assert [next(lines).number for _ in range(10)] == list(range(1, 11))
