"""Commands about a text, with the models that ship, and glossaries that all ways of translating use."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from dragoman.routing.router import Router
from tests.paths import MODELS
from tests.service import conftest
from tests.service.conftest import Run, ready_client
from tests.service.test_model_index import entry, publish


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


def test_a_batch_detects_a_source_that_is_left_open(
    bundled: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in.txt").write_text("Ein Hund rennt.\n")
    finished = bundled("batch", "in.txt", "-o", "out.txt")

    assert (finished.returncode, (tmp_path / "out.txt").read_text()) == (0, "A dog runs.\n")
    monkeypatch.setenv("DRAGOMAN_DETECTION", "off")
    rejected = bundled("batch", "in.txt", "-o", "other.txt")
    assert rejected.stderr.startswith(b"dragoman: --source: choose a language; served: ")
    assert rejected.returncode == 2


def test_the_name_of_a_file_is_no_text(bundled: Run, tmp_path: Path) -> None:
    (tmp_path / "in.txt").touch()

    finished = bundled("translate", "in.txt", "--target", "en")

    assert finished.stderr.startswith(b"dragoman: text: in.txt is a file; use --file in.txt")
    assert (finished.stdout, finished.returncode) == (b"", 2)


def test_a_language_without_a_model_names_the_commands_that_add_one(bundled: Run) -> None:
    finished = bundled("translate", "Guten Tag!", "--source", "de", "--target", "fr")

    assert b"served: de -> en, en -> de; `dragoman import de-fr` lists models to add\n" in finished.stderr
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
    assert b"exists; remove its folder, or use --replace" in again.stderr
    assert again.returncode == 2
    assert json.loads((tmp_path / "published" / "index.json").read_text()) == {"models": [entry()]}


TEXT = "Der Hund schläft im Garten."
WORD, UNUSUAL = "Hund", "hovercraft"
NEW = {
    "name": "any",
    "dictionaries": [
        {"source": "de", "target": "en", "entries": [{"source": WORD, "target": UNUSUAL}]},
        {"source": "en", "target": "de", "entries": [{"source": "dog", "target": "Luftkissenboot"}]},
    ],
}


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    """Of a server with the bundled models."""
    with Router.open(MODELS) as router, ready_client(router, detection="on") as shared:
        yield shared


@pytest.fixture(scope="module")
def glossary_id(client: httpx.Client) -> str:
    return str(client.post("/v1/glossaries", json=NEW).json()["id"])


def translate(client: httpx.Client, **body: object) -> list[str]:
    return [each["text"] for each in conftest.translate(client, **body)["translations"]]


def test_each_text_gets_the_entries_of_its_language(client: httpx.Client, glossary_id: str) -> None:
    assert UNUSUAL not in translate(client, text=TEXT, source="de", target="en")[0]
    [translated] = translate(client, text=TEXT, target="en", glossary=glossary_id)
    assert UNUSUAL in translated.lower()
    [translated] = translate(client, text="The dog is asleep.", target="de", glossary=glossary_id)
    assert "Luftkissenboot" in translated


def test_terms_of_the_request_apply(client: httpx.Client) -> None:
    terms = [{"source": WORD, "targets": [UNUSUAL, "airship"]}]
    [translated] = translate(client, text=TEXT, source="de", target="en", terms=terms)
    assert UNUSUAL in translated.lower() or "airship" in translated.lower()
    [kept] = translate(client, text=TEXT, source="de", target="en", terms=[{"source": WORD}])
    assert WORD in kept
    [without] = translate(client, text=TEXT, source="de", target="en", forbidden=["dog"])
    assert "dog" not in without.lower()


def test_they_apply_to_markup(client: httpx.Client, glossary_id: str) -> None:
    pair = {"source_lang": "DE", "target_lang": "EN-GB", "glossary_id": glossary_id}
    html = f"<p>{TEXT.replace(WORD, f'<b>{WORD}</b>')}</p>"
    response = client.post("/v2/translate", json={"text": [html], "tag_handling": "html", **pair})
    text = response.json()["translations"][0]["text"]
    assert UNUSUAL in text.lower()
    assert text.count("<b>") == text.count("</b>") == 1


PAIR = ("--source", "de", "--target", "en")


def test_they_apply_to_commands(bundled: Run, tmp_path: Path) -> None:
    (tmp_path / "terms.csv").write_text(f"{WORD},{UNUSUAL}\n")
    (tmp_path / "in.txt").write_text(f"{TEXT}\n")
    for option in (("--glossary", "terms.csv"), ("--term", f"{WORD}={UNUSUAL}")):
        finished = bundled("translate", TEXT, *PAIR, *option)
        assert UNUSUAL in finished.stdout.decode().lower(), finished.stderr
        assert bundled("batch", "in.txt", "-o", "out.txt", *PAIR, *option, "--force").returncode == 0
        assert UNUSUAL in (tmp_path / "out.txt").read_text().lower()


def test_a_resumed_batch_must_have_the_same_terms(bundled: Run, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps({"text": TEXT}) + "\n")
    command = ("batch", "in.jsonl", "-o", "out.jsonl", *PAIR)
    assert bundled(*command, "--term", f"{WORD}={UNUSUAL}").returncode == 0
    assert bundled(*command, "--term", f"{WORD}=airship").returncode == 2
    assert bundled(*command, "--term", f"{WORD}=airship", "--force").returncode == 0
    assert "airship" in (tmp_path / "out.jsonl").read_text().lower()


@pytest.mark.parametrize("command", [("translate", TEXT), ("batch", "in.txt", "-o", "out.txt")])
@pytest.mark.parametrize(
    ("option", "problem"),
    [
        (("--glossary", "bad.csv"), "bad.csv: line 2 repeats the source term of line 1"),
        (("--glossary", "in.txt"), "in.txt: its name must end with .csv, .tsv, .tbx"),
        (("--glossary", "none.csv"), "none.csv"),
        (("--term", "=x"), "--term: '': the source term is empty"),
        (("--term", "x="), "--term: 'x': the target term is empty"),
    ],
)
def test_terms_that_cannot_be_used_are_rejected(
    run: Run, tmp_path: Path, command: tuple[str, ...], option: tuple[str, ...], problem: str
) -> None:
    (tmp_path / "bad.csv").write_text("a,b\na,c\n")
    (tmp_path / "in.txt").write_text(f"{TEXT}\n")
    finished = run(*command, *PAIR, *option)
    assert problem in finished.stderr.decode()
    assert finished.returncode == 2
    assert not (tmp_path / "out.txt").exists()


def test_terms_are_for_one_language_pair(bundled: Run, tmp_path: Path) -> None:
    for name, text in (("a.txt", "Der Hund schläft im Garten."), ("b.txt", "The dog sleeps in the garden.")):
        (tmp_path / name).write_text(f"{text}\n")
    finished = bundled("batch", "*.txt", "-o", "out", "--source", "auto", "--target", "en", "--term", "a=b")
    assert finished.returncode == 0  # one of them is in English already
