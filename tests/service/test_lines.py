"""Line in, line out; an interrupt is handled between lines, and at once while waiting for one."""

import io
import os
import signal
import threading
from collections.abc import Iterable, Iterator
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.cli.lines import defer_interrupts, translate_lines
from service.cli.score import write_scores
from service.formats.entries import Entry
from service.text.marked_text import MarkedText
from service.text.outcome import TextOutcome

contents = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))
endings = st.sampled_from([b"\n", b"\r\n"])


class Spelling:
    """Leaves texts alone, but for one; reads `ahead` texts before it answers."""

    def __init__(self, ahead: int = 3) -> None:
        self.ahead = ahead
        self.seen: list[str] = []

    def translate(self, entries: Iterable[Entry]) -> Iterator[TextOutcome]:
        texts = (entry.text for entry in entries)
        while window := list(islice(texts, self.ahead)):
            self.seen += window
            for text in window:
                yield TextOutcome(MarkedText("o\nn\ne" if text == "eins" else text))


def translated(source: bytes, translator: Spelling) -> bytes:
    return b"".join(content for content, _ in translate_lines(translator, io.BytesIO(source)))


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

    assert [next(lines)[0] for _ in range(10)] == [b"ja\n"] * 10


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_between_lines_waits_for_the_next_check() -> None:
    done: list[str] = []

    def work() -> None:
        with defer_interrupts() as interrupts:
            interrupts.check()
            interrupt()
            done.append("what ran when it came goes on")
            interrupts.check()
            done.append("nothing goes on after the check")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["what ran when it came goes on"]


def test_no_line_is_read_after_an_interrupt() -> None:
    read: list[int] = []

    def source() -> Iterator[bytes]:
        for number in range(3):
            read.append(number)
            yield b"line\n"

    def work() -> None:
        with defer_interrupts() as interrupts:
            for _ in interrupts.lines(source()):
                interrupt()

    with pytest.raises(KeyboardInterrupt):
        work()
    assert read == [0]


def test_waiting_for_a_line_is_interrupted_at_once() -> None:
    reader, writer = os.pipe()
    timer = threading.Timer(0.2, interrupt)
    with os.fdopen(reader, "rb") as source, os.fdopen(writer, "wb"):
        timer.start()
        with pytest.raises(KeyboardInterrupt), defer_interrupts() as interrupts:
            next(interrupts.lines(source))
    timer.join()


def test_a_second_interrupt_does_not_wait() -> None:
    def work() -> None:
        with defer_interrupts():
            interrupt()
            interrupt()
            raise AssertionError("it went on")

    with pytest.raises(KeyboardInterrupt):
        work()


def test_lines_are_those_of_the_source_and_interrupts_are_as_before_when_the_block_is_over() -> None:
    before = signal.getsignal(signal.SIGINT)
    with defer_interrupts() as interrupts:
        assert list(interrupts.lines([b"a\n", b"", b"b"])) == [b"a\n", b"", b"b"]
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before


def test_an_interrupt_between_scores_waits_until_the_next_is_written(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    def scores() -> Iterator[float]:
        yield -1.0
        interrupt()
        yield -2.0
        yield -3.0

    with pytest.raises(KeyboardInterrupt), defer_interrupts() as interrupts:
        write_scores(scores(), interrupts.check)
    assert capsysbinary.readouterr().out == b"-1.000000\n-2.000000\n"
