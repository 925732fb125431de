"""Import and export of translation memories by jobs, as DeepL's clients do it."""

from pathlib import Path
from typing import Any

import deepl
import httpx
import pytest
from deepl.api_data import TranslationMemoryJob, TranslationMemoryJobResult

from tests.service.deepl.conftest import ClientOf, auth_of, error_of
from tests.service.keys import Keys

ROOT = "/v3/translation_memories"
TMX = (
    '<?xml version="1.0"?><tmx version="1.4"><header srclang="EN-us"/><body>'
    '<tu><tuv xml:lang="de"><seg>Hund &amp; Katze</seg></tuv>'
    '<tuv xml:lang="EN"><seg>dog &amp; cat</seg></tuv></tu>'
    '<tu><tuv xml:lang="en"><seg>house</seg></tuv><tuv xml:lang="de"><seg>Haus</seg></tuv></tu></body></tmx>'
)


@pytest.fixture
def owner(keys: Keys) -> dict[str, str]:
    """The header of a key without memories."""
    return auth_of(keys.make())


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
