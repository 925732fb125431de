"""The `dragoman` command with several models: which languages, which model, what is listed."""

from pathlib import Path

import pytest

from tests.routing.doubles import write_bundle
from tests.service.conftest import Run
from tests.service.test_command_line import rows_of

MANY = [f"x{number:02}" for number in range(20)]


@pytest.fixture
def run(run: Run, models_dir: Path, environment: dict[str, str]) -> Run:
    """With the models `tiny`, `french` (en -> fr) and `many` (20 languages)."""
    write_bundle(models_dir / "french", "tiny-en-fr", ["en"], ["fr"])
    write_bundle(models_dir / "many", "tiny-many", MANY, MANY)
    environment["DRAGOMAN_MODEL"] = "tiny,french,many"
    return run


@pytest.mark.parametrize(
    ("target", "stderr"),
    [("en", b""), ("fr", b"dragoman: de -> fr is translated through en (tiny, then french)\n")],
)
def test_source_and_target_choose_the_model_and_a_detour_is_told(
    run: Run, target: str, stderr: bytes
) -> None:
    finished = run("translate", "--source", "de", "--target", target, stdin=b"eins\n")

    assert (finished.stdout, finished.stderr, finished.returncode) == (b"EINS\n", stderr, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--target: choose a language; served: en -> fr, 20 languages -> 20 languages, de -> en"),
        (["--source", "x01"], "--target: choose a language; served: "),
        (["--source", "it", "--target", "en"], "--source: this language is not served; served: "),
    ],
)
def test_where_several_pairs_are_possible_it_is_said_which_option_is_missing(
    run: Run, models_dir: Path, arguments: list[str], message: str
) -> None:
    finished = run("translate", *arguments, "-o", "out.txt")

    assert finished.returncode == 2
    assert finished.stderr.decode().startswith(f"dragoman: {message}")
    assert finished.stderr.count(b"\n") == 1
    assert not (models_dir.parent / "out.txt").exists()


def test_a_pair_that_a_bad_bundle_may_serve_is_not_just_unknown(run: Run, models_dir: Path) -> None:
    (models_dir / "bad").mkdir()

    finished = run("translate", "--model", "tiny,bad", "--source", "fr")

    assert b"; cannot be used: bad (`dragoman models` says why)\n" in finished.stderr


def test_a_bundle_of_many_languages_is_listed_by_their_number(run: Run) -> None:
    rows = rows_of(run("models"))

    assert [row[0] for row in rows] == ["NAME", "french", "many", "tiny"]
    assert rows[2][1:3] == ["20", "languages"]


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("many", [[code, "yes", "yes"] for code in MANY]),
        ("tiny", [["de", "yes", "no"], ["en", "no", "yes"]]),
    ],
)
def test_all_languages_of_a_bundle_are_listed_on_demand(run: Run, name: str, rows: list[list[str]]) -> None:
    assert rows_of(run("models", name)) == [["LANGUAGE", "FROM", "INTO", "OTHER", "NAMES"], *rows]


def test_info_about_one_of_several_wants_its_name(run: Run) -> None:
    finished = run("info")

    assert finished.returncode == 2
    assert finished.stderr.startswith(b"dragoman: model: choose one with --model; models in ")
    assert b"model" in run("info", "--model", "many").stdout
