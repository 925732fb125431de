"""The `dragoman` command with several models: which languages, which model, what is listed."""

import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.routing.doubles import write_bundle

Run = Callable[..., subprocess.CompletedProcess[bytes]]
TIMEOUT_S = 60


@pytest.fixture
def several(models_dir: Path) -> dict[str, str]:
    """Settings with the models `tiny`, `french` (en -> fr) and `many` (20 languages)."""
    codes = [f"x{number:02}" for number in range(20)]
    write_bundle(models_dir / "french", "tiny-en-fr", ["en"], ["fr"])
    write_bundle(models_dir / "many", "tiny-many", codes, codes)
    return {"DRAGOMAN_MODEL": "tiny,french,many"}


def test_source_and_target_choose_the_model(run: Run, several: dict[str, str]) -> None:
    finished = run("translate", "--source", "de", "--target", "en", stdin=b"eins\n", **several)

    assert (finished.stdout, finished.stderr, finished.returncode) == (b"EINS\n", b"", 0)


def test_a_detour_is_told(run: Run, several: dict[str, str]) -> None:
    finished = run("translate", "--source", "de", "--target", "fr", stdin=b"eins\n", **several)

    assert finished.stdout == b"EINS\n"
    assert finished.stderr == b"dragoman: de -> fr is translated through en (tiny, then french)\n"
    assert finished.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--source: choose a language; served: en -> fr, 20 languages -> 20 languages, de -> en"),
        (["--source", "x01"], "--target: choose a language; served: "),
        (["--source", "it", "--target", "en"], "--source: this language is not served; served: "),
    ],
)
def test_where_several_pairs_are_possible_it_is_said_which_option_is_missing(
    run: Run, several: dict[str, str], models_dir: Path, arguments: list[str], message: str
) -> None:
    finished = run("translate", *arguments, "-o", "out.txt", **several)

    assert finished.returncode == 2
    assert finished.stderr.decode().startswith(f"dragoman: {message}")
    assert finished.stderr.count(b"\n") == 1
    assert not (models_dir.parent / "out.txt").exists()


def test_a_pair_that_a_bad_bundle_may_serve_is_not_just_unknown(run: Run, models_dir: Path) -> None:
    (models_dir / "bad").mkdir()

    finished = run("translate", "--model", "tiny,bad", "--source", "fr")

    assert b"; cannot be used: bad (`dragoman models` says why)\n" in finished.stderr


def test_a_bundle_of_many_languages_is_listed_by_their_number(run: Run, several: dict[str, str]) -> None:
    rows = run("models", **several).stdout.decode().splitlines()

    assert [row.split()[0] for row in rows] == ["NAME", "french", "many", "tiny"]
    assert " 20 languages " in rows[2]


def test_all_languages_of_a_bundle_are_listed_on_demand(run: Run, several: dict[str, str]) -> None:
    finished = run("models", "many", **several)

    header, *rows = finished.stdout.decode().splitlines()
    assert header.split() == ["LANGUAGE", "FROM", "INTO", "OTHER", "NAMES"]
    assert [row.split() for row in rows] == [[f"x{number:02}", "yes", "yes"] for number in range(20)]
    one = run("models", "tiny", **several).stdout.decode().splitlines()
    assert [row.split() for row in one[1:]] == [["de", "yes", "no"], ["en", "no", "yes"]]


def test_info_about_one_of_several_wants_its_name(run: Run, several: dict[str, str]) -> None:
    finished = run("info", **several)

    assert finished.returncode == 2
    assert finished.stderr.startswith(b"dragoman: model: choose one with --model; models in ")
    assert b"model" in run("info", "--model", "many").stdout


def test_a_server_that_watches_finds_new_models(
    command: list[str], environment: dict[str, str], models_dir: Path
) -> None:
    arguments = ["serve", "--port", "0", "--watch", "0.1"]
    del environment["DRAGOMAN_MODEL"]
    with subprocess.Popen(
        [*command, *arguments], stderr=subprocess.PIPE, env=environment, text=True
    ) as process:
        assert process.stderr is not None
        address = next(found[0] for line in process.stderr if (found := re.search(r"http://[\d.:]+", line)))
        write_bundle(models_dir / "later", "tiny-en-fr", ["en"], ["fr"])
        body = {"text": "eins", "source": "de", "target": "fr"}
        with httpx.Client(base_url=address, timeout=TIMEOUT_S) as client:
            deadline = time.monotonic() + TIMEOUT_S
            while (answer := client.post("/v1/translate", json=body)).status_code != httpx.codes.OK:
                assert time.monotonic() < deadline, answer.text
                time.sleep(0.05)
        process.terminate()

        assert answer.json()["model"] == "tiny-de-en + tiny-en-fr"
        assert process.wait(TIMEOUT_S) == 0
