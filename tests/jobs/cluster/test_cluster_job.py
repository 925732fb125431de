"""Jobs for a cluster whose only node is this process: all of their code, without Ray."""

from pathlib import Path
from threading import Event

import pytest

from service.batch.errors import EngineDiffers, JobCancelled, OtherJob, PartitionDamaged
from service.batch.job_directory import StartMode
from service.batch.journal import entry_key
from service.batch.planning import LanguageOptions
from service.batch.run import begin
from service.cli.batch_job import BatchArguments, run_batch
from service.cluster import partitions
from service.cluster.engines import RoutedEngine
from service.cluster.partitions import write_outcomes
from service.cluster.run import run_on_ray
from service.formats.entries import Entry
from service.settings.settings import Settings
from service.text.marked_text import MarkedText
from service.text.outcome import TextOutcome
from service.translation.options import BATCH
from tests.jobs.batch.doubles import PAIR
from tests.jobs.cluster.conftest import ONE_WORKER, Place
from tests.jobs.cluster.doubles import DoubleEngine
from tests.jobs.cluster.killed import lines
from tests.paths import TINY

pytestmark = pytest.mark.usefixtures("no_ray")


def test_finished_entries_of_a_killed_run_are_not_translated_again(place: Place) -> None:
    job, journal = place.job(["a", "b", "c"]), place.journal()
    wanted = place.cluster_job(job, DoubleEngine(), 1)
    begin(job, journal, Event())
    place.partitions.prepare()
    marked, whole, damaged = (entry_key(Entry(text, ""), PAIR) for text in "abc")
    folder = place.partitions.outcomes_path
    journal.commit({marked: TextOutcome(MarkedText("from the journal"))})
    write_outcomes(folder, "0", [whole], [TextOutcome(MarkedText("from a file"))])
    path = write_outcomes(folder, "1", [damaged], [TextOutcome(MarkedText("from a damaged file"))])
    path.write_bytes(path.read_bytes()[:-1])

    report = run_on_ray(wanted, journal)

    assert place.target.read_text() == "from the journal\nfrom a file\nC\n"
    assert report.num_translated == 1


def test_partitions_of_another_job_are_not_used(place: Place) -> None:
    job = place.job(["a"])
    place.partitions.prepare()
    key = entry_key(Entry("a", ""), PAIR)
    write_outcomes(place.partitions.outcomes_path, "0", [key], [TextOutcome(MarkedText("another's"))])

    run_on_ray(place.cluster_job(job, DoubleEngine()), place.journal())

    assert place.target.read_text() == "A\n"


def test_a_job_with_another_fingerprint_is_rejected(place: Place) -> None:
    job, journal = place.job(["a"]), place.journal()
    begin(job, journal, Event())

    with pytest.raises(OtherJob, match="was double and is absent; engine was absent and is another"):
        run_on_ray(place.cluster_job(place.job(["a"], {"engine": "another"}), DoubleEngine()), journal)


def test_a_damaged_partition_ends_the_job(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def damage(*arguments: object) -> Path:
        path: Path = write(*arguments)  # type: ignore[arg-type]
        path.write_bytes(path.read_bytes()[:-1])
        return path

    write = partitions.write_partition
    monkeypatch.setattr("service.cluster.partitions.write_partition", damage)

    with pytest.raises(PartitionDamaged):
        run_on_ray(place.cluster_job(place.job(["a"]), DoubleEngine()), place.journal())


def test_the_model_that_is_named_translates_on_nodes_as_it_does_here(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    for name, bundle in (  # of two alike the first is best
        ("first", "bundle-fp32"),
        ("second", "bundle-int8"),
    ):
        (tmp_path / "models" / name).symlink_to(TINY / bundle)
    settings = Settings(models_dir=tmp_path / "models", model="second", replicas=1)
    source = tmp_path / "in.txt"
    source.write_text("Guten Morgen!\nGute Nacht!\n", encoding="utf8")

    for output, cluster in (("alone.txt", None), ("together.txt", ONE_WORKER)):
        files = (str(source),), str(tmp_path / output)
        arguments = BatchArguments(*files, LanguageOptions("de", "en"), BATCH, StartMode.NEW, cluster)
        assert run_batch(arguments, settings) == 0

    assert (tmp_path / "together.txt").read_bytes() == (tmp_path / "alone.txt").read_bytes()


def test_a_node_with_other_bundles_ends_the_job(place: Place) -> None:
    facts = {"bundles of de -> en": "another (manifest 0)"}
    engine = RoutedEngine({"tiny": TINY / "bundle-int8"}, (PAIR,), facts, BATCH)

    with pytest.raises(EngineDiffers, match=r"^a node.* and another \(manifest 0\) here"):
        run_on_ray(place.cluster_job(place.job(["a"]), engine), place.journal())
    assert not place.target.exists()
    assert not place.partitions.path.exists()


def test_a_job_can_be_stopped_while_engines_open(place: Place) -> None:
    stop = Event()

    wanted = place.cluster_job(place.job(lines(20)), DoubleEngine(open_s=0.2))
    with pytest.raises(JobCancelled):
        run_on_ray(wanted, place.journal(), on_progress=lambda _: stop.set(), stop=stop)
    assert not place.target.exists()
