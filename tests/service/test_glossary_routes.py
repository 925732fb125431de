"""Dragoman's own routes for glossaries, and translations and jobs that use them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from dragoman.terms import Term, Terminology
from tests.engine.routing.doubles import until
from tests.service.conftest import Serve, fields_of, translate
from tests.service.doubles import DoubleTranslator
from tests.service.keys import Keys

ENTRIES: list[dict[str, Any]] = [
    {"source": "Hund", "targets": ["dog", "hound"]},
    {"source": 'Katze "Mia"', "target": "cat, Mia"},
    {"source": "Dragoman"},
]
TERMS = (Term("Hund", ("dog", "hound")), Term('Katze "Mia"', ("cat, Mia",)), Term("Dragoman"))
DICTIONARY = {"source": "de", "target": "en", "entries": ENTRIES}
NEW = {"name": "Tiere", "dictionaries": [DICTIONARY]}
TBX = """<martif><text><body><termEntry>
<langSet xml:lang="de"><tig><term>Hund</term></tig></langSet>
<langSet xml:lang="en"><tig><term>dog</term></tig><tig><term>hound</term></tig></langSet>
</termEntry></body></text></martif>"""


@pytest.fixture
def made(client: httpx.Client, double: DoubleTranslator) -> Iterator[dict[str, Any]]:
    """A stored glossary."""
    response = client.post("/v1/glossaries", json=NEW)
    assert response.status_code == 201, response.text
    double.seen.clear()
    glossary = dict(response.json())
    yield glossary
    client.delete(f"/v1/glossaries/{glossary['id']}")


def entries(client: httpx.Client, glossary: dict[str, Any], **query: str) -> httpx.Response:
    response = client.get(f"/v1/glossaries/{glossary['id']}/entries", params=query)
    assert response.status_code == 200, response.text
    return response


def used(double: DoubleTranslator) -> Terminology:
    """The terms of the only text that was translated."""
    [(_, options)] = double.seen
    assert options.terminology is not None
    return options.terminology


def test_a_glossary_is_read_as_it_was_sent(client: httpx.Client, made: dict[str, Any]) -> None:
    assert (made["name"], made["version"]) == ("Tiere", 1)
    assert made["dictionaries"] == [{"source": "de", "target": "en", "entry_count": 3}]
    assert client.get(f"/v1/glossaries/{made['id']}").json() == made
    assert client.get("/v1/glossaries").json() == {"glossaries": [made]}
    assert entries(client, made).json() == DICTIONARY
    assert entries(client, made, source="de", target="en").json() == DICTIONARY


def test_entries_are_returned_as_a_file(client: httpx.Client, made: dict[str, Any]) -> None:
    as_tsv = entries(client, made, format="tsv")
    assert as_tsv.headers["content-type"].startswith("text/tab-separated-values")
    assert as_tsv.text == 'Hund\tdog\nKatze "Mia"\tcat, Mia\nDragoman\tDragoman\n'
    as_csv = entries(client, made, format="csv")
    assert as_csv.headers["content-type"].startswith("text/csv")
    assert as_csv.text == 'Hund,dog\n"Katze ""Mia""","cat, Mia"\nDragoman,Dragoman\n'


@pytest.mark.parametrize(
    ("name", "content", "stored"),
    [
        ("a.csv", "Hund,dog,de,en\n", [{"source": "Hund", "target": "dog"}]),
        ("a.tsv", "\ufeffHund\tdog\n", [{"source": "Hund", "target": "dog"}]),
        ("a.tbx", TBX, [{"source": "Hund", "targets": ["dog", "hound"]}]),
    ],
)
def test_a_file_can_be_sent(client: httpx.Client, name: str, content: str, stored: list[object]) -> None:
    data = {"name": "Tiere", "source": "de", "target": "en"}
    response = client.post("/v1/glossaries", data=data, files={"file": (name, content.encode())})
    assert response.status_code == 201, response.text
    glossary = response.json()
    assert entries(client, glossary).json()["entries"] == stored
    named = client.put(
        f"/v1/glossaries/{glossary['id']}",
        data=data | {"format": name[2:]},
        files={"file": ("x", content.encode())},
    )
    assert (named.status_code, named.json()["version"]) == (200, 2)
    assert client.delete(f"/v1/glossaries/{glossary['id']}").status_code == 204


def test_a_glossary_can_be_replaced_and_deleted(client: httpx.Client, made: dict[str, Any]) -> None:
    path = f"/v1/glossaries/{made['id']}"
    new = {"name": "Pflanzen", "dictionaries": [DICTIONARY | {"entries": [{"source": "Baum"}]}]}
    changed = client.put(path, json=new).json()
    assert (changed["name"], changed["version"]) == ("Pflanzen", 2)
    assert entries(client, made).json()["entries"] == [{"source": "Baum"}]
    assert client.delete(path).status_code == 204
    for response in (client.get(path), client.put(path, json=new), client.delete(path)):
        assert (response.status_code, response.json()["error"]["type"]) == (404, "not_found")


def test_a_pair_can_be_replaced_and_removed(client: httpx.Client, made: dict[str, Any]) -> None:
    path = f"/v1/glossaries/{made['id']}/dictionaries"
    pair = {"source": "de", "target": "en"}
    changed = client.put(path, data=pair, files={"file": ("a.csv", b"Hund,cur")})
    assert changed.json()["dictionaries"] == [{**pair, "entry_count": 1}]
    changed = client.put(path, json=DICTIONARY)
    assert entries(client, made).json() == DICTIONARY
    assert client.delete(path, params={**pair, "source": "fr"}).status_code == 404
    removed = client.delete(path, params=pair)
    assert (removed.status_code, removed.json()["dictionaries"]) == (200, [])


@pytest.mark.parametrize(
    ("body", "field", "problem"),
    [
        ({"dictionaries": [DICTIONARY]}, "name", "is missing"),
        ({"name": " ", "dictionaries": [DICTIONARY]}, "name", "not only spaces"),
        ({"name": "a"}, "dictionaries", "is missing. An array of objects"),
        ({"name": "a", "dictionaries": {}}, "dictionaries", "must be an array"),
        ({"name": "a", "dictionaries": [1]}, "dictionaries[0]", "must be an object"),
        ({**NEW, "words": []}, "words", "is not known; known are name, dictionaries"),
        ({"name": "a", "dictionaries": [DICTIONARY, DICTIONARY]}, "dictionaries[1]", "repeats the pair"),
        (
            {"name": "a", "dictionaries": [{**DICTIONARY, "entries": [{"source": "a"}, {"source": ""}]}]},
            "dictionaries[0].entries",
            "dictionaries[0].entries[1]: the source term is empty",
        ),
        (
            {"name": "a", "dictionaries": [{**DICTIONARY, "source": "fr"}]},
            "dictionaries[0].source",
            "this language is not served; served: de -> en",
        ),
        (
            {"name": "a", "dictionaries": [{**DICTIONARY, "target": None}]},
            "dictionaries[0].target",
            "must be a string",
        ),
    ],
)
def test_an_unstorable_glossary_is_rejected_by_its_field(
    client: httpx.Client, body: dict[str, object], field: str, problem: str
) -> None:
    response = client.post("/v1/glossaries", json=body)
    assert fields_of(response) == [field]
    assert problem in response.text
    assert client.get("/v1/glossaries").json() == {"glossaries": []}


@pytest.mark.parametrize(
    ("name", "content", "data", "field", "problem"),
    [
        ("a.csv", "a,b\na,c\n", {}, "file", "line 2 repeats the source term of line 1"),
        ("a.xlsx", "a,b\n", {}, "file", "must end with .csv, .tsv, .tbx"),
        ("a.csv", "a,b\n", {"format": "xlsx"}, "format", "must be one of csv, tsv, tbx"),
        ("a.csv", "a,b\n", {"source": ""}, "source", "is missing"),
        ("a.tbx", "a,b\n", {}, "file", "cannot be read as tbx"),
    ],
)
def test_a_file_that_cannot_be_stored_is_rejected_with_its_line(
    client: httpx.Client, name: str, content: str, data: dict[str, str], field: str, problem: str
) -> None:
    form = {"name": "a", "source": "de", "target": "en", **data}
    response = client.post("/v1/glossaries", data=form, files={"file": (name, content.encode())})
    assert fields_of(response) == [field]
    assert problem in response.json()["error"]["message"]


def test_settings_limit_glossaries(serve: Serve) -> None:
    client = serve(max_glossaries_of_key=1, max_glossary_entries=3, max_glossaries_bytes_of_key=70)
    many = {"name": "a", "dictionaries": [DICTIONARY | {"entries": [*ENTRIES, {"source": "x"}]}]}
    assert fields_of(client.post("/v1/glossaries", json=many)) == ["dictionaries[0].entries"]
    long = {"name": "a", "dictionaries": [DICTIONARY | {"entries": [{"source": "x" * 80}]}]}
    assert fields_of(client.post("/v1/glossaries", json=long)) == ["entries"]
    assert client.post("/v1/glossaries", json=NEW).status_code == 201
    second = client.post("/v1/glossaries", json=NEW)
    assert second.status_code == 422
    assert "limit of 1 glossaries per key" in second.text


def test_a_glossary_outlives_a_server_with_a_database_with_or_without_jobs(serve: Serve, keys: Keys) -> None:
    first, second = serve(database_url=keys.url, jobs="off"), serve(database_url=keys.url)
    glossary_id = first.post("/v1/glossaries", json=NEW).json()["id"]
    for client in (first, second):
        assert translate(client, text="Hund", glossary=glossary_id)


def test_equal_requests_use_one_terminology_until_the_glossary_changes(
    client: httpx.Client, double: DoubleTranslator, made: dict[str, Any]
) -> None:
    for _ in range(2):
        translate(client, text="Ein Hund", glossary=made["id"])
    client.put(f"/v1/glossaries/{made['id']}/dictionaries", json=DICTIONARY)
    translate(client, text="Ein Hund", glossary=made["id"])
    first, second, third = (options.terminology for _, options in double.seen)
    assert first is second
    assert third is not first
    assert third is not None
    assert third.terms == TERMS


@pytest.mark.parametrize("path", ["/v1/translate", "/v1/translate/stream"])
def test_terms_need_no_glossary(client: httpx.Client, double: DoubleTranslator, path: str) -> None:
    double.seen.clear()
    body = {"text": "Ein Hund", "terms": [{"source": "Hund", "target": "cur"}]}
    assert client.post(path, json=body).status_code == 200
    assert used(double).terms == (Term("Hund", ("cur",)),)


@pytest.mark.parametrize("path", ["/v1/translate", "/v1/translate/stream"])
@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"terms": [{"source": "a"}, {"source": "a"}]}, "terms"),
        ({"terms": "x"}, "terms"),
        ({"terms": ["x"]}, "terms[0]"),
        ({"terms": [{"target": "b"}]}, "terms[0].source"),
        ({"terms": [{"source": "a", "targets": [1]}]}, "terms[0].targets[0]"),
        ({"terms": [{"source": "a", "target": "b", "targets": ["c"]}]}, "terms[0]"),
        ({"terms": [{"source": "a", "word": "b"}]}, "terms[0].word"),
        ({"forbidden": [""]}, "forbidden"),
        ({"terms": [{"source": "a"}], "sampling": {}}, "terms"),
    ],
)
def test_terms_that_cannot_be_used_are_named(
    client: httpx.Client, path: str, fields: dict[str, object], field: str
) -> None:
    assert fields_of(client.post(path, json={"text": "Hund", **fields})) == [field]


def test_an_unknown_glossary_is_not_found(client: httpx.Client) -> None:
    for path in ("/v1/translate", "/v1/translate/stream"):
        assert client.post(path, json={"text": "Hund", "glossary": "x"}).status_code == 404
    data = {"glossary": "x"}
    assert client.post("/v1/jobs", data=data, files={"file": ("a.txt", b"Hund")}).status_code == 404


def test_a_glossary_without_the_pair_is_rejected(
    client: httpx.Client, double: DoubleTranslator, made: dict[str, Any]
) -> None:
    client.delete(f"/v1/glossaries/{made['id']}/dictionaries", params={"source": "de", "target": "en"})
    response = client.post("/v1/translate", json={"text": "Hund", "glossary": made["id"]})
    assert fields_of(response) == ["glossary"]
    assert "has no entries for de -> en; it has none" in response.text
    job = client.post("/v1/jobs", data={"glossary": made["id"]}, files={"file": ("a.txt", b"Hund")})
    assert fields_of(job) == ["glossary"]
    assert double.seen == []


def test_a_job_keeps_the_terms_that_its_glossary_had(
    client: httpx.Client, double: DoubleTranslator, made: dict[str, Any]
) -> None:
    double.released.clear()
    first = client.post("/v1/jobs", files={"file": ("a.txt", b"wait")}).json()  # so that the next has to
    data = {
        "glossary": made["id"],
        "terms": '[{"source": "Maus", "target": "mouse"}]',
        "forbidden": ["a", "b"],
    }
    job = client.post("/v1/jobs", data=data, files={"file": ("a.txt", b"Ein Hund")}).json()
    assert (job["glossary"], job["num_terms"]) == (made["id"], 6)
    client.delete(f"/v1/glossaries/{made['id']}")
    double.released.set()
    paths = [f"/v1/jobs/{each['id']}" for each in (first, job)]
    until(lambda: all(client.get(path).json()["state"] == "done" for path in paths))
    [options] = [options for text, options in double.seen if text == "Ein Hund"]
    assert options.terminology is not None
    assert options.terminology.terms == (*TERMS, Term("Maus", ("mouse",)))
    assert options.terminology.forbidden == ("a", "b")


def test_terms_of_json_lines_are_in_the_url(client: httpx.Client, double: DoubleTranslator) -> None:
    double.seen.clear()
    job = client.post(
        "/v1/jobs",
        params={"terms": '[{"source": "Hund", "target": "cur"}]'},
        content=b'{"text": "Ein Hund"}\n',
        headers={"Content-Type": "application/x-ndjson"},
    ).json()
    until(lambda: client.get(f"/v1/jobs/{job['id']}").json()["state"] == "done")
    assert used(double).terms == (Term("Hund", ("cur",)),)


@pytest.mark.parametrize("terms", ["x", "{}", '[{"source": ""}]', "[" * 10_000])
def test_terms_of_a_job_that_cannot_be_used_are_rejected(client: httpx.Client, terms: str) -> None:
    response = client.post("/v1/jobs", data={"terms": terms}, files={"file": ("a.txt", b"Hund")})
    assert fields_of(response) == ["terms"]


def test_a_jobs_terms_are_removed_with_its_file(serve: Serve, tmp_path: Path) -> None:
    client = serve(jobs_files=str(tmp_path / "files"))
    terms = '[{"source": "Hund", "target": "cur"}]'
    job = client.post("/v1/jobs", data={"terms": terms}, files={"file": ("a.txt", b"Hund")}).json()
    until(lambda: client.get(f"/v1/jobs/{job['id']}").json()["state"] == "done")
    folder = tmp_path / "files" / job["id"]
    until(lambda: [path.name.partition("-")[0] for path in folder.iterdir()] == ["result"])
