"""The mean of checkpoints is a checkpoint."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from export.checkpoint import load_checkpoint
from export.checkpoint_folder import CheckpointError
from tests.imports.export.conftest import RunMain
from tests.paths import TINY
from training.average import average, main

CHECKPOINT = TINY / "checkpoint"


def moved(folder: Path, by: float) -> Path:
    """The tiny checkpoint with all weights moved."""
    shutil.copytree(CHECKPOINT, folder)
    weights = load_file(str(folder / "model.safetensors"))
    save_file({name: weight + by for name, weight in weights.items()}, str(folder / "model.safetensors"))
    return folder


def test_the_average_is_the_mean_of_the_weights_with_the_last_record(tmp_path: Path) -> None:
    one, other = moved(tmp_path / "one", 0.0), moved(tmp_path / "other", 0.5)
    (other / "training.json").write_text(json.dumps({"steps": 7, "validation": {"bleu": 9.0}}))

    average([one, other], tmp_path / "mean")

    mean, before = load_checkpoint(tmp_path / "mean"), load_checkpoint(one)
    for name, weight in mean.model.state_dict().items():
        torch.testing.assert_close(weight, before.model.state_dict()[name] + 0.25, atol=2e-3, rtol=1e-3)
    assert mean.training == {
        "steps": 7,
        "note": "the mean of the weights of 2 checkpoints, this run's the last",
    }
    assert mean.source_tokenizer.read_bytes() == before.source_tokenizer.read_bytes()


def test_averaging_one_checkpoint_converts_it_to_16_bits(tmp_path: Path) -> None:
    average([CHECKPOINT], tmp_path / "half")

    half, before = load_checkpoint(tmp_path / "half"), load_checkpoint(CHECKPOINT)
    weights = load_file(str(tmp_path / "half" / "model.safetensors"))
    assert {weight.dtype for weight in weights.values()} == {torch.float16}
    for name, weight in half.model.state_dict().items():
        torch.testing.assert_close(weight, before.model.state_dict()[name], atol=2e-3, rtol=1e-3)
    assert half.training == before.training


def test_averaging_checkpoints_of_different_shape_or_vocabulary_is_rejected(tmp_path: Path) -> None:
    other = moved(tmp_path / "other", 0.0)
    config = json.loads((other / "model.json").read_text())
    (other / "model.json").write_text(json.dumps(config | {"dropout": 0.5}))

    with pytest.raises(CheckpointError, match="another shape or vocabulary"):
        average([CHECKPOINT, other], tmp_path / "mean")
    assert not (tmp_path / "mean").exists()


def test_the_command_names_a_folder_that_is_no_checkpoint(tmp_path: Path, run_main: RunMain) -> None:
    done = run_main(main, CHECKPOINT, tmp_path, "-o", tmp_path / "x")

    assert done.status == 2
    assert "model.safetensors" in done.errors
