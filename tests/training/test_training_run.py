"""Whole runs: what they write, continue and reject."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from export.checkpoint import load_checkpoint
from tests.training.conftest import FEW_STEPS, Recipe, change
from training.config import TrainingConfig
from training.errors import ConfigError, CorpusError, RunFolderError, VocabularyError
from training.history import Event, History
from training.resume import resume_points
from training.run import train

pytestmark = pytest.mark.usefixtures("no_plots")


def train_in_process(recipe: Recipe) -> Path:
    """Train; afterwards signals have their handlers again, and the environment no seed."""
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    checkpoint = train(TrainingConfig.model_validate(recipe))
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before
    assert "PL_GLOBAL_SEED" not in os.environ
    return checkpoint


def events(run_dir: Path) -> list[Event]:
    return History(run_dir).events


def weights(run_dir: Path) -> dict[str, torch.Tensor]:
    return load_file(str(run_dir / "checkpoint/model.safetensors"))


def scores(run_dir: Path) -> list[tuple[int, int, float | None]]:
    return [(event.step, event.pairs_seen, event.bleu) for event in events(run_dir) if event.bleu is not None]


def without_clock(run_dir: Path) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((run_dir / "checkpoint/training.json").read_text())
    del record["train_hours"]
    return record


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def start_from(recipe: Recipe) -> Recipe:
    """The recipe of a second run, which starts from the checkpoint of this one."""
    run_dir = recipe["run_dir"]
    return recipe | {"run_dir": f"{run_dir}-second", "start_from": f"{run_dir}/checkpoint"}


def test_a_run_depends_only_on_its_seed(recipe: Recipe, finished_recipe: Recipe, tmp_path: Path) -> None:
    run_dirs = [Path(finished_recipe["run_dir"])]
    for name, seed in (("again", 1), ("other", 2)):
        torch.rand(3)  # what was drawn before does not matter
        recipe["optimisation"]["seed"] = seed
        train_in_process({**recipe, "run_dir": str(tmp_path / name)})
        run_dirs.append(tmp_path / name)

    one, again, other = (weights(run_dir) for run_dir in run_dirs)
    torch.testing.assert_close(again, one, atol=0.0, rtol=0.0)
    assert not torch.equal(other["source_embedding.weight"], one["source_embedding.weight"])


def test_a_run_writes_the_files_listed_in_the_help(finished_recipe: Recipe) -> None:
    run_dir = Path(finished_recipe["run_dir"])

    assert names_in(run_dir) == ["checkpoint", "data", "history.jsonl", "history.png", "resume", "snapshots"]
    assert [point.step for point in resume_points(run_dir)] == [30]
    assert names_in(run_dir / "snapshots") == ["step-00000020.pt", "step-00000030.pt"]
    assert (run_dir / "history.png").read_bytes().startswith(b"\x89PNG")
    assert [event.step for event in events(run_dir)] == [15, 20, 30]


def test_the_checkpoint_is_the_mean_of_the_last_snapshots_with_tokenizer_and_record(
    finished_recipe: Recipe,
) -> None:
    run_dir = Path(finished_recipe["run_dir"])

    checkpoint = load_checkpoint(run_dir / "checkpoint")

    snapshots = [torch.load(path, weights_only=True) for path in sorted((run_dir / "snapshots").iterdir())]
    for name, weight in checkpoint.model.state_dict().items():
        torch.testing.assert_close(weight, sum(state[name] for state in snapshots) / 2)
    assert checkpoint.source_tokenizer.read_bytes() == (run_dir / "data/source.spm").read_bytes()
    record = checkpoint.training
    assert record["data"] == [{"name": "tiny", "weight": 1.0, "licence": "CC0-1.0"}]
    assert (record["steps"], record["averaged_snapshots"]) == (30, 2)
    assert record["pairs_seen"] > 30
    assert record["validation"].keys() == {"bleu", "chrf", "lines", "search"}
    assert record["validation"]["lines"] == 3
    assert "1 threads" in record["machine"]


def test_separate_vocabularies_are_copied_to_the_checkpoint(recipe: Recipe) -> None:
    recipe["vocabulary"] = {"size": 300, "is_shared": False}
    recipe["optimisation"] |= FEW_STEPS

    checkpoint = load_checkpoint(train_in_process(recipe))

    assert not checkpoint.model.config.shared_vocab
    assert checkpoint.target_tokenizer.name == "target.spm"
    assert checkpoint.source_tokenizer.read_bytes() != checkpoint.target_tokenizer.read_bytes()


def test_restarting_a_finished_run_writes_the_same_without_a_step(finished_recipe: Recipe) -> None:
    run_dir = Path(finished_recipe["run_dir"])
    first, history = weights(run_dir), events(run_dir)
    (run_dir / "resume/00000035.partial").write_bytes(b"half of a file")  # is ignored

    train_in_process(finished_recipe)

    torch.testing.assert_close(weights(run_dir), first, atol=0.0, rtol=0.0)
    assert events(run_dir) == history


def test_a_finished_run_continues_if_it_gets_more_steps(finished_recipe: Recipe) -> None:
    run_dir = Path(finished_recipe["run_dir"])
    finished_recipe["optimisation"]["steps"] = 40

    train_in_process(finished_recipe)

    assert [event.step for event in events(run_dir)] == [15, 20, 30, 40, 40]
    assert [point.step for point in resume_points(run_dir)] == [30, 40]
    assert without_clock(run_dir)["steps"] == 40


def test_repeated_steps_replace_their_history_and_snapshots(finished_recipe: Recipe) -> None:
    run_dir = Path(finished_recipe["run_dir"])
    finished_recipe["optimisation"]["steps"] = 33
    train_in_process(finished_recipe)
    assert [event.step for event in events(run_dir)] == [15, 20, 30, 33]
    resume_points(run_dir)[-1].path.unlink()
    finished_recipe["optimisation"]["steps"] = 32

    train_in_process(finished_recipe)

    assert [event.step for event in events(run_dir)] == [15, 20, 30, 32]
    assert names_in(run_dir / "snapshots") == ["step-00000030.pt", "step-00000032.pt"]


@pytest.mark.parametrize(
    ("key", "value", "problem"),
    [
        ("model.d_model", 32, "other [model] or optimizer settings"),
        ("model.decoder_layers", 2, "other [model] or optimizer settings"),
        ("optimisation.optimizer", "adamw", "first optimizer"),
        ("optimisation.learning_rate", 0.5, "first learning_rate"),
        ("optimisation.weight_decay", 0.5, "first weight_decay"),
    ],
)
def test_a_run_folder_of_another_model_or_other_data_is_rejected(
    finished_recipe: Recipe, key: str, value: object, problem: str
) -> None:
    change(finished_recipe, {"optimisation.steps": 40, key: value})

    with pytest.raises(RunFolderError) as caught:
        train_in_process(finished_recipe)

    assert problem in str(caught.value)
    assert "choose another run_dir" in str(caught.value)


def test_all_missing_corpus_files_are_named_before_any_is_read(recipe: Recipe) -> None:
    recipe["data"]["corpora"][0]["files"] += ["/nowhere/a.tsv", "/nowhere/b.tsv.xz"]

    with pytest.raises(CorpusError, match=r"no such file: /nowhere/a\.tsv, /nowhere/b\.tsv\.xz"):
        train_in_process(recipe)

    assert not Path(recipe["run_dir"]).exists()


def test_corpora_without_a_usable_pair_are_named(recipe: Recipe, tmp_path: Path) -> None:
    empty = tmp_path / "empty.tsv"
    empty.write_text("\t\n", encoding="utf8")
    corpus = recipe["data"]["corpora"][0]
    recipe["data"]["corpora"] = [corpus, {**corpus, "name": "void", "files": [str(empty)]}]
    with pytest.raises(CorpusError, match="corpus void has no usable pair"):
        train_in_process(recipe)

    recipe["data"]["corpora"] = [corpus]
    recipe["data"]["max_tokens"] = 1
    with pytest.raises(CorpusError, match=r"corpus tiny has no pair within data\.max_tokens"):
        train_in_process(recipe)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_gpu_is_rejected(recipe: Recipe) -> None:
    recipe["optimisation"]["accelerator"] = "gpu"

    with pytest.raises(ConfigError, match=r"optimisation\.accelerator gpu"):
        train_in_process(recipe)


def test_a_run_that_starts_from_a_checkpoint_uses_its_weights_vocabulary_and_record(
    finished_recipe: Recipe,
) -> None:
    first, second = Path(finished_recipe["run_dir"]) / "checkpoint", start_from(finished_recipe)
    second["optimisation"] |= FEW_STEPS | {"learning_rate": 1e-9}
    second["vocabulary"] = {"size": 330, "sample_pairs": 1}  # which would train another vocabulary

    checkpoint = load_checkpoint(train_in_process(second))

    earlier = load_checkpoint(first)
    for name, weight in checkpoint.model.state_dict().items():
        torch.testing.assert_close(weight, earlier.model.state_dict()[name], atol=1e-6, rtol=0.0)
    assert checkpoint.source_tokenizer.read_bytes() == earlier.source_tokenizer.read_bytes()
    assert checkpoint.training["started_from"] == earlier.training


def test_starting_from_a_checkpoint_of_another_shape_is_rejected_with_every_difference(
    finished_recipe: Recipe,
) -> None:
    second = start_from(finished_recipe)
    second["model"] |= {"ffn": 32, "heads": 4, "dropout": 0.2}

    with pytest.raises(ConfigError, match=r"ffn is 24 there and 32 here; heads is 2 there and 4 here$"):
        train_in_process(second)


def test_starting_from_a_folder_without_a_checkpoint_is_rejected(recipe: Recipe, tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match=r"start_from .*nowhere is not a checkpoint folder"):
        train_in_process({**recipe, "start_from": str(tmp_path / "nowhere")})
