"""`python -m training` gives one clear message for an error that the caller can fix."""

from pathlib import Path

import pytest

from tests.imports.export.conftest import RunMain
from tests.training.conftest import Recipe, WriteRecipe, change
from training.__main__ import main


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
