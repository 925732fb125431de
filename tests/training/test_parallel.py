"""Several processes train one model: same updates, one writer, one stop."""

import os
import signal
from collections.abc import Callable
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.training.test_training_run import end_midway, events, finish, scores, weights
from training.config import TrainingConfig
from training.errors import WorkerLostError
from training.parallel import ProcessGroup, StepCounts, meet, start_workers
from training.resume import resume_points
from training.run import train

WriteRecipe = Callable[[dict[str, Any]], Path]


@pytest.fixture
def shared_recipe(long_recipe: dict[str, Any]) -> dict[str, Any]:
    """A few seconds' training in two processes."""
    long_recipe["optimisation"]["processes"] = 2
    return long_recipe


def averaged(workers: ProcessGroup) -> tuple[list[torch.Tensor], StepCounts]:
    """What a process of rank n gets whose gradients are n + 1 everywhere; the second one is to stop."""
    model = nn.Linear(3, 2)
    for weight in model.parameters():
        weight.grad = torch.full_like(weight, workers.rank + 1.0)
    counts = workers.average(model, StepCounts(10 + workers.rank, 100, is_stopping=workers.rank == 1))
    return [weight.grad for weight in model.parameters() if weight.grad is not None], counts


def average_as(config: TrainingConfig, rank: int, port: int) -> None:
    with meet(port, rank, config.optimisation.processes) as workers:
        gradients, counts = averaged(workers)
    torch.save({"gradients": gradients, "counts": astuple(counts)}, config.run_dir / "result")


def end_early(config: TrainingConfig, rank: int, port: int) -> None:
    with meet(port, rank, config.optimisation.processes):
        os._exit(1)


def test_processes_average_gradients_add_counts_and_stop_together(shared_recipe: dict[str, Any]) -> None:
    config = TrainingConfig.model_validate(shared_recipe)
    config.run_dir.mkdir()

    with start_workers(config, average_as) as workers:
        gradients, counts = averaged(workers)

    other = torch.load(config.run_dir / "result", weights_only=True)
    assert counts == StepCounts(21, 200, is_stopping=True)
    assert other["counts"] == astuple(counts)
    for gradient in (*gradients, *other["gradients"]):
        assert bool((gradient == 1.5).all())


def test_a_lost_process_ends_the_run_with_its_number(shared_recipe: dict[str, Any]) -> None:
    config = TrainingConfig.model_validate(shared_recipe)

    with (
        pytest.raises(WorkerLostError, match="process 1 of 2 ended early; the same command goes on"),
        start_workers(config, end_early) as workers,
    ):
        averaged(workers)


def test_a_two_process_run_resumed_after_sigterm_equals_an_uninterrupted_one(
    shared_recipe: dict[str, Any], write_recipe: WriteRecipe, tmp_path: Path
) -> None:
    uninterrupted = tmp_path / "uninterrupted"
    train(TrainingConfig.model_validate({**shared_recipe, "run_dir": str(uninterrupted)}))
    path, run_dir = write_recipe(shared_recipe), Path(shared_recipe["run_dir"])

    status, errors = end_midway(path, run_dir, signal.SIGTERM)

    assert status == 128 + signal.SIGTERM, errors
    assert "Traceback" not in errors
    assert 0 < resume_points(run_dir)[-1].step < shared_recipe["optimisation"]["steps"]
    finish(path)
    torch.testing.assert_close(weights(run_dir), weights(uninterrupted), atol=0.0, rtol=0.0)
    assert scores(run_dir) == scores(uninterrupted)


def test_two_processes_read_the_pairs_that_one_reads_in_twice_the_steps(
    recipe: dict[str, Any], tmp_path: Path
) -> None:
    seen = []
    for name, processes in (("one", 1), ("two", 2)):
        recipe["optimisation"] |= {"processes": processes, "steps": 40 // processes}
        run_dir = tmp_path / name
        train(TrainingConfig.model_validate({**recipe, "run_dir": str(run_dir)}))
        seen.append(events(run_dir)[-1].pairs_seen)

    assert seen[0] == seen[1]
