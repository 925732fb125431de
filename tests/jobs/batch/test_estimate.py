"""What is counted before a job is begun, and what a terminal shows of it."""

import io
from contextlib import redirect_stderr
from pathlib import Path

import pytest

from dragoman.types import Pair
from service.batch.estimate import SAMPLE_ENTRIES, count_contents, measure_rate
from service.batch.progress import BatchProgress
from service.cli.batch_bar import ProgressLines, progress_bar
from tests.jobs.batch.doubles import UpperCase, lines_file


def test_entries_that_occur_again_are_counted_as_duplicates_across_files(tmp_path: Path) -> None:
    files = [
        lines_file(tmp_path, "a.txt", ["eins", "zwei", "eins"]),
        lines_file(tmp_path, "b.txt", ["zwei. drei."]),
        lines_file(tmp_path, "c.txt", ["eins"], Pair("nl", "en")),
    ]

    contents = count_contents(files)

    assert (contents.num_files, contents.num_entries, contents.num_characters) == (3, 5, 27)
    assert (contents.num_distinct, contents.num_duplicates, contents.distinct_characters) == (4, 1, 23)
    assert len(contents.sample) == 4


def test_a_sample_is_drawn_from_the_whole_of_the_files(tmp_path: Path) -> None:
    lines = [f"satz {number}" for number in range(5000)]

    contents = count_contents([lines_file(tmp_path, "a.txt", lines)])

    drawn = sorted(int(entry.text.split()[1]) for _, entry in contents.sample)
    assert len(set(drawn)) == SAMPLE_ENTRIES
    # With 256 of 5000 drawn alike, a fifth without any would come about once in 10**25 times.
    assert {number // 1000 for number in drawn} == {0, 1, 2, 3, 4}


def test_the_rate_is_that_of_the_sample(tmp_path: Path) -> None:
    contents = count_contents([lines_file(tmp_path, "a.txt", [f"satz {number}" for number in range(300)])])
    translator = UpperCase()

    assert measure_rate(contents, translator) > 0
    assert translator.requested == [contents.sample[0][1].text, *(entry.text for _, entry in contents.sample)]


def test_nothing_to_translate_has_no_rate(tmp_path: Path) -> None:
    assert measure_rate(count_contents([lines_file(tmp_path, "a.txt", [])]), UpperCase()) == 0.0


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
