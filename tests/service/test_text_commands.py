"""Commands about a text: translate, detect and score, with the models that ship, and pull."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.service.conftest import Run
from tests.service.test_model_index import entry, publish

MODELS = Path(__file__).parents[2] / "models"


@pytest.fixture
def bundled(run_engine: Run) -> Run:
    """Run a command with the bundled models."""
    variables = {
        "DRAGOMAN_MODELS_DIR": str(MODELS),
        "DRAGOMAN_MODEL": "de-en,en-de",
        "DRAGOMAN_REPLICAS": "1",
    }

    def run(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return run_engine(*arguments, stdin=stdin, **variables)

    return run


def test_a_text_is_translated_and_its_language_reported_apart(bundled: Run) -> None:
    text = "Guten Morgen! Die Katze schläft im Garten."

    finished = bundled("translate", text, "--source", "auto", "--target", "en")

    assert finished.stdout == b"Good morning! The cat is sleeping in the garden.\n"
    assert finished.stderr.startswith(b"dragoman: detected de (confidence ")
    assert finished.returncode == 0


def test_the_language_of_lines_from_a_pipe_is_detected(bundled: Run) -> None:
    lines = b"Guten Morgen!\n\nEin Hund rennt.\n"

    finished = bundled("translate", "--source", "auto", "--target", "en", stdin=lines)

    assert finished.stdout == b"Good morning!\n\nA dog runs.\n"


def test_the_name_of_a_file_is_no_text(bundled: Run, tmp_path: Path) -> None:
    (tmp_path / "in.txt").touch()

    finished = bundled("translate", "in.txt", "--target", "en")

    assert finished.stderr.startswith(b"dragoman: text: in.txt is a file; use --file in.txt")
    assert (finished.stdout, finished.returncode) == (b"", 2)


def test_a_language_without_a_model_names_the_commands_that_add_one(bundled: Run) -> None:
    finished = bundled("translate", "Guten Tag!", "--source", "de", "--target", "fr")

    assert b"served: de -> en, en -> de; `dragoman pull NAME` or `dragoman import MODEL`" in finished.stderr
    assert finished.returncode == 2


def test_a_formality_chooses_the_form_of_address_where_there_are_forms(bundled: Run) -> None:
    for formality, form in (("formal", b" Sie?"), ("informal", b" du?")):
        question = ("Where do you live?", "--target", "de", "--formality", formality)
        assert form in bundled("translate", *question).stdout

    finished = bundled("translate", "eins", "--source", "de", "--target", "en", "--formality", "formal")
    assert finished.stderr.startswith(b"dragoman: formality: this model knows no forms of address in en")
    assert (finished.stderr.count(b"\n"), finished.returncode) == (1, 2)


def test_detect_prints_languages_with_their_confidence(bundled: Run) -> None:
    rows = [line.split("\t") for line in bundled("detect", "Guten Morgen!").stdout.decode().splitlines()]

    assert [language for language, _ in rows] == ["de", "en"]
    assert sum(float(confidence) for _, confidence in rows) == pytest.approx(1.0, abs=1e-3)


def test_a_right_translation_scores_better_than_a_wrong_one(bundled: Run) -> None:
    pairs = b"Ein Hund rennt.\tA dog is running.\nEin Hund rennt.\tThe weather will be fine.\n"

    finished = bundled("score", "--source", "de", "--target", "en", stdin=pairs)

    right, wrong = map(float, finished.stdout.split())
    assert wrong < right < 0


def test_pull_lists_an_index_and_downloads_a_model_once(run_engine: Run, tmp_path: Path) -> None:
    publish(tmp_path / "published")
    index = ("--index", str(tmp_path / "published"))
    models = {"DRAGOMAN_MODELS_DIR": str(tmp_path / "new")}

    listed = run_engine("pull", *index, **models)
    pulled = run_engine("pull", "tiny", *index, **models)
    again = run_engine("pull", "tiny", *index, **models)

    assert listed.stdout.decode().split("\t")[:2] == ["tiny", "de -> en"]
    assert pulled.stdout.decode().strip() == str(tmp_path / "new" / "tiny")
    assert b"exists; remove it, or use --replace" in again.stderr
    assert again.returncode == 2
    assert json.loads((tmp_path / "published" / "index.json").read_text()) == {"models": [entry()]}
