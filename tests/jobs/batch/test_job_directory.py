"""What a run counts before it begins, what it finds and leaves beside its output, and what it records."""

import io
from contextlib import redirect_stderr
from pathlib import Path

import pytest

from dragoman import Pair, Router, TranslatorOptions
from dragoman.native.library import best_kernels
from dragoman.providers import Kernels
from service.batch.errors import EngineDiffers, JournalDamaged, OutputProblem
from service.batch.estimate import SAMPLE_ENTRIES, count_contents, measure_rate
from service.batch.job_directory import JobDirectory, NothingToResume, StartMode
from service.batch.progress import BatchProgress
from service.batch.run import translator_facts
from service.cli.batch_bar import ProgressLines, progress_bar
from service.cluster.engines import RoutedEngine
from service.text.marked_text import MarkedText
from service.text.outcome import TextOutcome
from service.translation.options import BATCH
from tests.jobs.batch.doubles import UpperCase, lines_file
from tests.service.conftest import TINY_BUNDLE

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


def test_an_unwritable_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with (
        pytest.raises(OutputProblem, match="cannot write next to it"),
        JobDirectory.of(str(tmp_path / "file" / "out.txt")).locked(),
    ):
        pass


PAIR = Pair("de", "en")
MODELS = {"tiny": TINY_BUNDLE}
needs_kernels = pytest.mark.skipif(
    not best_kernels(), reason="the kernels are not built, or not for this CPU"
)


def facts(translators: TranslatorOptions) -> dict[str, str]:
    with Router.open(MODELS, translators=translators) as router:
        return translator_facts(router, [PAIR], BATCH, translators)


@needs_kernels
@pytest.mark.parametrize(
    ("one", "other", "differing"), [("auto", "native", set()), ("auto", "onnxruntime", {"kernels"})]
)
def test_kernels_are_a_fact_by_what_runs_and_not_by_what_was_chosen(
    one: Kernels, other: Kernels, differing: set[str]
) -> None:
    first, second = facts(TranslatorOptions(kernels=one)), facts(TranslatorOptions(kernels=other))

    assert {name for name in first if first[name] != second[name]} == differing


def test_providers_are_part_of_the_engines_fact() -> None:
    assert facts(TranslatorOptions())["engine"].endswith(" on cpu")
    assert facts(TranslatorOptions(providers=("cuda", "cpu")))["engine"].endswith(" on cuda,cpu")


@needs_kernels
def test_a_node_opens_bundles_with_the_jobs_kernels_and_rejects_the_job_if_it_has_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = RoutedEngine(MODELS, (PAIR,), facts(TranslatorOptions()), BATCH)
    with engine.open(1):
        pass
    onnxruntime = TranslatorOptions(kernels="onnxruntime")
    with RoutedEngine(MODELS, (PAIR,), facts(onnxruntime), BATCH, onnxruntime).open(1):
        pass
    monkeypatch.setattr("dragoman.search_model.best_kernels", lambda: "")  # as without a compiler

    with (
        pytest.raises(EngineDiffers, match=r"engine: kernels is onnxruntime there and native here;"),
        engine.open(1),
    ):
        pass


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
