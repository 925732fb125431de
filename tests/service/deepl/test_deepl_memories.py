"""Translation memories as DeepL's clients see, import and export them."""

from pathlib import Path
from typing import Any

import deepl
import httpx
import pytest
from deepl.api_data import TranslationMemoryJob, TranslationMemoryJobResult

from tests.engine.routing.doubles import until
from tests.service.deepl.conftest import ClientOf, auth_of, error_of, translate
from tests.service.keys import Keys

ROOT = "/v3/translation_memories"
UNKNOWN = "96ab91fd-e715-41a1-adeb-5d701f84a483"
PAIRS = [
    {"source": "Guten Morgen.", "target": "Good morning."},
    {"source": "Seite 5 von 10", "target": "Page 5 of 10"},
    *({"source": f"Haus Nummer {number}", "target": f"House no. {number}"} for number in range(7)),
]


@pytest.fixture
def owner(keys: Keys) -> dict[str, str]:
    """The header of a key without memories."""
    return auth_of(keys.make())


@pytest.fixture
def memory(http: httpx.Client, owner: dict[str, str]) -> str:
    return create(http, owner)


def create(http: httpx.Client, owner: dict[str, str], name: str = "Legal") -> str:
    key = owner["Authorization"].removeprefix("DeepL-Auth-Key ")
    sent = {"name": name, "source": "de", "target": "en", "pairs": PAIRS}
    response = http.post("/v1/memories", json=sent, headers={"X-API-Key": key})
    assert response.status_code == 201, response.text
    return str(response.json()["id"])


def get(http: httpx.Client, owner: dict[str, str], path: str = "", **query: object) -> dict[str, Any]:
    response = http.get(f"{ROOT}{path}", params=query, headers=owner)  # type: ignore[arg-type]
    assert response.status_code == 200, response.text
    return dict(response.json())


def test_a_memory_lists_its_languages_in_lower_case_with_their_variants(
    http: httpx.Client, owner: dict[str, str], memory: str
) -> None:
    found = get(http, owner, f"/{memory}")
    created, updated = found.pop("creation_time"), found.pop("updated_time")

    assert created < updated
    assert updated.endswith("Z")
    assert found == {
        "translation_memory_id": memory,
        "name": "Legal",
        "source_language": "de",
        "target_languages": ["en", "en-gb", "en-us"],
        "segment_count": 9,
    }


def test_memories_are_listed_in_pages_with_their_total(http: httpx.Client, owner: dict[str, str]) -> None:
    made = [create(http, owner, name) for name in map(str, range(11))]
    first, second = (get(http, owner, page=page, page_size=10) for page in (0, 1))
    all_of = get(http, owner)

    assert [len(each["translation_memories"]) for each in (first, second, all_of)] == [10, 1, 11]
    assert [each["translation_memory_id"] for each in all_of["translation_memories"]] == made
    assert {each["total_count"] for each in (first, second, all_of)} == {11}


def test_the_pages_of_segments_are_disjoint_and_complete(
    http: httpx.Client, owner: dict[str, str], memory: str
) -> None:
    sources: list[str] = []
    cursor: dict[str, str] = {}
    for expected in (4, 4, 1):
        found = get(http, owner, f"/{memory}/segments", page_size=4, **cursor)
        assert (len(found["segments"]), found["segment_count"]) == (expected, 9)
        sources += [each["source_text"] for each in found["segments"]]
        cursor = {"page_cursor": found.get("next_page_cursor", "")}

    assert sorted(sources) == sorted(each["source"] for each in PAIRS)
    assert cursor == {"page_cursor": ""}


@pytest.mark.parametrize(
    ("query", "sources"),
    [
        ({"filter_text": "PAGE 5"}, ["Seite 5 von 10"]),
        ({"filter_text": "guten"}, ["Guten Morgen."]),
        ({"filter_text": "guten", "filter_case_sensitive": "true"}, []),
        ({"filter_text": "Guten", "filter_case_sensitive": "1"}, ["Guten Morgen."]),
    ],
)
def test_a_filter_finds_a_text_in_sources_and_targets(
    http: httpx.Client, owner: dict[str, str], memory: str, query: dict[str, str], sources: list[str]
) -> None:
    found = get(http, owner, f"/{memory}/segments", **query)

    assert [each["source_text"] for each in found["segments"]] == sources
    assert found["segment_count"] == 9
    for segment in found["segments"]:
        [target] = segment["targets"]
        assert (segment["source_segment_id"], target["target_language"]) == (
            target["target_segment_id"],
            "en",
        )


@pytest.mark.parametrize("query", [{"filter_text": "a"}, {"page_size": 101}, {"page_cursor": "x"}])
def test_a_page_of_segments_has_limits(
    http: httpx.Client, owner: dict[str, str], memory: str, query: dict[str, object]
) -> None:
    response = http.get(f"{ROOT}/{memory}/segments", params=query, headers=owner)  # type: ignore[arg-type]
    [field] = query
    status, message = error_of(response)
    assert (status, message.split(":")[0]) == (400, field)


def test_a_deleted_memory_and_one_of_another_key_are_unknown(
    http: httpx.Client, owner: dict[str, str], auth: dict[str, str], memory: str
) -> None:
    path = f"{ROOT}/{memory}"
    for method in ("GET", "DELETE"):
        assert error_of(http.request(method, path, headers=auth))[0] == 404

    assert http.delete(path, headers=owner).status_code == 204
    assert error_of(http.get(path, headers=owner))[0] == 404
    assert error_of(http.get(f"{ROOT}/{UNKNOWN}/segments", headers=owner))[0] == 404
    assert error_of(http.get(f"{ROOT}/invalid-uuid", headers=owner)) == (
        400,
        "Value for 'translation_memory_id' not supported.",
    )


def test_a_memory_translates_equal_texts_and_those_with_other_numbers(
    http: httpx.Client, owner: dict[str, str], memory: str
) -> None:
    texts = ["Guten Morgen.", "Seite 7 von 10", "Seite 7 von zehn"]
    found = {"Guten Morgen.": "Good morning.", "Seite 7 von 10": "Page 7 of 10"}
    for threshold, repaired in ((None, True), ("75", True), (100, False)):
        named = {} if threshold is None else {"translation_memory_threshold": threshold}
        for text in texts:
            answer = translate(
                http, owner, text=[text], source_lang="DE", translation_memory_id=memory, **named
            )
            is_found = text in found and (repaired or text == texts[0])
            assert answer["text"] == (found[text] if is_found else text.upper())


def test_a_document_is_translated_with_its_memory(
    http: httpx.Client, owner: dict[str, str], memory: str
) -> None:
    form = {"target_lang": "EN-US", "translation_memory_id": memory, "translation_memory_threshold": "75"}
    files = {"file": ("a.txt", b"Guten Morgen.\nSeite 7 von 10\nHallo\n")}
    sent = http.post("/v2/document", data=form, files=files, headers=owner).json()
    path, body = f"/v2/document/{sent['document_id']}", {"document_key": sent["document_key"]}
    until(lambda: http.post(path, json=body, headers=owner).json()["status"] == "done")

    assert (
        http.post(f"{path}/result", json=body, headers=owner).content
        == b"Good morning.\nPage 7 of 10\nHALLO\n"
    )


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        ({"translation_memory_id": UNKNOWN}, 404, "memory '96ab91fd-e715-41a1-adeb-5d701f84a483' not found"),
        ({"translation_memory_id": "legal"}, 400, "Value for 'translation_memory_id' not supported."),
        ({"translation_memory_threshold": 101}, 400, "translation_memory_threshold: must be at most 100"),
    ],
)
def test_a_memory_that_cannot_be_used_is_an_error(
    http: httpx.Client, auth: dict[str, str], fields: dict[str, object], status: int, message: str
) -> None:
    wanted = {"text": ["Hallo"], "target_lang": "EN", "source_lang": "DE", **fields}
    found, said = error_of(http.post("/v2/translate", json=wanted, headers=auth))
    assert (found, said) == (status, message)


def test_a_memory_of_other_languages_is_an_error(
    http: httpx.Client, owner: dict[str, str], memory: str
) -> None:
    wanted = {"text": ["Hallo"], "target_lang": "EN", "source_lang": "FR", "translation_memory_id": memory}
    assert error_of(http.post("/v2/translate", json=wanted, headers=owner))[0] == 400


TMX = (
    '<?xml version="1.0"?><tmx version="1.4"><header srclang="EN-us"/><body>'
    '<tu><tuv xml:lang="de"><seg>Hund &amp; Katze</seg></tuv>'
    '<tuv xml:lang="EN"><seg>dog &amp; cat</seg></tuv></tu>'
    '<tu><tuv xml:lang="en"><seg>house</seg></tuv><tuv xml:lang="de"><seg>Haus</seg></tuv></tu></body></tmx>'
)


def begin(http: httpx.Client, owner: dict[str, str], content: str = TMX, **parameters: str) -> dict[str, Any]:
    source = {"file_name": "legal.tmx", "content_length": len(content)}
    sent = {"source_file": source, "parameters": parameters}
    response = http.post(f"{ROOT}/import", json=sent, headers=owner)
    assert response.status_code == 202, response.text
    return dict(response.json())


def job_of(http: httpx.Client, owner: dict[str, str], job_id: str) -> dict[str, Any]:
    response = http.get(f"{ROOT}/jobs/{job_id}", headers=owner)
    assert response.status_code == 200, response.text
    return dict(response.json())


def imported(http: httpx.Client, owner: dict[str, str]) -> str:
    """The id of a memory that a job has imported."""
    begun = begin(http, owner, display_name="Legal")
    assert http.put(begun["upload_url"], content=TMX).status_code == 201
    return str(job_of(http, owner, begun["job_id"])["results"][0]["translation_memory_id"])


def test_an_import_waits_for_its_file_and_then_has_a_memory(
    http: httpx.Client, owner: dict[str, str]
) -> None:
    begun = begin(http, owner)
    waiting = job_of(http, owner, begun["job_id"])
    uploaded = http.put(begun["upload_url"], content=TMX, headers={"Content-Type": "application/xml"})
    done = job_of(http, owner, begun["job_id"])
    memory_id = done["results"][0]["translation_memory_id"]
    memory = http.get(f"{ROOT}/{memory_id}", headers=owner).json()

    assert waiting["results"] == [
        {"status": "awaiting_input", "status_metadata": {"required_action": "Waiting for upload"}}
    ]
    assert (waiting["product"], waiting["operation"]) == ("translation_memory", "import")
    assert waiting["source_file"] == {"content_type": "application/xml", "content_length": len(TMX)}
    assert uploaded.status_code == 201
    completed = {"status": "completed", "translation_memory_id": memory_id, "skipped_segment_count": 0}
    assert done["results"] == [completed]
    assert (memory["name"], memory["source_language"], memory["segment_count"]) == ("legal.tmx", "en", 2)
    assert memory["target_languages"][0] == "de"


def test_a_file_is_uploaded_once_and_a_damaged_one_may_be_sent_again(
    http: httpx.Client, owner: dict[str, str]
) -> None:
    begun = begin(http, owner, display_name="Legal")
    for content in ("no XML", TMX.replace('xml:lang="de"', 'xml:lang="en"').replace("EN-us", "fr"), "<tmx/>"):
        assert error_of(http.put(begun["upload_url"], content=content))[0] == 400, content
        assert job_of(http, owner, begun["job_id"])["results"][0]["status"] == "awaiting_input"

    assert http.put(begun["upload_url"], content=TMX).status_code == 201
    assert error_of(http.put(begun["upload_url"], content=TMX))[0] == 409
    assert len(http.get(ROOT, headers=owner).json()["translation_memories"]) == 1


def test_an_exported_memory_is_a_tmx_file_that_can_be_imported(
    http: httpx.Client, owner: dict[str, str]
) -> None:
    memory_id = imported(http, owner)
    begun = http.post(f"{ROOT}/{memory_id}/export", headers=owner)
    job = job_of(http, owner, begun.json()["job_id"])
    [result] = job["results"]
    exported = http.get(result["download_url"])

    assert (begun.status_code, begun.json()["parameters"]) == (202, {"translation_memory_id": memory_id})
    assert (job["operation"], result["status"]) == ("export", "completed")
    assert exported.headers["content-type"].startswith("application/xml")
    assert "<seg>dog &amp; cat</seg>" in exported.text
    begun_again = begin(http, owner, exported.text)
    assert http.put(begun_again["upload_url"], content=exported.text).status_code == 201
    found = http.get(ROOT, headers=owner).json()["translation_memories"]
    assert [each["segment_count"] for each in found] == [2, 2]


def test_jobs_belong_to_a_key_and_their_addresses_cannot_be_forged(
    http: httpx.Client, owner: dict[str, str], auth: dict[str, str]
) -> None:
    begun = begin(http, owner)
    forged = begun["upload_url"][:-4] + "AAAA"
    jobs = ("00000000-0000-0000-0000-000000000000", "x", begun["job_id"][:-4] + "AAAA")

    assert error_of(http.get(f"{ROOT}/jobs/{begun['job_id']}", headers=auth))[0] == 404
    assert error_of(http.put(forged, content=TMX))[0] == 404
    assert error_of(http.get(begun["upload_url"].replace("uploads", "downloads")))[0] == 404
    for job_id in jobs:
        assert error_of(http.get(f"{ROOT}/jobs/{job_id}", headers=owner))[0] == 404, job_id


def test_an_address_is_valid_for_an_hour(
    http: httpx.Client, owner: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = begin(http, owner)
    monkeypatch.setattr("service.api.deepl.transfers.LIFETIME_S", -1)

    assert error_of(http.put(begun["upload_url"], content=TMX))[0] == 404
    assert job_of(http, owner, begun["job_id"])["results"] == [{"status": "expired"}]


@pytest.mark.parametrize(
    ("source", "field"),
    [
        ({"file_name": "x" * 101, "content_length": 1}, "source_file.file_name"),
        ({"file_name": "x.tmx", "content_length": 0}, "source_file.content_length"),
        ({"file_name": "x.tmx", "content_length": 2**40}, "source_file.content_length"),
        ({"file_name": "x.tmx"}, "source_file.content_length"),
    ],
)
def test_an_import_that_cannot_be_is_rejected_by_field(
    http: httpx.Client, owner: dict[str, str], source: dict[str, object], field: str
) -> None:
    status, message = error_of(http.post(f"{ROOT}/import", json={"source_file": source}, headers=owner))
    assert (status, message.split(":")[0]) == (400, field)


def import_file(
    client: deepl.DeepLClient, file: Path, name: str | None = None
) -> tuple[TranslationMemoryJob, TranslationMemoryJobResult]:
    job = client.import_translation_memory_from_filepath(file, display_name=name)
    assert job.result is not None
    return job, job.result


def test_deepls_own_client_imports_uses_exports_and_deletes_a_memory(
    client_of: ClientOf, keys: Keys, tmp_path: Path
) -> None:
    client = client_of(keys.make())
    (tmp_path / "legal.tmx").write_text(TMX, encoding="utf-8")

    job, result = import_file(client, tmp_path / "legal.tmx", "Legal")
    [memory] = client.list_translation_memories()
    found = client.list_translation_memory_segments(memory, filter_text="Hund & K")
    [segment] = found.segments
    exports = [client.create_translation_memory_export(memory) for _ in range(2)]
    client.export_translation_memory_to_filepath(memory, tmp_path / "exported.tmx")
    _, again = import_file(client, tmp_path / "exported.tmx")
    read = client.get_translation_memory(str(again.translation_memory_id))

    assert result.translation_memory_id == memory.translation_memory_id
    assert (job.operation, result.skipped_segment_count) == ("import", 0)
    assert (memory.name, memory.source_language, memory.segment_count) == ("Legal", "en", 2)
    assert memory.creation_time is not None
    assert segment.source_text == "dog & cat"
    assert [(each.target_language, each.target_text) for each in segment.targets] == [("de", "Hund & Katze")]
    assert (found.segment_count, found.next_page_cursor) == (2, None)
    assert len({export.job_id for export in exports}) == 1
    assert [export.reused_existing for export in exports] == [False, True]
    assert (read.name, read.segment_count) == ("exported.tmx", 2)
    for each in (memory, read):
        client.delete_translation_memory(each)
    assert client.list_translation_memories() == []


def test_deepls_own_client_learns_which_segments_are_skipped_and_what_fails(
    client_of: ClientOf, keys: Keys, tmp_path: Path
) -> None:
    client = client_of(keys.make())
    file = tmp_path / "a.tmx"
    file.write_text(TMX.replace("<seg>house</seg>", "<seg> </seg>"), encoding="utf-8")
    _, skipping = import_file(client, file)
    file.write_text("no XML", encoding="utf-8")

    with pytest.raises(deepl.DeepLException, match="XML"):
        import_file(client, file)
    assert skipping.skipped_segment_count == 1
    with pytest.raises(deepl.DeepLException, match=r"memory .* not found"):
        client.get_translation_memory("96ab91fd-e715-41a1-adeb-5d701f84a483")


def test_deepls_own_client_translates_with_a_memory(client_of: ClientOf, keys: Keys, tmp_path: Path) -> None:
    client = client_of(keys.make())
    file = tmp_path / "a.tmx"
    file.write_text(TMX.replace('srclang="EN-us"', 'srclang="de"'), encoding="utf-8")
    memory = str(import_file(client, file)[1].translation_memory_id)

    for named in (memory, client.get_translation_memory(memory)):
        result = client.translate_text(
            "Hund & Katze",
            source_lang="DE",
            target_lang="EN-GB",
            translation_memory=named,
            translation_memory_threshold=90,
        )
        assert str(result) == "dog & cat"
