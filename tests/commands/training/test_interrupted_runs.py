"""Runs that are stopped or killed, in one process or two, end like runs that nothing interrupts."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import astuple
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import lightning
import pytest
import torch
from torch import nn
from typing_extensions import override

from tests.paths import ROOT
from tests.training.conftest import Pairs, Recipe, WriteRecipe, make_recipe
from tests.training.test_run_records import prepared
from tests.training.test_training_run import events, scores, train_in_process, weights, without_clock
from training.config import TrainingConfig
from training.errors import TrainingStopped, WorkerLostError
from training.parallel import ProcessGroup, StepCounts, meet, start_workers
from training.resume import ResumePointCallback, resume_points
from training.run import train

TIMEOUT_S = 120
STEPS = 60
KILLED_AT = 40
"""A step with a loss, a validation and a snapshot, which are all written when the process is killed."""
PAIR_STEPS = STEPS // 2
PAIR_STOPPED_AT = 15


class KilledCallback(ResumePointCallback):
    """Kills its process at the end of a step, before the resume point of the step is written."""

    @override
    def on_train_batch_end(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, *rest: Any
    ) -> None:
        if trainer.global_step == KILLED_AT:
            os.kill(os.getpid(), signal.SIGKILL)
        super().on_train_batch_end(trainer, pl_module, *rest)


class StoppedCallback(ResumePointCallback):
    """Sends SIGTERM to its own process at one step."""

    @override
    def on_train_batch_end(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, *rest: Any
    ) -> None:
        super().on_train_batch_end(trainer, pl_module, *rest)
        if trainer.global_step == PAIR_STOPPED_AT:
            signal.raise_signal(signal.SIGTERM)


def make_long_recipe(folder: Path, pairs: Pairs) -> Recipe:
    """A run with dropout, and a resume point after every step."""
    recipe = make_recipe(folder, pairs)
    recipe["optimisation"] |= {"steps": STEPS, "decay_steps": 20}
    recipe["validation"]["every_steps"] = 20
    recipe["model"]["inner_dropout"] = 0.1
    recipe["checkpoints"] |= {"every_minutes": 1e-9, "snapshot_every_steps": 20}
    return recipe


def make_pair_recipe(folder: Path, pairs: Pairs) -> Recipe:
    """The same in two processes and half as many steps."""
    recipe = make_long_recipe(folder, pairs)
    recipe["optimisation"] |= {"processes": 2, "steps": PAIR_STEPS}
    return recipe


@pytest.fixture
def long_recipe(tmp_path: Path, pairs: Pairs) -> Recipe:
    return make_long_recipe(tmp_path, pairs)


@pytest.fixture
def pair_recipe(tmp_path: Path, pairs: Pairs) -> Recipe:
    return make_pair_recipe(tmp_path, pairs)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory, pairs: Pairs) -> Path:
    """The run folder of `long_recipe`, trained to its end without a break."""
    return train_in_process(make_long_recipe(tmp_path_factory.mktemp("uninterrupted"), pairs)).parent


@pytest.fixture(scope="module")
def uninterrupted_pair(tmp_path_factory: pytest.TempPathFactory, pairs: Pairs) -> Path:
    """The run folder of `pair_recipe`, trained to its end without a break."""
    return train_in_process(make_pair_recipe(tmp_path_factory.mktemp("pair"), pairs)).parent


def stop_midway(recipe_path: Path, run_dir: Path) -> tuple[int, str]:
    """Start the command, send SIGTERM to all its processes once it has a resume point.

    Returns:
        Status and standard error.
    """
    command = [sys.executable, "-m", "training", str(recipe_path)]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True)
    deadline = time.monotonic() + TIMEOUT_S
    while not (resume_points(run_dir) and events(run_dir)):
        assert process.poll() is None, "the run ended before it could be interrupted"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGTERM)
    _, errors = process.communicate(timeout=TIMEOUT_S)
    return process.returncode, errors


def train_until_killed(config: TrainingConfig) -> None:
    """Train in a process that is killed at one step."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("training.run.ResumePointCallback", KilledCallback)
        train(config)


def resume(recipe: Recipe, step: int, caplog: pytest.LogCaptureFixture) -> None:
    """Train to the end in this process, from the step on."""
    with caplog.at_level("INFO", logger="training.run"):
        train_in_process(recipe)
    assert f"resuming from step {step}" in caplog.messages


def assert_same_run(run_dir: Path, reference: Path) -> None:
    """Bit for bit: batches and dropout are functions of seed and step, and CPU arithmetic is repeatable."""
    torch.testing.assert_close(weights(run_dir), weights(reference), atol=0.0, rtol=0.0)
    assert scores(run_dir) == scores(reference)
    assert without_clock(run_dir) == without_clock(reference)
    steps = [event.step for event in events(run_dir) if event.loss is not None]
    assert steps == list(range(20, STEPS + 1, 20))


@pytest.mark.parametrize("data_processes", [0, 1])
def test_a_run_resumed_after_sigterm_equals_an_uninterrupted_one(
    data_processes: int,
    long_recipe: Recipe,
    write_recipe: WriteRecipe,
    uninterrupted: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    long_recipe["optimisation"]["data_processes"] = data_processes
    run_dir = Path(long_recipe["run_dir"])

    status, errors = stop_midway(write_recipe(long_recipe), run_dir)

    step = resume_points(run_dir)[-1].step
    assert status == 128 + signal.SIGTERM
    assert errors.splitlines()[-1] == (
        f"stopped by SIGTERM at step {step}; the same command goes on from there"
    )
    assert "Traceback" not in errors
    assert 0 < step < STEPS
    assert max(event.step for event in events(run_dir)) <= step
    assert not (run_dir / "checkpoint").exists()
    assert errors.count("step/s") < 10  # a log file is not redrawn at every step
    assert "lightning" not in errors.lower()
    long_recipe["optimisation"]["data_processes"] = 0  # the number may change
    resume(long_recipe, step, caplog)
    assert_same_run(run_dir, uninterrupted)


def test_a_killed_run_resumes_from_its_last_resume_point_with_the_same_result(
    long_recipe: Recipe, uninterrupted: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run_dir = Path(long_recipe["run_dir"])
    context = get_context("forkserver")
    context.set_forkserver_preload([train.__module__])
    process = context.Process(target=train_until_killed, args=(TrainingConfig.model_validate(long_recipe),))

    process.start()
    process.join(TIMEOUT_S)

    assert process.exitcode == -signal.SIGKILL
    assert resume_points(run_dir)[-1].step == KILLED_AT - 1
    assert max(event.step for event in events(run_dir)) == KILLED_AT
    resume(long_recipe, KILLED_AT - 1, caplog)
    assert_same_run(run_dir, uninterrupted)


def averaged(workers: ProcessGroup) -> tuple[list[torch.Tensor], StepCounts]:
    """What a process of rank n gets whose gradients are n + 1 everywhere; the second one is to stop."""
    model = nn.Linear(3, 2)
    for weight in model.parameters():
        weight.grad = torch.full_like(weight, workers.rank + 1.0)
    counts = workers.average(model, StepCounts(10 + workers.rank, 100, is_stopping=workers.rank == 1))
    return [weight.grad for weight in model.parameters() if weight.grad is not None], counts


def average_and_end_early(config: TrainingConfig, rank: int, port: int) -> None:
    with meet(port, rank, config.optimisation.processes) as workers:
        gradients, counts = averaged(workers)
        torch.save({"gradients": gradients, "counts": astuple(counts)}, config.run_dir / "result")
        os._exit(1)


def test_processes_average_gradients_add_counts_and_stop_together_and_a_lost_one_is_named(
    pair_recipe: Recipe,
) -> None:
    config = TrainingConfig.model_validate(pair_recipe)
    config.run_dir.mkdir()

    found = []

    def average_twice() -> None:
        with start_workers(config, average_and_end_early) as workers:
            found.append(averaged(workers))
            averaged(workers)

    with pytest.raises(WorkerLostError, match="process 1 of 2 ended early; the same command goes on"):
        average_twice()

    other = torch.load(config.run_dir / "result", weights_only=True)
    gradients, counts = found[0]
    assert counts == StepCounts(21, 200, is_stopping=True)
    assert other["counts"] == astuple(counts)
    for gradient in (*gradients, *other["gradients"]):
        assert bool((gradient == 1.5).all())


def test_a_two_process_run_resumed_after_sigterm_equals_an_uninterrupted_one(
    pair_recipe: Recipe, uninterrupted_pair: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir = Path(pair_recipe["run_dir"])
    with monkeypatch.context() as patch:
        patch.setattr("training.run.ResumePointCallback", StoppedCallback)
        with pytest.raises(TrainingStopped):
            train_in_process(pair_recipe)
    assert PAIR_STOPPED_AT <= resume_points(run_dir)[-1].step <= PAIR_STOPPED_AT + 1

    train_in_process(pair_recipe)

    torch.testing.assert_close(weights(run_dir), weights(uninterrupted_pair), atol=0.0, rtol=0.0)
    assert scores(run_dir) == scores(uninterrupted_pair)


def test_two_processes_read_the_pairs_that_one_reads_in_twice_the_steps(
    uninterrupted: Path, uninterrupted_pair: Path
) -> None:
    alone = {event.step: event.pairs_seen for event in events(uninterrupted)}
    together = {event.step: event.pairs_seen for event in events(uninterrupted_pair)}

    assert together == {step: alone[2 * step] for step in (20, PAIR_STEPS)}


def test_data_processes_prepare_the_same_pairs(recipe: Recipe, tmp_path: Path) -> None:
    recipe["data"]["corpora"][0]["variants"] = {"typo": 0.3}
    alone = prepared(recipe)

    recipe["optimisation"]["data_processes"] = 2

    assert prepared({**recipe, "run_dir": str(tmp_path / "second")}) == alone
