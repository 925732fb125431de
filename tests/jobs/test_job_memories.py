"""Jobs with a translation memory and review marks, and what a translation memory costs as a file."""

from typing import Any

import httpx
import polib
import pytest

from service.formats.bilingual_xml import TmxFormat
from service.formats.entries import FileOptions
from tests.formats.rewriting import entries
from tests.jobs.conftest import (
    ServeJobs,
    ended,
    new_memory,
    post,
    problem_of,
    result_of,
    run_job,
    send,
    tmx,
    unit,
    used,
    with_key,
)
from tests.service.keys import Keys

PO = b"""msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"

msgid "ja"
msgstr ""

msgid "warum"
msgstr ""
"""


def messages_of(client: httpx.Client, job: dict[str, Any]) -> polib.POFile:
    assert job["state"] == "done", job["problem"]
    return polib.pofile(result_of(client, job).text)


def test_exact_matches_are_used_and_marked(shared: httpx.Client) -> None:
    memory = new_memory(shared)

    job = run_job(shared, PO, "a.po", memory=memory, source="", target="")

    assert (job["memory"], job["review"], job["source"], job["target"]) == (memory, "mark", "de", "en")
    known, unknown = messages_of(shared, job)
    assert (known.msgstr, known.flags, known.tcomment) == ("yes", [], "dragoman, memory: exact")
    assert (unknown.msgstr, unknown.flags) == ("WARUM", ["fuzzy"])


def test_a_pair_with_other_numbers_is_used_and_left_to_reviewers(shared: httpx.Client) -> None:
    pair = {"source": "Seite 5 von 10", "target": "Page 5 of 10"}
    sent = {"name": "x", "source": "de", "target": "en", "pairs": [pair]}
    memory = shared.post("/v1/memories", json=sent).json()["id"]
    content = PO.replace(b"warum", b"Seite 7 von 10")

    job = run_job(shared, content, "a.po", memory=memory, memory_threshold="75", source="", target="")
    exact = run_job(shared, content, "a.po", memory=memory, source="", target="")

    [_, repaired], [_, other] = messages_of(shared, job), messages_of(shared, exact)
    assert (repaired.msgstr, repaired.flags) == ("Page 7 of 10", ["fuzzy"])
    assert other.msgstr == "SEITE 7 VON 10"


@pytest.mark.parametrize(
    ("review", "flags", "comment"),
    [("mark", ["fuzzy"], ""), ("confidence", ["fuzzy"], "dragoman, confidence: "), ("off", [], "")],
)
def test_a_job_chooses_its_marks(shared: httpx.Client, review: str, flags: list[str], comment: str) -> None:
    job = run_job(shared, PO, "a.po", review=review)

    assert job["review"] == review
    for entry in messages_of(shared, job):
        assert entry.flags == flags
        assert entry.tcomment.startswith(comment)
        assert bool(entry.tcomment) is bool(comment)


def test_unfitting_options_of_a_job_are_rejected(shared: httpx.Client) -> None:
    french = new_memory(shared, "fr")
    for fields, status, problem in (
        ({"review": "yes"}, 422, "review: must be one of mark, confidence, off"),
        ({"memory": "nothing"}, 404, "memory 'nothing' not found"),
        ({"memory": french}, 422, "source: is de, but the memory is for fr -> en; use another one"),
    ):
        response = post(shared, PO, "a.po", **fields)
        assert (response.status_code, problem_of(response)) == (status, problem)


def test_a_memory_of_another_key_is_not_found(serve_double: ServeJobs, keys: Keys) -> None:
    client = with_key(serve_double(), keys)
    memory = new_memory(client)
    assert post(client, PO, "a.po", memory=memory).status_code == 202

    assert post(with_key(client, keys), PO, "a.po", memory=memory).status_code == 404


GERMAN = "Der Hund rennt durch den Garten und die Kinder lachen."
UNLABELLED = '<tu><tuv xml:lang="und"><seg>a</seg></tuv><tuv xml:lang="en"><seg>b</seg></tuv></tu>'


@pytest.mark.parametrize("others", ["", UNLABELLED, unit("fr", "chien")])
@pytest.mark.parametrize("name", ["a.tmx", "a.TMX"])
def test_a_translation_memory_is_charged_for_its_translated_text(
    serve_double: ServeJobs, keys: Keys, others: str, name: str
) -> None:
    client = with_key(serve_double(), keys)
    job = send(client, tmx(others + unit("de-AT", "eins") + unit("de", "zwei!")), name)

    assert used(keys, client) == (len("einszwei!"), 1)
    assert job["progress"]["entries"] == 2
    done = ended(client, job["id"])
    assert (done["state"], done["progress"]["done"]) == ("done", 2)
    assert b"EINS" in result_of(client, job).content
    assert used(keys, client) == (len("einszwei!"), 1)


def test_the_source_language_is_read_from_a_translation_memory(serve_jobs: ServeJobs, keys: Keys) -> None:
    client = with_key(serve_jobs(detection="on"), keys)
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
