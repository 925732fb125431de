"""Token ids are made once, and a run folder records the settings it was made with."""

import json
from pathlib import Path

import pytest

from tests.training.conftest import MADE, Pairs, Recipe
from training.config import TrainingConfig
from training.errors import RunFolderError
from training.prepare import prepare
from training.vocabulary import load_vocabularies

OLD_RECIPE = Path(__file__).with_name("recipe-before-variants.json")
"""As it was written before there were more variants and generated corpora."""


def prepared(recipe: Recipe) -> list[set[tuple[str, str]]]:
    """The text of each corpus."""
    config = TrainingConfig.model_validate(recipe)
    corpora = prepare(config)
    source, target = load_vocabularies(config.run_dir / "data")
    return [
        {
            (source.decode(corpus.source(n).tolist()), target.decode(corpus.target(n).tolist()))
            for n in range(len(corpus))
        }
        for corpus in (weighted.tokenised for weighted in corpora)
    ]


@pytest.fixture
def old_folder(recipe: Recipe) -> Path:
    """A prepared run folder whose recipe.json is of before."""
    recipe["data"]["corpora"][0]["variants"] = {"lower_source": 0.03}
    prepare(TrainingConfig.model_validate(recipe))
    path = Path(recipe["run_dir"]) / "data" / "recipe.json"
    corpus = recipe["data"]["corpora"][0]["files"][0]
    path.write_text(OLD_RECIPE.read_text(encoding="utf8").rstrip().replace("FILE", corpus), encoding="utf8")
    return path


def test_a_folder_prepared_before_new_variants_existed_is_accepted_unchanged(
    recipe: Recipe, old_folder: Path
) -> None:
    before = {path.name: path.read_bytes() for path in old_folder.parent.iterdir()}

    prepare(TrainingConfig.model_validate(recipe))

    assert {path.name: path.read_bytes() for path in old_folder.parent.iterdir()} == before


@pytest.mark.parametrize(
    "variants",
    [{"lower_source": 0.03, "typo": 0.1}, {"lower_source": 0.04}, {"lower_source": 0.03, "single_words": 1}],
)
def test_a_folder_prepared_with_other_settings_is_rejected(
    recipe: Recipe, old_folder: Path, variants: dict[str, float]
) -> None:
    assert old_folder.exists()
    recipe["data"]["corpora"][0]["variants"] = variants

    with pytest.raises(RunFolderError, match="was prepared with another start_from or other"):
        prepare(TrainingConfig.model_validate(recipe))


@pytest.mark.parametrize("damaged", ["{", '{"start_from": null}', '{"of_tomorrow": 1}', "\xff"])
def test_an_unreadable_recorded_recipe_is_rejected(recipe: Recipe, old_folder: Path, damaged: str) -> None:
    old_folder.write_text(damaged, encoding="latin1")

    with pytest.raises(RunFolderError):
        prepare(TrainingConfig.model_validate(recipe))


def test_the_recorded_recipe_contains_every_setting(recipe: Recipe) -> None:
    config = TrainingConfig.model_validate(recipe)
    prepare(config)

    written = json.loads((config.run_dir / "data" / "recipe.json").read_text(encoding="utf8"))

    assert written == json.loads(
        config.model_dump_json(include={"start_from", "only_direction", "data", "vocabulary"})
    )


def test_a_run_of_one_direction_prepares_that_alone_or_reads_a_folder_of_both(
    recipe: Recipe, tmp_path: Path
) -> None:
    recipe["data"]["is_bidirectional"] = True
    both = prepared(recipe)

    [one] = prepared(recipe | {"only_direction": "en-de"})
    [alone] = prepared(recipe | {"only_direction": "en-de", "run_dir": str(tmp_path / "alone")})

    assert one == alone == both[1]
    assert [path.name for path in (tmp_path / "alone" / "data").glob("*.npz")] == ["tiny.en-de.npz"]
    with pytest.raises(RunFolderError):
        prepared(recipe | {"run_dir": str(tmp_path / "alone")})


def test_a_corpus_of_one_direction_is_read_in_no_other(recipe: Recipe) -> None:
    recipe["data"]["is_bidirectional"] = True
    file = recipe["data"]["corpora"][0]["files"][0]
    one_way = {"name": "one-way", "files": [file], "weight": 1.0, "licence": "", "direction": "en-de"}
    recipe["data"]["corpora"].append(one_way)

    forward, backward, only = prepared(recipe)

    assert only == backward != forward


@pytest.mark.parametrize("source_language", ["de", "en"])
def test_generated_corpora_and_copies_are_tokenised(
    recipe: Recipe, pairs: Pairs, source_language: str
) -> None:
    recipe["vocabulary"]["size"] = 700
    recipe["data"]["corpora"] += [MADE | {"generated_pairs": 300}]
    recipe["data"]["corpora"][0]["variants"] = {"upper": 0.999999999}
    is_reversed = source_language == "en"
    if is_reversed:
        recipe["data"] |= {"source_language": "en", "target_language": "de", "is_reversed": True}

    tiny, generated = prepared(recipe)

    german_first = [
        {pair[::-1] for pair in corpus} if is_reversed else corpus for corpus in (tiny, generated)
    ]
    assert german_first[0] == {*pairs, *((de.upper(), en.upper()) for de, en in pairs)}
    assert ("Nicht gefunden", "Not found") in german_first[1]


def test_a_run_from_a_checkpoint_reads_the_same_pairs_as_a_fresh_one(recipe: Recipe, tmp_path: Path) -> None:
    """A fresh run reads the text into memory for its vocabulary; one with a vocabulary never does."""
    recipe["vocabulary"]["size"] = 330
    recipe["data"]["corpora"][0]["variants"] = {"typo": 0.3, "lower_source": 0.3, "copied_beside": 0.3}
    first = prepared(recipe)

    second = {
        **recipe,
        "run_dir": str(tmp_path / "second"),
        "start_from": str(Path(recipe["run_dir"]) / "data"),
    }

    assert prepared(second) == first


def test_copies_and_generated_lines_depend_on_the_seed(recipe: Recipe, tmp_path: Path) -> None:
    recipe["data"]["corpora"][0]["variants"] = {"typo": 0.3}
    first = prepared(recipe)
    start = {**recipe, "start_from": str(Path(recipe["run_dir"]) / "data")}
    start["data"]["corpora"] += [MADE]
    results = []
    for name, seed in (("first", 1), ("again", 1), ("other", 2)):
        start["optimisation"]["seed"] = seed
        results.append(prepared({**start, "run_dir": str(tmp_path / name)}))

    assert results[0] == results[1]
    assert results[0][:1] == first
    assert results[0][0] != results[2][0]
    assert results[0][1] != results[2][1]
