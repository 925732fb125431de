"""Translation memories of every API: stored, used in translations, filled by suggestions."""

import logging
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from service.memories.memory_service import MAX_SEARCHED_TEXTS
from tests.service.conftest import Serve, Served, double_server, events_of, translate
from tests.service.doubles import DoubleTranslator
from tests.service.keys import Keys

PAIRS = [
    {"source": "Guten Morgen, {name}.", "target": "Good morning, {name}."},
    {"source": "Gute Nacht.", "target": "Good night."},
]
TMX = (
    '<tmx version="1.4"><header srclang="de"/><body>'
    '<tu><tuv xml:lang="de"><seg>Hund</seg></tuv><tuv xml:lang="en"><seg>dog</seg></tuv></tu>'
    '<tu><tuv xml:lang="de"><seg>Katze</seg></tuv></tu></body></tmx>'
)
ROOT = "/v1/memories"
NEW = {"name": "x", "source": "de", "target": "en"}


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return Keys(f"sqlite:///{tmp_path_factory.mktemp('accounts') / 'accounts.db'}")


@pytest.fixture(scope="module")
def shared_server(keys: Keys, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    switches = {"suggestions": "on", "detection": "on"}
    with double_server(tmp_path_factory.mktemp("shared"), database_url=keys.url, **switches) as shared:
        yield shared


@pytest.fixture
def client(shared_server: Served, keys: Keys) -> httpx.Client:
    """Of a key with no memories yet."""
    shared_server[0].headers.update(keys.bearer())
    return shared_server[0]


def translations(client: httpx.Client, **fields: Any) -> list[dict[str, Any]]:
    return list(translate(client, **fields)["translations"])


def create(client: httpx.Client, pairs: Any = PAIRS, **changes: Any) -> dict[str, Any]:
    sent = {**NEW, "pairs": pairs, **changes}
    response = client.post(ROOT, json=sent)
    assert response.status_code == 201, response.text
    return dict(response.json())


def rejection(response: httpx.Response) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["message"]


def test_a_memory_is_created_listed_read_changed_and_deleted(client: httpx.Client) -> None:
    made = create(client)
    assert (made["num_pairs"], made["version"], made["num_skipped"]) == (2, 1, 0)
    path = f"{ROOT}/{made['id']}"
    shown = {name: value for name, value in made.items() if name != "num_skipped"}
    assert client.get(ROOT).json() == {"memories": [shown]}
    assert client.get(path).json() == shown

    first = client.get(f"{path}/pairs", params={"limit": 1}).json()
    second = client.get(f"{path}/pairs", params={"limit": 1, "cursor": first["next_cursor"]}).json()
    found = [*first["pairs"], *second["pairs"]]
    assert sorted(pair["source"] for pair in found) == sorted(pair["source"] for pair in PAIRS)
    assert second["next_cursor"] is None

    added = client.post(f"{path}/pairs", json={"pairs": [{"source": "Hund", "target": "dog"}]}).json()
    assert (added["num_pairs"], added["version"]) == (3, 2)
    assert client.delete(f"{path}/pairs/{found[0]['id']}").json()["num_pairs"] == 2
    assert client.delete(path).status_code == 204
    assert rejection(client.get(path)) == (404, f"memory '{made['id']}' not found")


def test_a_tmx_file_is_read_and_skipped_units_are_counted(client: httpx.Client) -> None:
    made = client.post(ROOT, data=NEW, files={"file": ("a.tmx", TMX)}).json()
    assert (made["num_pairs"], made["num_skipped"]) == (1, 1)

    path = f"{ROOT}/{made['id']}/pairs"
    added = client.post(path, files={"file": ("b.tmx", TMX.replace("Hund", "Wal"))}).json()
    assert (added["num_pairs"], added["num_skipped"]) == (2, 1)


ALL_PAIRS = "Pairs; of several with equal sources, the last one counts. A form has a TMX `file` instead."


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"name": ""}, "name: is missing. Name for people; several memories may have the same one."),
        ({"source": "d e"}, "source: is not a language code such as de or pt-BR"),
        ({"pairs": None}, f"pairs: is missing. {ALL_PAIRS}"),
        ({"pairs": "x"}, "pairs: must be an array"),
        ({"pairs": [{"source": "a"}]}, "pairs[0].target: is missing"),
        ({"pairs": [*PAIRS, 1]}, "pairs[2]: must be an object"),
        ({"pairs": [{"source": "a", "target": "b", "id": 1}]}, "pairs[0].id: is not known"),
        ({"pairs": [{"source": "a", "target": 1}]}, "pairs[0].target: must be a string"),
        ({"pairs": [*PAIRS, {"source": " ", "target": "b"}]}, "pairs[2].source: is empty; send a text"),
        ({"more": 1}, "more: is not known; known are pairs, name, source, target"),
    ],
)
def test_a_bad_field_is_named(client: httpx.Client, changes: dict[str, Any], problem: str) -> None:
    sent = {**NEW, "pairs": PAIRS, **changes}
    assert rejection(client.post(ROOT, json=sent)) == (422, problem)


def test_a_damaged_tmx_file_is_rejected(client: httpx.Client) -> None:
    status, problem = rejection(client.post(ROOT, data=NEW, files={"file": ("a.tmx", "<tmx>")}))
    assert status == 422
    assert problem.startswith("file: not well-formed XML")


def test_an_equal_text_gets_the_translation_of_the_memory(
    client: httpx.Client, double: DoubleTranslator
) -> None:
    memory = create(client)["id"]
    double.seen.clear()

    known, unknown = translations(client, text=[" Gute  Nacht.\n", "warum"], memory=memory)

    assert known["text"] == " Good night.\n"
    assert known["memory"] == {"match": "exact", "similar": []}
    assert (known["source"], known["target"], known["finish_reason"]) == ("de", "en", "copied")
    assert unknown["text"] == "WARUM"
    assert unknown["memory"] == {"match": "none", "similar": []}
    assert [text for text, _ in double.seen] == ["warum"]


def test_similar_pairs_are_offered_with_their_scores(client: httpx.Client) -> None:
    memory = create(client)["id"]

    [found] = translations(client, text="Gute Nacht!", memory=memory, source="de", target="en")
    [none] = translations(client, text="Gute Nacht!", memory=memory, memory_matches=0)

    assert found["text"] == "GUTE NACHT!"
    score = round(20 / 22, 4)
    similar = [{"source": "Gute Nacht.", "target": "Good night.", "score": score}]
    assert found["memory"] == {"match": "none", "similar": similar}
    assert none["memory"] == {"match": "none", "similar": []}


def test_a_stream_ends_with_the_matches(client: httpx.Client) -> None:
    memory = create(client)["id"]

    response = client.post("/v1/translate/stream", json={"text": ["Gute Nacht."], "memory": memory})

    [(name, done)] = events_of(response)
    assert name == "done"
    [translation] = done["translations"]
    assert (translation["text"], translation["memory"]["match"]) == ("Good night.", "exact")


@pytest.mark.parametrize(
    ("fields", "status", "problem"),
    [
        ({"memory": "nothing"}, 404, "memory 'nothing' not found"),
        ({"source": "fr"}, 422, "source: is fr, but the memory is for de -> en; use another one"),
        (
            {"text": ["a"] * (MAX_SEARCHED_TEXTS + 1)},
            422,
            "memory_matches: must be 0 for more than 100 texts; the request has 101",
        ),
    ],
)
def test_a_memory_that_does_not_fit_is_rejected(
    client: httpx.Client, fields: dict[str, Any], status: int, problem: str
) -> None:
    memory = create(client)["id"]
    sent = {"text": "warum", "memory": memory, **fields}
    assert rejection(client.post("/v1/translate", json=sent)) == (status, problem)


def test_a_suggestion_is_found_by_the_next_translation(client: httpx.Client) -> None:
    suggestion = {"text": "warum", "translation": "why", "source": "de", "target": "en"}

    made = client.post("/v1/suggestions", json=suggestion)

    assert made.status_code == 201
    assert (made.json()["name"], made.json()["num_pairs"]) == ("suggestions", 1)
    [translation] = translations(client, text="warum", memory=made.json()["id"])
    assert translation["text"] == "why"


def test_a_threshold_uses_pairs_that_differ_only_in_numbers_and_says_which(client: httpx.Client) -> None:
    pair = {"source": "Seite 5 von 10", "target": "Page 5 of 10"}
    memory = create(client, [pair])["id"]
    texts = ["Seite 7 von 10", "Seite 5 von 10", "Seite 7 von zehn"]

    one, equal, none = translations(client, text=texts, memory=memory, memory_threshold=75, memory_matches=0)
    [exact_only] = translations(client, text=texts[0], memory=memory, memory_matches=0)

    assert (one["text"], one["finish_reason"], one["memory"]["match"]) == (
        "Page 7 of 10",
        "copied",
        "repaired",
    )
    assert one["memory"]["repaired"] == {**pair, "score": 0.9286}
    assert equal["memory"] == {"match": "exact", "similar": []}
    assert none["memory"] == exact_only["memory"] == {"match": "none", "similar": []}


def test_libretranslates_suggestions_are_in_the_same_memory(client: httpx.Client) -> None:
    assert client.get("/frontend/settings").json()["suggestions"] is True
    sent = {"q": "warum", "s": "why", "source": "de", "target": "en"}

    for form in ({"data": sent}, {"json": sent}, {"json": {**sent, "source": "auto"}}):
        stored = client.post("/suggest", **form)  # type: ignore[arg-type]
        assert (stored.status_code, stored.json()) == (200, {"success": True})

    [memory] = client.get(ROOT).json()["memories"]
    expected = {"name": "suggestions", "source": "de", "target": "en", "num_pairs": 1}
    assert memory | expected == memory


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"s": ""}, "Invalid request: missing s parameter"),
        ({"source": "zz"}, "zz is not supported"),
        (
            {"source": "auto", "q": "42"},
            "Invalid request: the language of q cannot be detected; name it as source",
        ),
        ({"s": "x" * 10_001}, "Invalid request: has 10001 characters; the limit is 10000"),
    ],
)
def test_libretranslates_suggestions_are_rejected_in_its_words(
    client: httpx.Client, changes: dict[str, str], problem: str
) -> None:
    sent = {"q": "warum", "s": "why", "source": "de", "target": "en", **changes}
    rejected = client.post("/suggest", data=sent)
    assert (rejected.status_code, rejected.json()) == (400, {"error": problem})


def test_suggestions_are_off_unless_the_operator_wants_them(serve: Serve, keys: Keys) -> None:
    client = serve(database_url=keys.url)
    suggestion = {"text": "warum", "translation": "why", "source": "de", "target": "en"}

    rejected = client.post("/v1/suggestions", json=suggestion)

    assert rejected.status_code == 403
    assert client.get(ROOT).json() == {"memories": []}


def test_no_text_of_a_memory_is_logged(client: httpx.Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        memory = create(client)["id"]
        translate(client, text=["Gute Nacht.", "Gute Nacht!"], memory=memory)
        client.post(ROOT, json={**NEW, "pairs": [{"source": "Gute Nacht."}]})
    assert "Nacht" not in caplog.text
