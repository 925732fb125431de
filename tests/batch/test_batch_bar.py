"""What a terminal shows of a job."""

import io
from contextlib import redirect_stderr

import pytest

from service.batch.progress import BatchProgress
from service.cli.batch_bar import ProgressLines, progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_shows_progress_and_failures_and_the_speed_of_this_run_alone() -> None:
    with redirect_stderr(Terminal()) as terminal, progress_bar() as on_progress:
        on_progress(BatchProgress(100, 30, 0, 0))  # of earlier runs
        assert "? entries/s]" in terminal.getvalue()
        on_progress(BatchProgress(100, 60, 2, 40))

    assert "60/100" in terminal.getvalue()
    assert "entries/s, failed=2]" in terminal.getvalue()


def test_without_a_terminal_a_line_a_minute_shows_progress(capsys: pytest.CaptureFixture[str]) -> None:
    times_s = iter([0.0, 10.0, 60.0, 70.0, 130.0])
    lines = ProgressLines(lambda: next(times_s))
    for num_done in (100, 700, 800):
        lines.show(BatchProgress(1000, num_done, 0, num_done))
    lines.show(BatchProgress(1000, 1000, 3, 900))

    assert capsys.readouterr().err.splitlines() == [
        "dragoman: 700 of 1,000 entries, 10.0 entries/s, about 30 s left",
        "dragoman: 1,000 of 1,000 entries, 6.9 entries/s, about 0 s left, 3 failed",
    ]


def test_no_progress_is_shown_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar() as on_progress:
        on_progress(BatchProgress(100, 60, 0, 60))

    assert capsys.readouterr() == ("", "")
