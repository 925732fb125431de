"""A plan that was stopped goes on where it was, and what is measured is not done again."""

import json
import os
import shutil
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from threading import Barrier, Event

import pytest

from bench.experiments.__main__ import make_missing_runs
from bench.experiments.commands import (
    ExperimentError,
    ExperimentStopped,
    StopRequest,
    module_command,
    run_command,
)
from bench.experiments.page import PagePaths
from bench.experiments.plan import BASE, TIED, Plan, Run
from bench.experiments.recipe import Texts
from bench.experiments.results import Results
from bench.experiments.running import Execute, JobDirectory, cache_bytes, count_parameters, steps_of
from bench.experiments.scoring import Score
from bench.experiments.timing import Timing, time_bundles
from bench.rounds import Spread
from export.checkpoint import load_checkpoint
from tests.routing.doubles import until

TINY = Path(__file__).parents[1] / "tiny"
PLAN = Plan("shapes", (BASE, TIED), seeds=(1, 2), licence="free")
NUM_STEPS = 5
"""Of a run: train, export twice, score twice."""


class Hands:
    """Leaves what each command would leave; at the n-th command a signal comes and nothing is left."""

    def __init__(self, stopped_at: int | None = None) -> None:
        self.stopped_at = stopped_at
        self.done: list[tuple[str, ...]] = []
        self.begun = 0

    def __call__(self, command: Sequence[str], _log: Path, stop: StopRequest) -> None:
        stop.check()
        self.begun += 1
        if self.begun - 1 == self.stopped_at:
            raise ExperimentStopped(signal.SIGTERM)
        arguments = command[command.index("-m") + 1 :]
        {"training": train, "export": export}.get(arguments[0], score)(arguments[1:])
        self.done.append(tuple(command))


def train(arguments: Sequence[str]) -> None:
    checkpoint = Path(arguments[0]).parent / "checkpoint"
    shutil.copytree(TINY / "checkpoint", checkpoint)
    record = {"steps": 3, "pairs_seen": 99, "train_hours": 0.1, "machine": "a machine"}
    (checkpoint / "training.json").write_text(json.dumps(record), encoding="utf8")
    (checkpoint.parent / "resume").mkdir()


def export(arguments: Sequence[str]) -> None:
    shutil.copytree(TINY / f"bundle-{Path(arguments[1]).name}", arguments[1])


def score(arguments: Sequence[str]) -> None:
    precision = Path(arguments[0]).name
    scores = [asdict(Score(precision, size, 10, 20.0, 21.0, 50.0, "signature", 0)) for size in (1, 4)]
    Path(arguments[3]).write_text(json.dumps(scores), encoding="utf8")


class Clock:
    """Remembers what it was to time."""

    def __init__(self) -> None:
        self.timed: list[list[str]] = []

    def __call__(
        self, bundles: Mapping[str, Path], _lines: Sequence[str], _rounds: int, _stop: StopRequest
    ) -> list[Timing]:
        self.timed.append([path.parent.name for path in bundles.values()])
        return [Timing(arm, batch, Spread(2.0, 1.0, 3.0)) for arm in bundles for batch in (1, 32)]


@pytest.fixture
def texts(tmp_path: Path) -> Texts:
    paths = [tmp_path / name for name in ("train.tsv", "dev.de", "dev.en", "test.de", "test.en")]
    for path in paths:
        path.write_text(f"{path.name}\n", encoding="utf8")
    return Texts(paths[0], (paths[1], paths[2]), (paths[3], paths[4]), "free")


def go(
    tmp_path: Path, texts: Texts, hands: Execute, clock: Clock, plan: Plan = PLAN, at_once: int = 1
) -> Results:
    """What one call of the command does."""
    folder = tmp_path / "experiments"
    places = PagePaths.inside(folder)
    place = JobDirectory(folder, texts, texts.hashes(), 19, hands)
    results = Results(places.results(plan.name), plan, place)
    make_missing_runs(results, places, at_once, StopRequest(), clock)
    return results


def test_all_runs_are_made_in_the_plans_order_and_arms_are_timed_after_the_first_pass(
    tmp_path: Path, texts: Texts
) -> None:
    clock = Clock()

    results = go(tmp_path, texts, Hands(), clock)

    assert [run["run"] for run in results.runs] == [run.name for run in PLAN.runs()]
    assert clock.timed == [[run.name for run in PLAN.passes()[0]]]


@pytest.mark.parametrize("stopped_at", range(4 * NUM_STEPS))
def test_a_stopped_plan_goes_on_and_repeats_no_finished_step(
    tmp_path: Path, texts: Texts, stopped_at: int
) -> None:
    first, second, clock = Hands(stopped_at), Hands(), Clock()
    with pytest.raises(ExperimentStopped):
        go(tmp_path, texts, first, clock)

    results = go(tmp_path, texts, second, clock)

    assert len(first.done) == stopped_at
    assert len(set(first.done + second.done)) == len(first.done + second.done) == 4 * NUM_STEPS
    assert [run["run"] for run in results.runs] == [run.name for run in PLAN.runs()]
    assert clock.timed == [[run.name for run in PLAN.passes()[0]]]


class Meeting:
    """The first commands of two runs wait for each other."""

    def __init__(self) -> None:
        self.barrier = Barrier(2)
        self.hands = Hands()

    def __call__(self, command: Sequence[str], log: Path, stop: StopRequest) -> None:
        if "training" in command:
            self.barrier.wait(timeout=30)
        self.hands(command, log, stop)


def test_runs_go_on_side_by_side_and_a_pass_ends_before_the_next(tmp_path: Path, texts: Texts) -> None:
    clock = Clock()

    results = go(tmp_path, texts, Meeting(), clock, at_once=2)

    made = [run["run"] for run in results.runs]
    assert [set(made[:2]), set(made[2:])] == [{run.name for run in one} for one in PLAN.passes()]
    assert clock.timed == [[run.name for run in PLAN.passes()[0]]]


class Failing:
    """One run's training fails while the other's goes on until it is told to end."""

    def __init__(self) -> None:
        self.has_begun, self.was_ended = Event(), False

    def __call__(self, command: Sequence[str], _log: Path, stop: StopRequest) -> None:
        if "base-seed1" in command[-1]:
            assert self.has_begun.wait(timeout=30)
            raise ExperimentError("the disk is full")
        self.has_begun.set()
        until(lambda: stop.signal_number is not None)
        self.was_ended = True
        stop.check()


def test_a_run_that_fails_ends_those_beside_it_and_is_what_is_told(tmp_path: Path, texts: Texts) -> None:
    failing = Failing()

    with pytest.raises(ExperimentError, match="the disk is full"):
        go(tmp_path, texts, failing, Clock(), at_once=2)

    assert failing.was_ended
    assert not (tmp_path / "experiments" / "base-seed2").exists()


def test_a_measured_plan_is_left_alone(tmp_path: Path, texts: Texts) -> None:
    go(tmp_path, texts, Hands(), Clock())
    hands, clock = Hands(), Clock()

    go(tmp_path, texts, hands, clock)

    assert hands.done == []
    assert clock.timed == []


def test_what_is_in_the_results_is_not_trained_again_when_its_models_are_gone(
    tmp_path: Path, texts: Texts
) -> None:
    go(tmp_path, texts, Hands(), Clock())
    for run in PLAN.runs():
        shutil.rmtree(tmp_path / "experiments" / run.name)
    hands = Hands()

    go(tmp_path, texts, hands, Clock())

    assert hands.done == []


def test_a_run_whose_model_is_gone_before_it_was_timed_is_named(tmp_path: Path, texts: Texts) -> None:
    one_seed = replace(PLAN, seeds=(1,))
    with pytest.raises(ExperimentStopped):
        go(tmp_path, texts, Hands(stopped_at=NUM_STEPS), Clock(), one_seed)
    shutil.rmtree(tmp_path / "experiments" / "base-seed1")

    with pytest.raises(ExperimentError, match=r"base-seed1/int8 is not there to be timed"):
        go(tmp_path, texts, Hands(), Clock(), one_seed)


def test_after_each_run_file_and_page_are_there(tmp_path: Path, texts: Texts) -> None:
    with pytest.raises(ExperimentStopped):
        go(tmp_path, texts, Hands(stopped_at=NUM_STEPS), Clock())

    places = PagePaths.inside(tmp_path / "experiments")
    content = json.loads(places.results(PLAN.name).read_text(encoding="utf8"))
    assert [run["run"] for run in content["runs"]] == [Run(BASE, 1).name]
    assert content["provenance"]["bundle_sha256"]
    assert f"| {BASE.label} | 1 |" in places.page.read_text(encoding="utf8")


def test_what_only_training_needs_is_removed_once_a_run_is_measured(tmp_path: Path, texts: Texts) -> None:
    go(tmp_path, texts, Hands(), Clock())

    run_dir = tmp_path / "experiments" / Run(BASE, 1).name
    assert not (run_dir / "resume").exists()
    assert (run_dir / "checkpoint").exists()


def test_a_folder_that_was_begun_with_other_texts_is_refused(tmp_path: Path, texts: Texts) -> None:
    with pytest.raises(ExperimentStopped):
        go(tmp_path, texts, Hands(stopped_at=1), Clock())
    texts.train.write_text("other pairs\n", encoding="utf8")

    with pytest.raises(ExperimentError, match="base-seed1 was begun with another recipe or other texts"):
        go(tmp_path, texts, Hands(), Clock())


def test_results_of_other_texts_are_not_added_to(tmp_path: Path, texts: Texts) -> None:
    go(tmp_path, texts, Hands(), Clock())
    texts.test[0].write_text("other lines\n", encoding="utf8")

    with pytest.raises(ExperimentError, match="has runs with another recipe or other texts: base-seed1"):
        go(tmp_path, texts, Hands(), Clock())


def test_steps_run_at_the_niceness_that_was_asked_for(tmp_path: Path, texts: Texts) -> None:
    place = JobDirectory(tmp_path, texts, texts.hashes(), 7)

    assert all(step.command[:3] == ("nice", "-n", "7") for step in steps_of(Run(BASE, 1), place))


def test_a_signal_is_passed_on_and_the_command_waited_for(tmp_path: Path) -> None:
    left = tmp_path / "left"
    script = (
        "import os, pathlib, signal, sys, time\n"
        "def end(*_):\n"
        f"    pathlib.Path({str(left)!r}).write_text('a resume point')\n"
        "    sys.exit(143)\n"
        "signal.signal(signal.SIGTERM, end)\n"
        f"os.kill({os.getpid()}, signal.SIGTERM)\n"
        "time.sleep(60)\n"
    )
    stop = StopRequest()

    with stop.listening(), pytest.raises(ExperimentStopped) as caught:
        run_command([sys.executable, "-c", script], tmp_path / "log", stop)

    assert caught.value.signal_number == signal.SIGTERM
    assert left.read_text() == "a resume point"


def test_after_a_signal_no_command_is_started(tmp_path: Path) -> None:
    stop = StopRequest()
    stop.signal_number = signal.SIGINT

    with pytest.raises(ExperimentStopped, match="SIGINT"):
        run_command(["/nowhere/no-such-command"], tmp_path / "log", stop)


def test_a_command_that_fails_is_named_with_its_status_and_where_it_says_why(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("an earlier step\n", encoding="utf8")

    with pytest.raises(ExperimentError, match=rf"sys.exit\('broken'\)` ended with status 1; {log} says why"):
        run_command([sys.executable, "-c", "import sys; sys.exit('broken')"], log, StopRequest())

    assert log.read_text(encoding="utf8") == "an earlier step\nbroken\n"


def test_a_command_of_ours_runs_with_its_niceness(tmp_path: Path) -> None:
    module = tmp_path / "said.py"
    module.write_text("import os, pathlib, sys\npathlib.Path(sys.argv[1]).write_text(str(os.nice(0)))\n")
    command = module_command(5, "said", str(tmp_path / "niceness"))
    command[command.index(sys.executable) : command.index("-m") + 2] = [sys.executable, str(module)]

    run_command(command, tmp_path / "log", StopRequest())

    assert int((tmp_path / "niceness").read_text()) == min(19, os.nice(0) + 5)


def test_parameters_are_counted_once_however_many_names_they_have() -> None:
    model = load_checkpoint(TINY / "checkpoint").model

    counted = count_parameters(TINY / "checkpoint" / "model.safetensors")

    assert counted == sum(parameter.numel() for parameter in model.parameters())


def test_tied_keys_and_values_take_half_the_cache() -> None:
    shape = {"decoder_layers": 2, "d_model": 256, "share_kv": False}

    # Two layers, a key and a value each, 256 numbers of one byte.
    assert cache_bytes(shape).self_bytes_per_token == 2 * 2 * 256
    assert cache_bytes(shape).cross_bytes_per_token == 2 * 2 * 256
    assert cache_bytes({**shape, "share_kv": True}).self_bytes_per_token == 2 * 256


def test_bundles_take_turns_and_each_is_timed_in_every_round() -> None:
    bundles = dict.fromkeys(("a", "b"), TINY / "bundle-int8")

    timings = time_bundles(bundles, ["der Hund schläft"] * 3, 2, StopRequest())

    assert [(one.arm, one.batch) for one in timings] == [("a", 1), ("a", 32), ("b", 1), ("b", 32)]
    assert all(
        0 < one.ms_per_sentence.least <= one.ms_per_sentence.median <= one.ms_per_sentence.most
        for one in timings
    )


def test_timing_heeds_a_signal() -> None:
    stop = StopRequest()
    stop.signal_number = signal.SIGTERM

    with pytest.raises(ExperimentStopped):
        time_bundles({"a": TINY / "bundle-int8"}, ["der Hund"], 1, stop)
