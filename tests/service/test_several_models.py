"""One server with several models: pairs, detours, memory, and models that change while it runs."""

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dragoman import BundleError, DragomanError, KernelsError
from tests.engine.routing.doubles import TIMEOUT_S, DoubleBundles, replace_bundle, until, write_bundle
from tests.service.conftest import SIZE_BYTES, Serve, fields_of, rejection, translate

URL = "/v1/translate"
DE_EN, EN_FR, DE_FR = (
    dict(zip(("source", "target"), pair.split(), strict=True)) for pair in ("de en", "en fr", "de fr")
)


def test_the_pair_decides_which_model_translates(serve_models: Serve) -> None:
    client = serve_models()

    quality = {"score": -0.5, "confidence": 0.5, "finish_reason": "stop"}
    assert translate(client, **DE_EN) == {
        "model": "german",
        "translations": [{"text": "Hallo|german", **DE_EN, **quality}],
    }
    assert translate(client, source="cs", target="de")["model"] == "many"


def test_through_a_third_language_both_steps_are_reported(serve_models: Serve) -> None:
    answer = translate(serve_models(), **DE_FR, num_hypotheses=2)

    quality = {"score": -0.75, "confidence": 0.25, "finish_reason": "stop"}
    alternatives = [{"text": "Hallo|german|french!", "score": -1.75}]
    steps = [{"model": "german", **DE_EN, "score": -0.5}, {"model": "french", **EN_FR, "score": -0.25}]
    found = {**DE_FR, **quality, "alternatives": alternatives, "steps": steps}
    expected = {"text": "Hallo|german|french", **found}
    assert answer == {"model": "german + french", "translations": [expected]}


def test_no_texts_take_no_model_but_want_a_pair_that_is_served(serve_models: Serve) -> None:
    client = serve_models()

    assert translate(client, **DE_FR, text=[]) == {"model": None, "translations": []}
    refused = client.post(URL, json={"text": [], "source": "fr", "target": "de"})
    assert refused.status_code == 422


@pytest.mark.parametrize("name", ["c", "many"])
def test_a_model_may_be_requested_by_name(serve_models: Serve, models: Path, name: str) -> None:
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
        ({**DE_EN, "model": "d"}, "model: no such model; available are: a, b, c"),
        ({**DE_FR, "model": "a"}, "target: this language is not served; served: de -> en"),
    ],
)
def test_a_pair_that_is_not_served_is_rejected_naming_what_is(
    serve_models: Serve, body: dict[str, str], message: str
) -> None:
    response = serve_models().post(URL, json={"text": "Hallo"} | body)

    assert fields_of(response) == [message.partition(":")[0]]
    assert response.json()["error"]["message"].startswith(message)


@pytest.mark.parametrize(
    ("body", "field"),
    [({"text": ["a", "unusable"], **DE_FR}, "text[1]"), ({"num_hypotheses": 5, **DE_EN}, "num_hypotheses")],
)
def test_the_faulty_field_is_named_with_open_and_closed_models(
    serve_models: Serve, body: dict[str, object], field: str
) -> None:
    client = serve_models()

    for _ in range(2):
        assert fields_of(client.post(URL, json={"text": ["a", "b"], **body})) == [field]


def test_models_are_opened_on_first_use_and_reported(serve_models: Serve, bundles: DoubleBundles) -> None:
    client = serve_models()
    assert bundles.names == []

    translate(client, **DE_EN)

    names = ("folder", "name", "is_loaded", "source", "target")
    listed = client.get("/v1/models").json()["models"]
    assert [tuple(each[name] for name in names) for each in listed] == [
        ("a", "german", True, "de", "en"),
        ("b", "french", False, "en", "fr"),
        ("c", "many", False, None, None),
    ]
    assert (listed[2]["sources"], listed[2]["targets"]) == (["cs", "de"], ["cs", "de"])
    assert {each["memory_bytes"] for each in listed} == {SIZE_BYTES}
    reported = [(each["kernels"], each["why_not_native"]) for each in listed]
    assert reported == [("doubled", "it is a double"), (None, None), (None, None)]


def test_languages_tell_what_each_reaches_and_how(serve_models: Serve) -> None:
    languages = serve_models().get("/v1/languages").json()["languages"]

    reported = [
        (each["source"], reach["way"], reach["models"], reach["targets"])
        for each in languages
        for reach in each["reaches"]
    ]
    assert reported == [
        ("cs", "multilingual", ["many"], ["de"]),
        ("cs", "pivot", ["many", "german"], ["en"]),
        ("de", "direct", ["german"], ["en"]),
        ("de", "multilingual", ["many"], ["cs"]),
        ("de", "pivot", ["german", "french"], ["fr"]),
        ("en", "direct", ["french"], ["fr"]),
    ]


def test_without_room_in_time_the_client_may_come_back(serve_models: Serve, bundles: DoubleBundles) -> None:
    client = serve_models(budget_bytes=SIZE_BYTES, request_timeout_s=1)
    with ThreadPoolExecutor(1) as other:
        in_use = other.submit(client.post, URL, json={"text": "wait", **DE_EN})
        until(lambda: bool(bundles.opened) and bundles.named("german").is_waiting.is_set())

        refused = client.post(URL, json={"text": "Hallo", **EN_FR})

        bundles.named("german").released.set()
        in_use.result(TIMEOUT_S)
    assert rejection(refused) == (503, "no_room")
    assert "model b needs about 10 bytes of memory" in refused.text
    assert int(refused.headers["retry-after"]) > 0


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (
            BundleError("/secret/place/a", ("decoder.onnx is damaged",)),
            "/secret/place/a: decoder.onnx is damaged",
        ),
        (
            KernelsError("native", "/secret/place/a", "no compiler"),
            "/secret/place/a: the native kernels cannot",
        ),
    ],
)
def test_a_model_that_cannot_be_opened_is_the_servers_fault(
    serve_models: Serve,
    bundles: DoubleBundles,
    caplog: pytest.LogCaptureFixture,
    failure: DragomanError,
    message: str,
) -> None:
    client = serve_models()
    bundles.failure = failure

    for _ in range(2):
        failed = client.post(URL, json={"text": "Hallo", **DE_EN})
        assert rejection(failed) == (500, "internal")
        assert "the model cannot be opened; the server's log says why" in failed.text
    assert message in caplog.text


def test_waiting_for_one_model_holds_up_no_other(serve_models: Serve, bundles: DoubleBundles) -> None:
    client = serve_models()
    translate(client, **DE_EN)
    bundles.may_open.clear()
    with ThreadPoolExecutor(8) as others:
        waiting = [others.submit(client.post, URL, json={"text": ["Hallo"] * 3, **EN_FR}) for _ in range(8)]
        until(lambda: bundles.num_opening == 2)

        assert translate(client, **DE_EN)["model"] == "german"
        assert client.get("/v1/models").status_code == 200
        assert not any(answer.done() for answer in waiting)

        bundles.may_open.set()
        assert {answer.result(TIMEOUT_S).status_code for answer in waiting} == {200}
    assert bundles.num_opening == 2


def test_several_models_are_ready_at_once_and_preloaded_ones_are_warmed_up(
    serve_models: Serve, bundles: DoubleBundles
) -> None:
    serve_models(preload="a,many")

    assert sorted(bundles.names) == ["german", "many"]
    assert [text for text, _ in bundles.named("many").seen] == ["Guten Morgen."]
    assert bundles.named("many").pairs == [("cs", "de")]


def test_clients_may_request_a_reload_only_if_the_operator_allows_it(serve_models: Serve) -> None:
    client = serve_models()

    assert client.post("/v1/models/reload").status_code == 404
    assert "/v1/models/reload" not in client.get("/openapi.json").json()["paths"]


def test_a_scan_finds_what_has_changed(
    serve_models: Serve, models: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    client = serve_models(reload_endpoint=True)
    before = client.get("/v1/languages").json()["languages"]
    assert [each["source"] for each in before] == ["cs", "de", "en"]
    write_bundle(models / "d", "polish", ["pl"], ["fr"])
    replace_bundle(models / "a", "german 2")
    shutil.rmtree(models / "c")
    (models / "e").mkdir()

    report = client.post("/v1/models/reload")

    assert report.json() == {
        "added": ["d"],
        "changed": ["a"],
        "removed": ["c"],
        "problems": [{"folder": "e", "problems": ["manifest.json is missing"]}],
    }
    assert translate(client, source="pl", target="fr")["model"] == "polish"
    assert translate(client, source="de", target="en")["model"] == "german 2"
    after = client.get("/v1/languages").json()["languages"]
    assert [each["source"] for each in after] == ["de", "en", "pl"]
    assert "models added: d; changed: a; removed: c" in caplog.text
    assert "e cannot be served: manifest.json is missing" in caplog.text
    assert client.get("/openapi.json").json()["paths"]["/v1/models/reload"]["post"]["description"]


def test_a_watched_folder_is_checked_by_itself(
    serve_models: Serve, models: Path, caplog: pytest.LogCaptureFixture
) -> None:
    client = serve_models(watch_s=0.05)
    (models / "e").mkdir()
    write_bundle(models / "d", "czech", ["cs"], ["fr"])

    body = {"text": "Ahoj", "source": "cs", "target": "fr", "model": "czech"}
    until(lambda: client.post(URL, json=body).status_code == 200)
    until(lambda: "e cannot be served" in caplog.text)
    threading.Event().wait(0.3)

    assert caplog.text.count("e cannot be served") == 1  # and not at every look


def test_a_folder_that_cannot_be_served_from_the_start_is_reported(
    serve_models: Serve, models: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (models / "a" / "manifest.json").write_text("{}")

    client = serve_models()

    assert "a cannot be served: manifest.json: format_version is None" in caplog.text
    assert [each["folder"] for each in client.get("/v1/models").json()["models"]] == ["b", "c"]
