"""What a run finds and leaves beside its output, and the facts of the engine that it records."""

from pathlib import Path

import pytest

from dragoman import Pair, Router, TranslatorOptions
from dragoman.native.library import best_kernels
from dragoman.providers import Kernels
from service.batch.errors import EngineDiffers, JournalDamaged, OutputProblem
from service.batch.job_directory import JobDirectory, NothingToResume, StartMode
from service.batch.run import translator_facts
from service.cluster.engines import RoutedEngine
from service.text.marked_text import MarkedText
from service.text.outcome import TextOutcome
from service.translation.options import BATCH
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
