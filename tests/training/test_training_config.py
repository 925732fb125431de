"""A recipe is accepted or rejected by key, and errors that the caller can fix are clear."""

import re
from pathlib import Path

import pytest

from tests.imports.export.conftest import RunMain
from tests.imports.export.rejections import message_of
from tests.paths import ROOT
from tests.training.conftest import MADE, Recipe, WriteRecipe, change
from training.__main__ import main
from training.config import TrainingConfig, load_config
from training.errors import ConfigError

RECIPES = sorted((ROOT / "training/recipes").glob("*.toml"))
DOCUMENTATION = ROOT / "docs/guides/training.md"

ONE_ORIGIN = "data.corpora.0: give either files, generated_pairs or noun_readings"


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.name)
def test_every_recipe_in_the_project_is_valid(path: Path) -> None:
    assert load_config(path).data.corpora


def test_the_recipe_in_the_documentation_is_valid(tmp_path: Path) -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", DOCUMENTATION.read_text(encoding="utf8"), re.DOTALL)
    path = tmp_path / "example.toml"
    path.write_text(example, encoding="utf8")

    assert load_config(path).data.is_reversed


def test_a_recipes_settings_are_read(recipe: Recipe, write_recipe: WriteRecipe) -> None:
    config = load_config(write_recipe(recipe))

    assert config == TrainingConfig.model_validate(recipe)
    assert config.optimisation.steps == 30
    assert config.data.corpora[0].files == (Path(recipe["data"]["corpora"][0]["files"][0]),)


def test_a_recipe_takes_what_it_lacks_from_its_base(recipe: Recipe, write_recipe: WriteRecipe) -> None:
    path = write_recipe(recipe)
    own = path.with_name("own.toml")
    own.write_text(f'base = "{path.name}"\nrun_dir = "own"\n[optimisation]\nsteps = 40\n', encoding="utf8")

    config = load_config(own)

    schedule = recipe["optimisation"] | {"steps": 40}
    assert config == TrainingConfig.model_validate(recipe | {"run_dir": "own", "optimisation": schedule})


def test_all_wrong_keys_are_named_at_once(recipe: Recipe, write_recipe: WriteRecipe) -> None:
    wrong = {"optimisation.steps": 0, "model.activation": "tanh", "data.corpora.0.weight": -1.0}
    change(recipe, {**wrong, "optimisation.lerning_rate": 0.1})
    del recipe["data"]["source_language"]
    path = write_recipe(recipe)

    message = message_of(ConfigError, load_config, path)

    first, *problems = message.splitlines()
    assert first == f"{path}:"
    assert sorted(problem.split(":")[0].strip() for problem in problems) == [
        "data.corpora.0.weight",
        "data.source_language",
        "model.activation",
        "optimisation.lerning_rate",
        "optimisation.steps",
    ]
    assert "optimisation.lerning_rate: unknown key" in message
    assert "data.source_language: missing" in message


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"optimisation.decay_steps": 26}, "warmup_steps 5 + decay_steps 26 are more than steps 30"),
        ({"data.max_tokens": 64}, "data.max_tokens 64 must be below model.max_positions 64"),
        ({"model.heads": 3}, "d_model 16 must be a multiple of heads 3"),
        ({"vocabulary.size": 65537}, "vocabulary.size"),
        ({"data.corpora": [MADE, MADE]}, "two corpora are named made"),
        ({"data.corpora.0.files": []}, ONE_ORIGIN),
        ({"data.corpora.0.generated_pairs": 10}, ONE_ORIGIN),
        (
            {"data.corpora": [MADE], "data.target_language": "nl"},
            "corpus made: generated pairs are de and en, not de and nl",
        ),
        (
            {"data.corpora.0.variants": {"spelt_umlauts": 0.1}, "data.source_language": "nl"},
            "corpus tiny: spelt_umlauts needs source_language de",
        ),
    ],
    ids=str,
)
def test_inconsistent_keys_are_rejected_before_any_file_is_read(
    recipe: Recipe, write_recipe: WriteRecipe, changes: dict[str, object], problem: str
) -> None:
    change(recipe, changes)

    assert problem in message_of(ConfigError, load_config, write_recipe(recipe))


@pytest.mark.parametrize("content", [b"run_dir = ", b"\xff\xfe", b"[data]\n[data]\n", None])
def test_a_file_that_is_missing_or_not_toml_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "broken.toml"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(ConfigError, match=r"broken\.toml(: No such file| is not a TOML file)"):
        load_config(path)


def test_a_recurrent_model_has_none_of_a_transformers_fields(recipe: Recipe) -> None:
    recipe["model"] = {"architecture": "bahdanau", "d_model": 64, "dropout": 0.2}
    config = TrainingConfig.model_validate(recipe)

    assert config.model.shape["heads"] == config.model.shape["decoder_layers"] == 1
    assert TrainingConfig.model_validate_json(config.model_dump_json()) == config  # as a branch is stored

    recipe["model"] |= {"heads": 4, "norm": "pre"}
    with pytest.raises(ValueError, match="architecture bahdanau has no heads, norm"):
        TrainingConfig.model_validate(recipe)


@pytest.mark.parametrize(
    ("changes", "spoilt", "message"),
    [
        ({"model.width": 3}, "", "{folder}/recipe.toml:\n  model.width: unknown key"),
        ({"data.corpora.0.files": ["/nowhere/pairs.tsv"]}, "", "no such file: /nowhere/pairs.tsv"),
        ({}, "pairs.tsv", "{folder}/pairs.tsv:1: 1 columns"),
        ({"vocabulary.size": 9000}, "", "vocabulary.size 9000: "),
        ({}, "dev.en", "{folder}/dev.de has 5 lines, {folder}/dev.en has 1"),
        ({"validation.source": "/nowhere/dev.de"}, "", "/nowhere/dev.de: No such file or directory"),
        ({"run_dir": "/dev/null/run"}, "", "/dev/null/run"),
        ({}, "recipe.toml", "{folder}/recipe.toml is not a TOML file: "),
    ],
)
def test_a_fixable_error_gives_status_2_and_one_message(
    recipe: Recipe,
    write_recipe: WriteRecipe,
    run_main: RunMain,
    tmp_path: Path,
    changes: dict[str, object],
    spoilt: str,
    message: str,
) -> None:
    change(recipe, changes)
    path = write_recipe(recipe)
    if spoilt:
        (tmp_path / spoilt).write_text("one line\n", encoding="utf8")

    done = run_main(main, path)

    assert (done.status, done.output) == (2, "")
    assert done.errors.count("error: ") == 1
    assert f"error: {message.format(folder=tmp_path)}" in done.errors
    assert "Traceback" not in done.errors


def test_the_help_explains_output_files_and_resuming(
    run_main: RunMain, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        run_main(main, "--help")

    text = capsys.readouterr().out
    assert caught.value.code == 0
    words = ("checkpoint/", "resume/", "history.png", "continues", "exit status", "docs/guides/training.md")
    for word in words:
        assert word in text


def test_an_interrupt_before_the_first_step_is_reported(
    run_main: RunMain, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_path: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("training.__main__.load_config", interrupt)

    done = run_main(main, "recipe.toml")

    assert done.status == 130
    assert "stopped before the first step" in done.errors
