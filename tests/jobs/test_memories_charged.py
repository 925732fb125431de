"""A translation memory costs what is translated of it, whatever its segments are labelled with."""

import pytest

from service.formats.bilingual_xml import TmxFormat
from service.formats.entries import FileOptions
from tests.formats.rewriting import entries
from tests.jobs.conftest import ServeJobs, ended, post, send, used
from tests.service.keys import Keys

GERMAN = "Der Hund rennt durch den Garten und die Kinder lachen."
UNLABELLED = '<tu><tuv xml:lang="und"><seg>a</seg></tuv><tuv xml:lang="en"><seg>b</seg></tuv></tu>'


def tmx(units: str, srclang: str = "de") -> bytes:
    return (
        f'<?xml version="1.0"?>\n<tmx version="1.4"><header srclang="{srclang}"/><body>{units}</body></tmx>'
    ).encode()


def unit(language: str, text: str) -> str:
    return f'<tu><tuv xml:lang="{language}"><seg>{text}</seg></tuv></tu>'


@pytest.mark.parametrize("others", ["", UNLABELLED, unit("fr", "chien")])
@pytest.mark.parametrize("name", ["a.tmx", "a.TMX"])
def test_a_translation_memory_is_charged_for_its_translated_text(
    serve_double: ServeJobs, keys: Keys, others: str, name: str
) -> None:
    client = serve_double()
    client.headers.update(keys.bearer())
    job = send(client, tmx(others + unit("de-AT", "eins") + unit("de", "zwei!")), name)

    assert used(keys, client) == (len("einszwei!"), 1)
    assert job["progress"]["entries"] == 2
    done = ended(client, job["id"])
    assert (done["state"], done["progress"]["done"]) == ("done", 2)
    assert b"EINS" in client.get(f"/v1/jobs/{job['id']}/result").content
    assert used(keys, client) == (len("einszwei!"), 1)


def test_a_translation_memory_without_the_source_language_is_rejected(serve_double: ServeJobs) -> None:
    response = post(serve_double(jobs_at_a_time=0), tmx(unit("fr", "chien")), "a.tmx")

    assert response.status_code == 422
    assert "none of its 1 units has a segment in de" in response.text


def test_the_source_language_is_read_from_a_translation_memory(serve_jobs: ServeJobs, keys: Keys) -> None:
    client = serve_jobs(detection="on")
    client.headers.update(keys.bearer())
    content = tmx(unit("fr", "Le chien court dans le jardin.") + unit("de-DE", GERMAN), "de-DE")
    job = send(client, content, "a.tmx", source="auto")

    assert used(keys, client) == (len(GERMAN), 1)
    assert job["source"] == "de"
    assert ended(client, job["id"])["state"] == "done"


@pytest.mark.parametrize(
    ("srclang", "found"), [("de", ["eins"]), ("fr-CA", ["chien"]), ("*all*", ["chien", "eins"])]
)
def test_segments_in_the_language_that_the_header_names_are_read(srclang: str, found: list[str]) -> None:
    content = tmx(unit("fr-ca", "chien") + unit("de", "eins"), srclang)

    assert [entry.text for entry in entries(TmxFormat(FileOptions("und", "en")), content)] == found
