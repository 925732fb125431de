"""One server with several models: pairs, detours, memory, and new models while it runs."""

import json
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from dragoman import BundleError
from dragoman.routing.bundle_scan import bundle_folders
from dragoman.routing.router import Router
from service.settings import load_settings
from tests.routing.doubles import TIMEOUT_S, DoubleBundles, until, write_bundle
from tests.service.conftest import SIZE_BYTES, ServeModels, is_ready, listening, ready_client, translate

URL = "/v1/translate"


def error_of(response: httpx.Response) -> tuple[int, str, str]:
    error = response.json()["error"]
    return response.status_code, error["type"], error["message"]


def test_the_pair_decides_which_model_translates(serve_models: ServeModels) -> None:
    client = serve_models()

    assert translate(client, source="de", target="en") == {
        "model": "german",
        "translations": [
            {
                "text": "Hallo|german",
                "source": "de",
                "target": "en",
                "score": -0.5,
                "confidence": 0.5,
                "finish_reason": "stop",
            }
        ],
    }
    assert translate(client, source="cs", target="de")["model"] == "many"


def test_through_a_third_language_both_steps_are_told(serve_models: ServeModels) -> None:
    answer = translate(serve_models(), source="de", target="fr", num_hypotheses=2)

    assert answer == {
        "model": "german + french",
        "translations": [
            {
                "text": "Hallo|german|french",
                "source": "de",
                "target": "fr",
                "score": -0.75,
                "confidence": 0.25,
                "finish_reason": "stop",
                "alternatives": [{"text": "Hallo|german|french!", "score": -1.75}],
                "steps": [
                    {"model": "german", "source": "de", "target": "en", "score": -0.5},
                    {"model": "french", "source": "en", "target": "fr", "score": -0.25},
                ],
            }
        ],
    }


def test_no_texts_take_no_model_but_want_a_pair_that_is_served(serve_models: ServeModels) -> None:
    client = serve_models()

    assert translate(client, source="de", target="fr", text=[]) == {"model": None, "translations": []}
    refused = client.post("/v1/translate", json={"text": [], "source": "fr", "target": "de"})
    assert refused.status_code == 422


@pytest.mark.parametrize("name", ["c", "many"])
def test_a_model_may_be_asked_for(serve_models: ServeModels, models: Path, name: str) -> None:
    write_bundle(models / "d", "czech", ["cs"], ["de"])
    client = serve_models()

    assert translate(client, source="cs", target="de")["model"] == "czech"
    assert translate(client, source="cs", target="de", model=name)["model"] == "many"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"source": "fr", "target": "en"}, "source: this language is not served; served: "),
        ({"source": "de", "target": "it"}, "target: this language is not served; served: "),
        ({"source": "en", "target": "de"}, "target: no model translates from the source into this language"),
        ({"target": "en"}, "source: choose a language; served: de -> en, en -> fr, cs, de -> cs, de"),
        ({"source": "de"}, "target: choose a language; served: "),
        (
            {"source": "de", "target": "en", "model": "d"},
            "model: no such model; available are: a, b, c",
        ),
        (
            {"source": "de", "target": "fr", "model": "a"},
            "target: this language is not served; served: de -> en",
        ),
    ],
)
def test_a_pair_that_is_not_served_is_refused_naming_what_is(
    serve_models: ServeModels, body: dict[str, str], message: str
) -> None:
    response = serve_models().post(URL, json={"text": "Hallo"} | body)

    status, kind, told = error_of(response)
    assert (status, kind) == (422, "invalid_input")
    assert told.startswith(message)
    assert [problem["field"] for problem in response.json()["error"]["fields"]] == [message.partition(":")[0]]


def test_texts_that_cannot_be_translated_are_named_whether_the_model_was_open_or_not(
    serve_models: ServeModels,
) -> None:
    client = serve_models()

    for _ in range(2):
        response = client.post(URL, json={"text": ["a", "unusable"], "source": "de", "target": "fr"})

        assert response.status_code == 422
        assert response.json()["error"]["fields"] == [{"field": "text[1]", "problem": "is not usable"}]


def test_a_wish_beyond_the_model_is_named_whether_the_model_was_open_or_not(
    serve_models: ServeModels,
) -> None:
    client = serve_models()

    for _ in range(2):
        body = {"text": ["a", "b"], "source": "de", "target": "en", "num_hypotheses": 5}
        response = client.post(URL, json=body)

        assert response.status_code == 422
        assert [problem["field"] for problem in response.json()["error"]["fields"]] == ["num_hypotheses"]


def test_models_are_opened_on_first_use_and_told(serve_models: ServeModels, bundles: DoubleBundles) -> None:
    client = serve_models()
    assert bundles.names == []

    translate(client, source="de", target="en")

    listed = client.get("/v1/models").json()["models"]
    assert [(each["folder"], each["name"], each["is_loaded"]) for each in listed] == [
        ("a", "german", True),
        ("b", "french", False),
        ("c", "many", False),
    ]
    assert [(each["source"], each["target"]) for each in listed] == [("de", "en"), ("en", "fr"), (None, None)]
    assert (listed[2]["sources"], listed[2]["targets"]) == (["cs", "de"], ["cs", "de"])
    assert {each["memory_bytes"] for each in listed} == {SIZE_BYTES}


def test_languages_tell_what_each_reaches_and_how(serve_models: ServeModels) -> None:
    answer = serve_models().get("/v1/languages").json()

    assert answer == {
        "languages": [
            {
                "source": "cs",
                "reaches": [
                    {"way": "multilingual", "models": ["many"], "targets": ["de"]},
                    {"way": "pivot", "models": ["many", "german"], "targets": ["en"]},
                ],
            },
            {
                "source": "de",
                "reaches": [
                    {"way": "direct", "models": ["german"], "targets": ["en"]},
                    {"way": "multilingual", "models": ["many"], "targets": ["cs"]},
                    {"way": "pivot", "models": ["german", "french"], "targets": ["fr"]},
                ],
            },
            {"source": "en", "reaches": [{"way": "direct", "models": ["french"], "targets": ["fr"]}]},
        ]
    }


def test_hundreds_of_languages_are_told_shortly(tmp_path: Path, bundles: DoubleBundles) -> None:
    codes = [f"x{number:03}" for number in range(200)]
    folder = write_bundle(tmp_path / "hundreds", "hundreds", codes, codes)
    with (
        Router(lambda: {"hundreds": folder}, bundles.open, lambda _: 1) as router,
        ready_client(router) as client,
    ):
        answer = client.get("/v1/languages")

    assert len(answer.content) < 500_000
    languages = answer.json()["languages"]
    assert len(languages) == 200
    assert [len(each["reaches"][0]["targets"]) for each in languages] == [199] * 200


def test_two_models_with_room_for_one_take_turns(serve_models: ServeModels, bundles: DoubleBundles) -> None:
    client = serve_models(budget_bytes=SIZE_BYTES)

    def ask(number: int) -> str:
        source, target = (("de", "en"), ("en", "fr"), ("de", "fr"))[number % 3]
        answer = translate(client, source=source, target=target)
        text: str = answer["translations"][0]["text"]
        return text

    with ThreadPoolExecutor(6) as clients:
        texts = list(clients.map(ask, range(30)))

    assert texts == ["Hallo|german", "Hallo|french", "Hallo|german|french"] * 10
    assert len(bundles.open_names) == 1


def test_without_room_in_time_the_client_may_come_back(
    serve_models: ServeModels, bundles: DoubleBundles
) -> None:
    client = serve_models(budget_bytes=SIZE_BYTES, request_timeout_s=1.5)
    with ThreadPoolExecutor(1) as other:
        in_use = other.submit(client.post, URL, json={"text": "wait", "source": "de", "target": "en"})
        until(lambda: bool(bundles.opened) and bundles.named("german").is_waiting.is_set())

        refused = client.post(URL, json={"text": "Hallo", "source": "en", "target": "fr"})

        bundles.named("german").released.set()
        in_use.result(TIMEOUT_S)
    status, kind, message = error_of(refused)
    assert (status, kind) == (503, "no_room")
    assert message.startswith("model b needs about 10 bytes of memory")
    assert int(refused.headers["retry-after"]) > 0


def test_a_model_that_cannot_be_opened_is_the_servers_fault(
    serve_models: ServeModels, bundles: DoubleBundles, caplog: pytest.LogCaptureFixture
) -> None:
    client = serve_models()
    bundles.failure = BundleError("/secret/place/a", ("decoder.onnx is damaged",))

    for _ in range(2):
        failed = client.post(URL, json={"text": "Hallo", "source": "de", "target": "en"})

        assert error_of(failed) == (
            500,
            "internal",
            "the model cannot be opened; the server's log says why",
        )
    assert "/secret/place/a: decoder.onnx is damaged" in caplog.text


def test_waiting_for_one_model_holds_up_no_other(serve_models: ServeModels, bundles: DoubleBundles) -> None:
    client = serve_models()
    translate(client, source="de", target="en")
    bundles.may_open.clear()
    with ThreadPoolExecutor(8) as others:
        body = {"text": ["Hallo"] * 3, "source": "en", "target": "fr"}
        waiting = [others.submit(client.post, URL, json=body) for _ in range(8)]
        until(lambda: bundles.num_opening == 2)

        assert translate(client, source="de", target="en")["model"] == "german"
        assert client.get("/v1/models").status_code == 200
        assert not any(answer.done() for answer in waiting)

        bundles.may_open.set()
        assert {answer.result(TIMEOUT_S).status_code for answer in waiting} == {200}
    assert bundles.num_opening == 2


def test_a_client_that_hangs_up_while_a_model_is_opened_is_forgotten(
    models: Path, bundles: DoubleBundles
) -> None:
    with (
        Router(lambda: bundle_folders(models), bundles.open, lambda _: SIZE_BYTES) as router,
        listening(router, load_settings()) as address,
        httpx.Client(base_url=address, timeout=TIMEOUT_S) as client,
    ):
        bundles.may_open.clear()
        hasty = HTTPConnection(urlsplit(address).netloc)
        body = json.dumps({"text": "Hallo", "source": "de", "target": "en"})
        hasty.request("POST", URL, body, {"Content-Type": "application/json"})
        until(lambda: bool(router._pool._waiters))  # else it might be gone before it was heard
        hasty.close()
        until(lambda: not router._pool._waiters)

        bundles.may_open.set()
        translate(client, source="de", target="en", text="Welt")

        assert [text for text, _ in bundles.named("german").seen] == ["Welt"]


def test_several_models_are_ready_at_once_and_preloaded_ones_are_warmed_up(
    serve_models: ServeModels, bundles: DoubleBundles
) -> None:
    serve_models(preload="a,many")

    assert sorted(bundles.names) == ["german", "many"]
    assert [text for text, _ in bundles.named("many").seen] == ["Guten Morgen."]
    assert bundles.named("many").pairs == [("cs", "de")]


def test_until_every_preloaded_model_is_warm_the_server_is_not_ready(
    models: Path, bundles: DoubleBundles, caplog: pytest.LogCaptureFixture
) -> None:
    bundles.failure = BundleError("b", ("is damaged",))
    with (
        Router(lambda: bundle_folders(models), bundles.open, lambda _: SIZE_BYTES) as router,
        listening(router, load_settings(overrides={"preload": "b"})) as address,
        httpx.Client(base_url=address, timeout=TIMEOUT_S) as client,
    ):
        until(lambda: "the server is not ready" in caplog.text)

        assert not is_ready(client)
        assert client.get("/healthz").status_code == 200
