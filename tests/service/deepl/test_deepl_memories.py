"""Translation memories as DeepL's clients see and use them."""

from typing import Any

import httpx
import pytest

from tests.engine.routing.doubles import until
from tests.service.deepl.conftest import auth_of, error_of, translate
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
