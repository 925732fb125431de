"""New, changed and removed models while a server runs."""

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from tests.routing.doubles import TIMEOUT_S, DoubleBundles, until, write_bundle
from tests.service.conftest import Serve, translate

URL = "/v1/translate"


def write_beside(folder: Path, name: str, source: str = "de", target: str = "en", filler: str = "") -> None:
    """Replace a bundle as the exporter does: written elsewhere, then renamed."""
    staging = folder.with_name(f".{folder.name}.new")
    write_bundle(staging, name, [source], [target], filler)
    old = folder.with_name(f".{folder.name}.old")
    folder.rename(old)
    staging.rename(folder)
    shutil.rmtree(old)


def test_clients_may_not_ask_for_another_look_unless_the_operator_says_so(serve_models: Serve) -> None:
    client = serve_models()

    assert client.post("/v1/models/reload").status_code == 404
    assert "/v1/models/reload" not in client.get("/openapi.json").json()["paths"]


def test_another_look_finds_what_has_changed(
    serve_models: Serve, models: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    client = serve_models(reload_endpoint=True)
    before = client.get("/v1/languages").json()["languages"]
    assert [each["source"] for each in before] == ["cs", "de", "en"]
    write_bundle(models / "d", "polish", ["pl"], ["fr"])
    write_beside(models / "a", "german 2")
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


def test_a_watched_folder_is_looked_at_by_itself(
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


def test_a_folder_that_cannot_be_served_from_the_start_is_told(
    serve_models: Serve, models: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (models / "a" / "manifest.json").write_text("{}")

    client = serve_models()

    assert "a cannot be served: manifest.json: format_version is None" in caplog.text
    assert [each["folder"] for each in client.get("/v1/models").json()["models"]] == ["b", "c"]


def test_models_replaced_under_load_fail_no_request(
    serve_models: Serve, models: Path, bundles: DoubleBundles
) -> None:
    client = serve_models(reload_endpoint=True)
    stop = threading.Event()
    answered: list[httpx.Response] = []

    def ask(number: int) -> None:
        body = {"text": ["Hallo", "Welt"], "source": "de", "target": ("en", "fr")[number % 2]}
        while not stop.is_set():
            answered.append(client.post(URL, json=body))

    with ThreadPoolExecutor(4) as clients:
        asking = [clients.submit(ask, number) for number in range(4)]
        try:
            for turn in range(8):
                done = len(answered)
                until(lambda done=done: len(answered) >= done + 8)  # type: ignore[misc]
                write_beside(models / "a", "german", filler=str(turn))
                if turn % 2:
                    write_beside(models / "b", "french", "en", "fr", filler=str(turn))
                assert client.post("/v1/models/reload").status_code == 200
        finally:
            stop.set()
        for one in asking:
            one.result(TIMEOUT_S)

    assert {response.status_code for response in answered} == {httpx.codes.OK}
    assert bundles.names.count("german") > 4
