"""Several processes train one model: same updates, one writer, one stop."""

import os
import signal
from dataclasses import astuple
from pathlib import Path
from typing import Any

import lightning
import pytest
import torch
from torch import nn
from typing_extensions import override

from tests.training.conftest import LONG_STEPS, make_long_recipe
from tests.training.test_training_run import events, scores, train_in_process, weights
from training.config import TrainingConfig
from training.errors import TrainingStopped, WorkerLostError
from training.parallel import ProcessGroup, StepCounts, meet, start_workers
from training.resume import ResumePointCallback, resume_points

SHARED_STEPS = LONG_STEPS // 2
STOP_STEP = 45


class SignalCallback(ResumePointCallback):
    """Sends SIGTERM to its own process at one step."""

    @override
    def on_train_batch_end(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, *rest: Any
    ) -> None:
        super().on_train_batch_end(trainer, pl_module, *rest)
        if trainer.global_step == STOP_STEP:
            signal.raise_signal(signal.SIGTERM)


def make_shared_recipe(folder: Path, pairs: list[tuple[str, str]]) -> dict[str, Any]:
    recipe = make_long_recipe(folder, pairs)
    recipe["optimisation"] |= {"processes": 2, "steps": SHARED_STEPS}
    return recipe


@pytest.fixture
def shared_recipe(tmp_path: Path, pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """A few seconds' training in two processes."""
    return make_shared_recipe(tmp_path, pairs)


@pytest.fixture(scope="module")
def uninterrupted_pair(tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[str, str]]) -> Path:
    """The run folder of `shared_recipe`, trained to its end without a break."""
    return train_in_process(make_shared_recipe(tmp_path_factory.mktemp("pair"), pairs)).parent


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
    shared_recipe: dict[str, Any],
) -> None:
    config = TrainingConfig.model_validate(shared_recipe)
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
    shared_recipe: dict[str, Any], uninterrupted_pair: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_dir = Path(shared_recipe["run_dir"])
    with monkeypatch.context() as patch:
        patch.setattr("training.run.ResumePointCallback", SignalCallback)
        with pytest.raises(TrainingStopped):
            train_in_process(shared_recipe)
    assert STOP_STEP <= resume_points(run_dir)[-1].step <= STOP_STEP + 1

    train_in_process(shared_recipe)

    torch.testing.assert_close(weights(run_dir), weights(uninterrupted_pair), atol=0.0, rtol=0.0)
    assert scores(run_dir) == scores(uninterrupted_pair)


def test_two_processes_read_the_pairs_that_one_reads_in_twice_the_steps(
    uninterrupted: Path, uninterrupted_pair: Path
) -> None:
    alone = {event.step: event.pairs_seen for event in events(uninterrupted)}
    together = {event.step: event.pairs_seen for event in events(uninterrupted_pair)}

    for step in range(20, SHARED_STEPS + 1, 20):
        assert together[step] == alone[2 * step]
