"""What a terminal shows of a job."""

import io
from contextlib import redirect_stderr

import pytest

from service.batch.progress import BatchProgress
from service.cli.batch_bar import progress_bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def last_line(terminal: Terminal) -> str:
    return terminal.getvalue().rstrip("\n").rpartition("\r")[2]


def test_a_terminal_shows_progress_and_failures() -> None:
    with redirect_stderr(Terminal()) as terminal, progress_bar() as on_progress:
        on_progress(BatchProgress(100, 0, 0, 0))
        on_progress(BatchProgress(100, 60, 2, 40))

    assert "60/100" in last_line(terminal)
    assert "entries/s, failed=2]" in last_line(terminal)


def test_work_of_earlier_runs_counts_as_done_but_not_towards_the_speed() -> None:
    with redirect_stderr(Terminal()) as terminal, progress_bar() as on_progress:
        on_progress(BatchProgress(100, 30, 0, 0))
        on_progress(BatchProgress(100, 100, 0, 0))

    assert "100/100" in last_line(terminal)
    assert "? entries/s]" in last_line(terminal)


def test_no_progress_is_shown_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar() as on_progress:
        on_progress(BatchProgress(100, 60, 0, 60))

    assert capsys.readouterr() == ("", "")
