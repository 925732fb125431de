"""A run that never ends: branches become models, and a saved trunk can start again."""

import copy
import json
import shutil
from pathlib import Path

import pytest
import sentencepiece
import torch

from export.checkpoint import load_checkpoint, untied_weights
from tests.training.conftest import FEW_STEPS, Recipe, WriteRecipe
from training.config import TrainingConfig
from training.errors import ConfigError, RunFolderError
from training.history import History, read_events
from training.prepare import prepare
from training.resume import resume_points
from training.run import train
from training.trunk import begin, branch, main, save

pytestmark = pytest.mark.usefixtures("no_plots")


@pytest.fixture(scope="module")
def trained(finished: Recipe, tmp_path_factory: pytest.TempPathFactory) -> Recipe:
    """The recipe of both directions without an end, begun from a model with fewer pieces; after 20 steps."""
    folder = tmp_path_factory.mktemp("trunk")
    recipe = copy.deepcopy(finished)
    recipe |= {"run_dir": str(folder / "trunk"), "start_from": str(folder / "kept")}
    recipe["data"]["is_bidirectional"] = True
    recipe["vocabulary"] = {"size": 345, "has_controls": True}
    recipe["optimisation"] |= {"decay_steps": 0, "steps": 20}
    config = TrainingConfig.model_validate(recipe)
    begin(config, Path(finished["run_dir"]) / "checkpoint")
    train(config)
    return recipe


@pytest.fixture
def trunk(trained: Recipe, tmp_path: Path) -> Recipe:
    """The recipe of a trunk whose run folder is a copy that a test may change."""
    shutil.copytree(trained["run_dir"], tmp_path / "trunk")
    return copy.deepcopy(trained) | {"run_dir": str(tmp_path / "trunk")}


def start_in(folder: Path, trunk: Recipe) -> Path:
    """Move the recipe's `start_from` to a copy, to which a test may save."""
    trunk["start_from"] = str(shutil.copytree(trunk["start_from"], folder))
    return folder


def test_new_pieces_start_with_the_mean_vector_of_the_old_pieces_that_spell_them(
    trunk: Recipe, finished: Recipe
) -> None:
    before = load_checkpoint(Path(finished["run_dir"]) / "checkpoint")
    after = load_checkpoint(Path(trunk["start_from"]))
    old, new = (
        sentencepiece.SentencePieceProcessor(model_file=str(each.source_tokenizer))
        for each in (before, after)
    )
    vectors = before.model.source_embedding.weight.detach()
    known = [piece for piece in range(new.vocab_size()) if old.piece_to_id(new.id_to_piece(piece)) != 1]
    assert trunk["vocabulary"]["size"] == new.vocab_size()

    for piece in known:
        expected = vectors[old.piece_to_id(new.id_to_piece(piece))].half()
        torch.testing.assert_close(after.model.source_embedding.weight[piece].detach().half(), expected)

    layers = [name for name in untied_weights(before.model) if name.startswith(("encoder", "decoder"))]
    for name in layers:
        kept = untied_weights(after.model)[name]
        torch.testing.assert_close(kept.float(), untied_weights(before.model)[name].half().float())


def test_a_trunk_reads_every_pair_in_both_directions(trunk: Recipe) -> None:
    forward, backward = (corpus.tokenised for corpus in prepare(TrainingConfig.model_validate(trunk)))

    assert len(forward) == len(backward) == 120
    for pair in range(len(forward)):
        assert forward.source(pair).tolist() == backward.target(pair).tolist()
        assert forward.target(pair).tolist() == backward.source(pair).tolist()


def test_a_branch_decays_the_learning_rate_to_zero_and_leaves_the_trunk_unchanged(
    trunk: Recipe, tmp_path: Path
) -> None:
    config = TrainingConfig.model_validate(trunk)
    before = [point.path.read_bytes() for point in resume_points(config.run_dir)]

    checkpoint = load_checkpoint(branch(config, tmp_path / "branch", num_steps=10, direction="en-de"))

    assert [point.path.read_bytes() for point in resume_points(config.run_dir)] == before
    assert checkpoint.training["steps"] == 30
    assert (checkpoint.training["source_language"], checkpoint.training["target_language"]) == ("en", "de")
    state = torch.load(resume_points(tmp_path / "branch")[-1].path, weights_only=True)
    rates = [group["lr"] for part in state["optimizer_states"][0]["parts"] for group in part["param_groups"]]
    assert rates == [0.0] * len(rates)
    assert {event.direction for event in History(tmp_path / "branch").events} == {"en-de"}


def test_a_started_branch_resumes_even_if_the_trunk_has_advanced(trunk: Recipe, tmp_path: Path) -> None:
    branch(TrainingConfig.model_validate(trunk), tmp_path / "branch", num_steps=2, direction=None)
    trunk["optimisation"]["steps"] = 21
    config = TrainingConfig.model_validate(trunk)
    train(config)

    again = load_checkpoint(branch(config, tmp_path / "branch", num_steps=99, direction=None))

    assert again.training["steps"] == 22


def test_a_missing_resume_point_and_an_unknown_direction_are_reported(trunk: Recipe, tmp_path: Path) -> None:
    config = TrainingConfig.model_validate(trunk)
    untrained = TrainingConfig.model_validate(trunk | {"run_dir": str(tmp_path / "untrained")})

    with pytest.raises(RunFolderError, match="no resume point: train the trunk first"):
        branch(untrained, tmp_path / "branch", num_steps=10, direction=None)
    with pytest.raises(ConfigError, match="only_direction fr-de is no direction"):
        branch(config, tmp_path / "branch", num_steps=10, direction="fr-de")


def test_totals_of_a_trunk_add_up_over_run_folders_and_each_draws_other_pairs(
    trunk: Recipe, tmp_path: Path
) -> None:
    kept = start_in(tmp_path / "kept", trunk)
    first = TrainingConfig.model_validate(trunk)
    save(first)
    save(first)  # a second time counts nothing twice
    pairs = json.loads((kept / "training.json").read_text())["pairs_seen"]
    second = TrainingConfig.model_validate({**trunk, "run_dir": str(tmp_path / "second")})
    train(second)

    save(second)

    record = json.loads((kept / "training.json").read_text())
    events = read_events(kept / "history.jsonl")
    own = History(second.run_dir).events
    assert pairs == History(first.run_dir).events[-1].pairs_seen
    assert record["pairs_seen"] == pairs + own[-1].pairs_seen
    assert record["steps"] == 40
    assert [event.step for event in events] == [15, 15, 20, 20, 20, 35, 35, 40, 40, 40]
    assert [event.pairs_seen for event in events] == sorted(event.pairs_seen for event in events)
    assert record["started_from"]["steps"] == 30
    assert own[-1].pairs_seen != pairs  # other batches


def test_a_record_has_the_controls_that_were_trained_in_its_own_directions(
    trunk: Recipe, finished: Recipe, tmp_path: Path
) -> None:
    start_in(tmp_path / "kept", trunk)
    trunk["run_dir"] = str(tmp_path / "controls")
    trunk["optimisation"] |= FEW_STEPS | {"decay_steps": 0}
    trunk["data"]["corpora"][0]["variants"] = {"formality": 0.5, "terms": 0.5}
    trunk["data"]["term_files"] = trunk["data"]["corpora"][0]["files"]
    config = TrainingConfig.model_validate(trunk)
    untrained = TrainingConfig.model_validate(trunk | {"start_from": str(tmp_path / "untrained")})
    train(config)

    begun = load_checkpoint(begin(untrained, Path(finished["run_dir"]) / "checkpoint")).training["controls"]
    saved = load_checkpoint(save(config)).training["controls"]
    into_english = branch(config, tmp_path / "de-en", num_steps=1, direction="de-en")
    into_german = branch(config, tmp_path / "en-de", num_steps=1, direction="en-de")

    terms = {"begin": "<term>", "translation": "<translation>", "end": "</term>"}
    formality = {"formal": "<formal>", "informal": "<informal>", "targets": ["de"]}
    assert begun == {}
    assert saved == {"terms": terms, "formality": formality}
    assert load_checkpoint(into_english).training["controls"] == {"terms": terms}
    assert load_checkpoint(into_german).training["controls"] == {"terms": terms, "formality": formality}


def test_the_trunk_commands_report_errors_with_status_2(
    trunk: Recipe, write_recipe: WriteRecipe, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    del trunk["start_from"]
    trunk["run_dir"] = str(tmp_path / "untrained")
    path = write_recipe(trunk)

    assert main(["save", str(path)]) == 2
    assert main(["branch", str(path), str(tmp_path / "branch"), "--steps", "3"]) == 2

    errors = capsys.readouterr().err.splitlines()
    assert errors[0] == "error: a trunk is kept in start_from: the recipe has to name it"
    assert errors[1].endswith("has no resume point: train the trunk first")
