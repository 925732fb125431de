"""An interrupt is heeded between lines, at once where a line is waited for, and never in between."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from service.cli.lines import defer_interrupts
from service.cli.score import write_scores


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


def test_who_waits_for_a_line_is_interrupted_at_once() -> None:
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
