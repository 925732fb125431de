"""What load balancers and explorers ask for."""

import json
import socket
import threading
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from service.translation import inference
from tests.routing.doubles import until
from tests.service.doubles import DoubleTranslator

Serve = Callable[..., httpx.Client]


def test_models_tells_what_the_manifest_says(client: httpx.Client) -> None:
    response = client.get("/v1/models")

    assert response.json() == {
        "models": [
            {
                "name": "tiny-de-en",
                "folder": "tiny",
                "source": "de",
                "target": "en",
                "sources": ["de"],
                "targets": ["en"],
                "precision": "int8",
                "limits": {"max_source_tokens": 256, "max_target_tokens": 200},
                "sizes": {
                    "decoder_layers": 2,
                    "heads": 4,
                    "head_size": 16,
                    "source_vocab": 1000,
                    "target_vocab": 1200,
                },
                "size_bytes": 1000
                * len("encoder.onnx decoder.onnx source.model target.model".replace(" ", "")),
                "is_loaded": True,
                "memory_bytes": 1,
                "licence": "CC-BY-4.0",
                "scores": {"captions": {"bleu": 31.5}},
            }
        ]
    }


def test_until_it_has_translated_a_server_is_alive_but_not_ready(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inference, "WARM_UP_TEXT", "wait")

    client = serve(await_ready=False)

    assert client.get("/healthz").json() == {"status": "alive"}
    assert client.get("/v1/models").status_code == 200
    not_ready = client.get("/readyz")
    assert not_ready.status_code == 503
    assert not_ready.json()["error"]["type"] == "not_ready"
    refused = client.post("/v1/translate", json={"text": "a"})
    assert refused.status_code == 503
    assert int(refused.headers["retry-after"]) > 0


def test_a_server_that_has_translated_is_ready(client: httpx.Client) -> None:
    response = client.get("/readyz")

    assert response.status_code == 200
    assert response.json() == {"status": "ready"}


@pytest.mark.parametrize("warm_up_text", ["explode", "unusable"])
def test_a_server_whose_warm_up_fails_says_why_and_never_gets_ready(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, warm_up_text: str
) -> None:
    monkeypatch.setattr(inference, "WARM_UP_TEXT", warm_up_text)

    client = serve(await_ready=False)
    while not caplog.records:
        assert client.get("/readyz").status_code == 503

    assert "the server is not ready" in caplog.text
    assert client.get("/readyz").status_code == 503
    assert client.get("/healthz").status_code == 200


def test_a_text_under_way_blocks_neither_health_nor_other_texts(
    serve: Serve, is_waiting: threading.Event, released: threading.Event
) -> None:
    client = serve()
    answers: list[httpx.Response] = []
    patient = threading.Thread(
        target=lambda: answers.append(client.post("/v1/translate", json={"text": "wait"}))
    )

    patient.start()
    assert is_waiting.wait(10)

    assert client.get("/healthz").status_code == 200
    assert client.post("/v1/translate", json={"text": "a"}).status_code == 200
    assert not answers

    released.set()
    patient.join(10)
    assert [answer.status_code for answer in answers] == [200]


def ask_and_hang_up(client: httpx.Client, texts: list[str], is_under_way: Callable[[], bool]) -> None:
    """A client that closes its connection while the server translates."""
    address = (client.base_url.host, client.base_url.port or 80)
    body = json.dumps({"text": texts}).encode()
    head = (
        f"POST /v1/translate HTTP/1.1\r\nHost: {address[0]}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection(address) as connection:
        connection.sendall(head.encode() + body)
        until(is_under_way)


def test_a_client_that_hangs_up_cancels_its_texts_and_no_others(
    serve: Serve, translator: DoubleTranslator, caplog: pytest.LogCaptureFixture
) -> None:
    client = serve()
    answers: list[httpx.Response] = []
    patient = threading.Thread(
        target=lambda: answers.append(client.post("/v1/translate", json={"text": "wait, mine"}))
    )
    patient.start()
    until(lambda: [text for text, _ in translator.seen] == ["wait, mine"])

    ask_and_hang_up(client, ["a", "wait 1", "wait 2"], lambda: len(translator.seen) == 4)

    until(lambda: sorted(translator.cancelled) == ["wait 1", "wait 2"])
    translator.released.set()
    patient.join(10)
    assert [answer.status_code for answer in answers] == [200]
    assert client.post("/v1/translate", json={"text": "b"}).status_code == 200
    assert "failed" not in caplog.text


def test_one_text_that_fails_cancels_the_others_of_its_request(
    serve: Serve, translator: DoubleTranslator
) -> None:
    client = serve()

    failed = client.post("/v1/translate", json={"text": ["wait", "explode"]})

    assert failed.status_code == 500
    until(lambda: translator.cancelled == ["wait"])


def test_a_full_queue_is_said_with_its_numbers_and_when_to_come_back(
    serve: Serve, translator: DoubleTranslator
) -> None:
    client = serve()

    refused = client.post("/v1/translate", json={"text": ["wait", "full", "a"]})

    assert refused.status_code == 429
    assert refused.json()["error"] == {
        "type": "overloaded",
        "message": "8 segments are queued, and 2 more exceed the limit of 9 (three quarters for large "
        "requests, half for one caller); try again later",
        "fields": [],
    }
    assert int(refused.headers["retry-after"]) > 0
    until(lambda: translator.cancelled == ["wait"])
    assert [text for text, _ in translator.seen] == ["wait", "full"]


def test_a_request_that_takes_too_long_is_given_up(serve: Serve, translator: DoubleTranslator) -> None:
    client = serve(request_timeout_s=1.5)

    late = client.post("/v1/translate", json={"text": ["late", "wait"]})

    assert late.status_code == 504
    assert late.json()["error"]["type"] == "timeout"
    assert "did not finish within 1.5 s" in late.json()["error"]["message"]
    assert [request.deadline.timeout_s for request in translator.requests] == [1.5, 1.5]
    until(lambda: translator.cancelled == ["wait"])


def test_eight_clients_at_once_get_their_own_translations(client: httpx.Client) -> None:
    problems: list[object] = []

    def ask(name: str) -> None:
        for number in range(20):
            texts = [f"{name} {number}", f"{name} again"]
            answer = client.post("/v1/translate", json={"text": texts}).json()
            got = [item["text"] for item in answer["translations"]]
            if got != [text.upper() for text in texts]:
                problems.append(got)

    threads = [threading.Thread(target=ask, args=(f"client-{letter}",)) for letter in "abcdefgh"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert problems == []


def test_every_operation_documents_its_purpose_and_its_errors(client: httpx.Client) -> None:
    document = client.get("/openapi.json").json()
    error = "#/components/schemas/ErrorResponse"

    documented: dict[str, set[str]] = {}
    prefixes = ("/v1/", "/healthz", "/readyz")
    ours = {path: each for path, each in document["paths"].items() if path.startswith(prefixes)}
    for path, operations in ours.items():
        for method, operation in operations.items():
            assert operation["summary"], path
            assert operation["description"], path
            failures = {code: each for code, each in operation["responses"].items() if code >= "400"}
            documented[f"{method} {path}"] = set(failures)
            for failure in failures.values():
                assert failure["content"]["application/json"]["schema"] == {"$ref": error}

    works = {"400", "401", "403", "408", "413", "415", "422", "429", "500", "503", "504"}
    of_jobs = {name: documented.pop(name) for name in list(documented) if " /v1/jobs" in name}
    assert len(of_jobs) == 7
    assert all({"401", "403", "429", "500", "503"} <= failures for failures in of_jobs.values())
    assert documented == {
        "post /v1/translate": works,
        "post /v1/translate/stream": works,
        "post /v1/score": works,
        "post /v1/detect": works - {"504"},
        "get /v1/models": {"500"},
        "get /v1/languages": {"500"},
        "get /healthz": set(),
        "get /readyz": {"503"},
    }
    assert document["components"]["schemas"]["TranslateRequest"]["examples"]


def test_every_field_is_described(client: httpx.Client) -> None:
    schemas: dict[str, dict[str, Any]] = client.get("/openapi.json").json()["components"]["schemas"]

    for name in ("TranslateRequest", "TranslationOut", "StepOut", "ReachOut", "ErrorBody", "FieldProblem"):
        for field, schema in schemas[name]["properties"].items():
            assert schema.get("description"), f"{name}.{field}"


def test_text_is_documented_as_a_string_or_a_list_of_strings(client: httpx.Client) -> None:
    schemas = client.get("/openapi.json").json()["components"]["schemas"]

    text = schemas["TranslateRequest"]["properties"]["text"]
    assert text["oneOf"] == [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]


def test_documented_examples_are_accepted(client: httpx.Client) -> None:
    schemas = client.get("/openapi.json").json()["components"]["schemas"]

    for example in schemas["TranslateRequest"]["examples"]:
        assert client.post("/v1/translate", json=example).status_code == 200, example


@pytest.mark.parametrize("field", ["beam_size", "length_penalty", "early_stopping"])
def test_what_a_model_may_decide_itself_is_documented_as_that(client: httpx.Client, field: str) -> None:
    schemas = client.get("/openapi.json").json()["components"]["schemas"]

    documented = schemas["TranslateRequest"]["properties"][field]
    assert {"type": "null"} in documented["anyOf"]
    assert documented.get("default") is None
    assert "Null: the model's default." in documented["description"]
    assert client.post("/v1/translate", json={"text": "ja", field: None}).status_code == 200
