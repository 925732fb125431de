"""Several processes train one model: the same update everywhere, one writer, one stop."""

import multiprocessing
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from tests.training.test_training_run import end_midway, events, finish, scores, weights
from training.config import TrainingConfig
from training.parallel import StepCounts, meet
from training.resume import resume_points
from training.run import train

WriteRecipe = Callable[[dict[str, Any]], Path]


@pytest.fixture
def shared_recipe(long_recipe: dict[str, Any]) -> dict[str, Any]:
    """A few seconds' training in two processes."""
    long_recipe["optimisation"]["processes"] = 2
    return long_recipe


def average_in(rank: int, meeting: Path, folder: Path) -> None:
    """One process of two: its gradients are its rank plus one, everywhere."""
    model = nn.Linear(3, 2)
    for weight in model.parameters():
        weight.grad = torch.full_like(weight, rank + 1.0)
    with meet(meeting, rank, 2) as workers:
        counts = workers.average(model, StepCounts(10 + rank, 100, is_stopping=rank == 1))
    gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
    torch.save(
        {"gradients": gradients, "counts": [counts.pairs, counts.tokens, counts.is_stopping]},
        folder / str(rank),
    )


def test_gradients_are_averaged_counts_added_and_a_stop_of_one_stops_all(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [
        context.Process(target=average_in, args=(rank, tmp_path / "meeting", tmp_path)) for rank in range(2)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()

    for rank in range(2):
        result = torch.load(tmp_path / str(rank), weights_only=True)
        assert all(bool((gradient == 1.5).all()) for gradient in result["gradients"])
        assert result["counts"] == [21, 200, True]


def test_a_shared_run_stopped_by_sigterm_goes_on_to_what_an_undisturbed_one_gives(
    shared_recipe: dict[str, Any], write_recipe: WriteRecipe, tmp_path: Path
) -> None:
    undisturbed = tmp_path / "undisturbed"
    train(TrainingConfig.model_validate({**shared_recipe, "run_dir": str(undisturbed)}))
    path, run_dir = write_recipe(shared_recipe), Path(shared_recipe["run_dir"])

    status, errors = end_midway(path, run_dir, signal.SIGTERM)

    assert status == 128 + signal.SIGTERM, errors
    assert "Traceback" not in errors
    assert 0 < resume_points(run_dir)[-1].step < shared_recipe["optimisation"]["steps"]
    finish(path)
    torch.testing.assert_close(weights(run_dir), weights(undisturbed), atol=0.0, rtol=0.0)
    assert scores(run_dir) == scores(undisturbed)


def test_two_processes_see_the_pairs_that_one_sees_in_twice_the_steps(
    recipe: dict[str, Any], tmp_path: Path
) -> None:
    seen = []
    for name, processes in (("one", 1), ("two", 2)):
        recipe["optimisation"] |= {"processes": processes, "steps": 40 // processes}
        run_dir = tmp_path / name
        train(TrainingConfig.model_validate({**recipe, "run_dir": str(run_dir)}))
        seen.append(events(run_dir)[-1].pairs_seen)

    assert seen[0] == seen[1]
