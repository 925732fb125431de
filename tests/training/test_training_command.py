"""`python -m training` gives one clear message for an error that the caller can fix."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from training.__main__ import main

WriteRecipe = Callable[[dict[str, Any]], Path]
Break = Callable[[dict[str, Any], Path], None]


def run_main(monkeypatch: pytest.MonkeyPatch, path: Path) -> int:
    monkeypatch.setattr(sys, "argv", ["training", str(path)])
    return main()


def unknown_key(recipe: dict[str, Any], _: Path) -> None:
    recipe["model"]["width"] = 3


def missing_corpus(recipe: dict[str, Any], _: Path) -> None:
    recipe["data"]["corpora"][0]["files"] = ["/nowhere/pairs.tsv"]


def bad_line(_: dict[str, Any], folder: Path) -> None:
    (folder / "pairs.tsv").write_text("Hund\tdog\nnur eine Spalte\n", encoding="utf8")


def vocabulary_too_large(recipe: dict[str, Any], _: Path) -> None:
    recipe["vocabulary"]["size"] = 9000


def uneven_validation(_: dict[str, Any], folder: Path) -> None:
    (folder / "dev.en").write_text("one line\n", encoding="utf8")


def missing_validation(recipe: dict[str, Any], _: Path) -> None:
    recipe["validation"]["source"] = "/nowhere/dev.de"


def unwritable_run_folder(recipe: dict[str, Any], folder: Path) -> None:
    (folder / "file").touch()
    recipe["run_dir"] = str(folder / "file" / "run")


@pytest.mark.parametrize(
    ("break_it", "message"),
    [
        (unknown_key, "{folder}/recipe.toml:\n  model.width: unknown key"),
        (missing_corpus, "no such file: /nowhere/pairs.tsv"),
        (bad_line, "{folder}/pairs.tsv:2: 1 columns"),
        (vocabulary_too_large, "vocabulary.size 9000: "),
        (uneven_validation, "{folder}/dev.de has 5 lines, {folder}/dev.en has 1"),
        (missing_validation, "/nowhere/dev.de: No such file or directory"),
        (unwritable_run_folder, "{folder}/file/run"),
    ],
)
def test_a_fixable_error_gives_status_2_and_one_message(
    recipe: dict[str, Any],
    write_recipe: WriteRecipe,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    break_it: Break,
    message: str,
) -> None:
    break_it(recipe, tmp_path)

    status = run_main(monkeypatch, write_recipe(recipe))

    errors = capsys.readouterr().err
    assert status == 2
    assert errors.count("error: ") == 1
    assert f"error: {message.format(folder=tmp_path)}" in errors
    assert "Traceback" not in errors


def test_the_command_rejects_an_invalid_file_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.toml"
    path.write_text("run_dir = \n", encoding="utf8")

    assert run_main(monkeypatch, path) == 2

    written = capsys.readouterr()
    assert written.out == ""
    (line,) = written.err.splitlines()
    assert line.startswith(f"error: {path} is not a TOML file: ")
    assert "line 1" in line


def test_the_help_explains_output_files_and_resuming(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        run_main(monkeypatch, Path("--help"))

    text = capsys.readouterr().out
    assert caught.value.code == 0
    words = ("checkpoint/", "resume/", "history.png", "continues", "exit status", "docs/guides/training.md")
    for word in words:
        assert word in text


def test_an_interrupt_before_the_first_step_is_reported(
    recipe: dict[str, Any],
    write_recipe: WriteRecipe,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def interrupt(_path: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("training.__main__.load_config", interrupt)

    status = run_main(monkeypatch, write_recipe(recipe))

    assert status == 130
    assert "stopped before the first step" in capsys.readouterr().err
