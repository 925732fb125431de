"""What a run finds beside its output, and what it leaves there."""

import multiprocessing
from pathlib import Path

import pytest

from service.batch.errors import JournalDamaged, OutputBusy, OutputProblem
from service.batch.job_directory import JobDirectory, NothingToResume, StartMode
from service.text.marked_text import MarkedText
from service.text.outcome import TextOutcome

KEY = b"1" * 16


class Stopped(Exception):  # noqa: N818 -- what stops a run in these tests
    pass


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "out.txt"


@pytest.fixture
def workplace(output: Path) -> JobDirectory:
    return JobDirectory.of(str(output))


def stop_a_run(workplace: JobDirectory, *, outcomes: int = 1, start: StartMode = StartMode.NEW) -> None:
    def run() -> None:
        with workplace.opened([workplace.output], start) as journal:
            journal.begin({"model": "a"})
            journal.commit({KEY: TextOutcome(MarkedText("eins"))} if outcomes else {})
            raise Stopped

    with pytest.raises(Stopped):
        run()


def test_a_finished_run_leaves_only_its_output(workplace: JobDirectory, output: Path) -> None:
    stop_a_run(workplace)
    workplace.partitions_path.mkdir()
    (workplace.partitions_path / "00000.parquet").write_bytes(b"left")  # by a cluster

    with workplace.locked(), workplace.opened([output], StartMode.RESUME):
        output.write_text("whole")

    assert list(output.parent.iterdir()) == [output]


def test_a_run_that_translated_nothing_leaves_nothing(workplace: JobDirectory, output: Path) -> None:
    stop_a_run(workplace, outcomes=0)

    assert list(output.parent.iterdir()) == []


@pytest.mark.parametrize("is_damaged", [False, True])
def test_starting_over_discards_the_journal_even_if_damaged(
    workplace: JobDirectory, output: Path, *, is_damaged: bool
) -> None:
    stop_a_run(workplace)
    if is_damaged:
        workplace.journal_path.write_text("no database" * 1000)
        with pytest.raises(JournalDamaged):
            workplace.opened([output], StartMode.RESUME).__enter__()

    with workplace.opened([output], StartMode.OVERWRITE) as journal:
        assert (journal.num_outcomes(), journal.facts()) == (0, {})


def test_starting_over_closes_the_damaged_journal_that_it_removes(
    workplace: JobDirectory, output: Path
) -> None:
    stop_a_run(workplace)
    content = workplace.journal_path.read_bytes()
    workplace.journal_path.write_bytes(content[:8192] + bytes(len(content) - 8192))

    with workplace.opened([output], StartMode.OVERWRITE):
        open_files = [str(file.readlink()) for file in Path("/proc/self/fd").iterdir() if file.is_symlink()]

    assert [file for file in open_files if file.endswith("(deleted)") and str(output) in file] == []


@pytest.mark.parametrize("name", ["out.txt", "out.txt.errors.jsonl"])
def test_an_existing_output_is_replaced_only_on_request(
    workplace: JobDirectory, output: Path, name: str
) -> None:
    existing = output.with_name(name)
    existing.write_text("before")

    with pytest.raises(OutputProblem, match=rf"{name}: already exists; replace it with --force"):
        workplace.opened([output], StartMode.NEW).__enter__()
    assert existing.read_text() == "before"
    with workplace.opened([output], StartMode.OVERWRITE):
        pass


def test_resuming_needs_something_left_to_do(workplace: JobDirectory, output: Path) -> None:
    with workplace.opened([output], StartMode.RESUME) as journal:  # nothing was begun: a new run
        assert journal.facts() == {}

    output.write_text("whole")
    with pytest.raises(NothingToResume):
        workplace.opened([output], StartMode.RESUME).__enter__()
    with pytest.raises(OutputProblem, match="already exists"):  # one of two files is no finished run
        workplace.opened([output, output.with_name("b.txt")], StartMode.RESUME).__enter__()


def test_a_second_run_on_the_same_output_is_rejected_at_once(workplace: JobDirectory) -> None:
    with workplace.locked():
        with multiprocessing.get_context("spawn").Pool(1) as others:
            assert others.apply(is_rejected, [str(workplace.output)])
        with pytest.raises(OutputBusy, match=r"another run is writing to .*out\.txt"), workplace.locked():
            pass

    assert not is_rejected(str(workplace.output))


def is_rejected(output: str) -> bool:
    try:
        with JobDirectory.of(output).locked():
            return False
    except OutputBusy:
        return True


def test_an_unwritable_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with (
        pytest.raises(OutputProblem, match="cannot write next to it"),
        JobDirectory.of(str(tmp_path / "file" / "out.txt")).locked(),
    ):
        pass
