"""One line for each request, all lines of a request by its name, and nothing in any that a client wrote."""

import asyncio
import io
import json
import logging
import re
import sys
from concurrent.futures import Future
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import ASGIApp, Receive, Scope, Send

from service.http.telemetry_middleware import QUIET_ROUTES, TelemetryMiddleware
from service.server.telemetry import Telemetry
from service.settings.groups import TelemetrySettings
from service.telemetry.counters import RequestCounters
from service.telemetry.logs import LogFormat, configure_logs, traceback_without_messages
from service.telemetry.request_record import CURRENT_REQUEST, begin_request, record_texts
from tests.engine.routing.doubles import until
from tests.service.telemetry.conftest import Observe, failing, serve_one

WORD = "Zwiebelfisch"
"""Of a client."""
ADDRESS = "127.0.0.1"
NUM_PROVOCATIONS = 17
FORMATS: tuple[LogFormat, ...] = ("text", "json")


@pytest.fixture(autouse=True)
def outside_of_requests() -> None:
    CURRENT_REQUEST.set(None)


def lines(logged: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in logged.getvalue().splitlines()]


def access_lines(logged: io.StringIO, least: int = 1) -> list[dict[str, Any]]:
    """At least so many, besides those of probes; a line may follow its answer."""

    def found() -> list[dict[str, Any]]:
        return [line for line in lines(logged) if line["message"] == "request"]

    until(lambda: len([line for line in found() if line["route"] not in QUIET_ROUTES]) >= least)
    return found()


def test_a_request_has_one_line_that_says_what_became_of_it(observe: Observe, logged: io.StringIO) -> None:
    configure_logs("json", "info", logged)
    client = observe(Telemetry())

    response = client.post("/v1/translate", json={"text": "Hallo"}, headers={"X-Request-ID": "my.id-1"})

    (line,) = access_lines(logged)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line.pop("time"))
    assert line.pop("duration_ms") > 0
    assert line == {
        "level": "info",
        "logger": "service.access",
        "message": "request",
        "method": "POST",
        "route": "/v1/translate",
        "status": 200,
        "api": "native",
        "characters": 5,
        "request_id": "my.id-1",
    }
    assert response.headers["x-request-id"] == "my.id-1"


def test_lines_for_people_have_the_same_in_them(observe: Observe, logged: io.StringIO) -> None:
    configure_logs("text", "info", logged)
    observe(Telemetry()).get("/v1/models", headers={"X-Request-ID": "abc"})

    until(lambda: "service.access" in logged.getvalue())
    line = logged.getvalue().splitlines()[-1]
    assert re.fullmatch(
        r"INFO: service\.access: request method=GET route=/v1/models status=200 duration_ms=[\d.]+ "
        r"api=native characters=0 request_id=abc",
        line,
    )


def test_lines_of_one_request_have_one_name_and_of_others_another(
    observe: Observe, logged: io.StringIO
) -> None:
    configure_logs("json", "info", logged)
    client = observe(Telemetry())
    for name in ("first", "second"):
        client.post("/v1/translate", json={"text": "explode"}, headers={"X-Request-ID": name})

    access_lines(logged, 2)
    by_name = [(line["request_id"], line["logger"]) for line in lines(logged) if "request_id" in line]
    expected = ["service.telemetry.logs", "service.access"]
    assert by_name == [(name, logger) for name in ("first", "second") for logger in expected]


@given(st.none() | st.text(max_size=80))
def test_a_request_is_named_by_no_more_than_a_word(wanted: str | None) -> None:
    name = begin_request(wanted).request_id

    assert re.fullmatch(r"[A-Za-z0-9._-]{1,64}", name)
    assert name == wanted or (wanted is None or name not in wanted)
    assert name == wanted or begin_request(wanted).request_id != name


def test_every_response_names_its_request_id(observe: Observe) -> None:
    client = observe(Telemetry(), max_body_bytes=10)
    for path in ("/v1/models", "/nowhere", "/v1/translate"):
        response = client.post(path, content=b"x" * 100)
        assert response.status_code >= 400
        assert response.headers["x-request-id"]


def test_probes_have_lines_of_level_debug(observe: Observe, logged: io.StringIO) -> None:
    configure_logs("json", "debug", logged)
    client = observe(Telemetry())
    for path in ("/healthz", "/readyz", "/metrics", "/v1/models"):
        client.get(path)

    levels = {line["route"]: line["level"] for line in access_lines(logged)}
    assert levels == {"/healthz": "debug", "/readyz": "debug", "/metrics": "debug", "/v1/models": "info"}


@pytest.mark.parametrize("is_requested", [False, True])
def test_addresses_are_logged_only_on_request(
    observe: Observe, logged: io.StringIO, *, is_requested: bool
) -> None:
    configure_logs("json", "debug", logged)
    observe(Telemetry(), log_addresses=is_requested).get("/v1/models")

    assert [line.get("address") for line in access_lines(logged)][-1] == (ADDRESS if is_requested else None)


def serve_directly(app: ASGIApp, options: TelemetrySettings, tally: RequestCounters | None = None) -> None:
    """One request to an application of a test's own that is logged."""
    serve_one(TelemetryMiddleware(app, tally or RequestCounters(), options), f"/{WORD}")


async def answer(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001 -- the protocol's
    record_texts([WORD, "ab"])
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


@pytest.mark.parametrize("are_logged", [False, True])
def test_texts_are_logged_only_on_request_and_their_characters_always(
    logged: io.StringIO, *, are_logged: bool
) -> None:
    configure_logs("json", "debug", logged)
    tally = RequestCounters()
    serve_directly(answer, TelemetrySettings(log_texts=are_logged), tally)

    assert access_lines(logged)[0]["characters"] == len(WORD) + 2
    assert (WORD in logged.getvalue()) is are_logged
    assert [line["level"] for line in lines(logged) if "texts" in line] == ["debug"] * are_logged
    assert tally.characters.by_labels == {("other",): len(WORD) + 2}


def test_an_application_that_fails_is_counted_as_failed(logged: io.StringIO) -> None:
    configure_logs("json", "info", logged)

    tally = RequestCounters()
    with pytest.raises(RuntimeError):
        serve_directly(failing(WORD), TelemetrySettings(), tally)

    assert access_lines(logged)[0]["status"] == 500
    assert tally.in_flight == 0
    assert list(tally.durations_s) == [("other", "other", "5xx")]


def test_a_request_without_response_is_logged_with_status_499(logged: io.StringIO) -> None:
    configure_logs("json", "info", logged)

    async def leave(scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG001 -- the protocol's
        return

    serve_directly(leave, TelemetrySettings())

    assert access_lines(logged)[0]["status"] == 499


def _provoke(client: httpx.Client) -> None:
    """Everything that a client can say, in all the ways that go wrong."""
    url, word = "/v1/translate", WORD
    key = {"X-API-Key": f"drg_{word}", "Authorization": f"Bearer {word}", "User-Agent": word}
    texts = (word, f"explode {word}", f"late {word}", f"full {word}", f"unusable {word}", f"slow {word}")
    for text in texts:
        client.post(f"{url}?q={word}", json={"text": text}, headers=key | {"X-Request-ID": f"{word}/1"})
    client.post(url, json={"text": "a", "source": word, "target": word, "model": word})
    client.post(url, json={word: word})
    client.post(url, json={"text": [word] * 2000})
    client.post(url, content=f'{{"text": "{word}', headers={"Content-Type": "application/json"})
    client.post(url, content=word, headers={"Content-Type": f"text/{word}"})
    client.post(url, content=word * 3000, headers={"Content-Type": "application/json"})
    client.post(url, content=iter([word.encode()] * 3000))
    client.get(f"/{word}/{word}?{word}={word}")
    client.request(word.upper(), f"/v1/models?{word}")
    client.get("/v1/models", headers={"Upgrade": "websocket", "Connection": "Upgrade", "Cookie": word})
    with httpx.Client(base_url=client.base_url, timeout=0.1) as impatient, pytest.raises(httpx.ReadTimeout):
        impatient.post(url, json={"text": f"slow {word}"})


@pytest.mark.parametrize("log_format", FORMATS)
def test_no_line_of_any_level_has_anything_in_it_that_a_client_wrote(
    observe: Observe, logged: io.StringIO, log_format: LogFormat, capfd: pytest.CaptureFixture[str]
) -> None:
    configure_logs(log_format, "debug", logged)
    _provoke(observe(Telemetry(), max_body_bytes=20_000, requires_key=False))

    until(lambda: logged.getvalue().count("service.access") >= NUM_PROVOCATIONS)
    output = logged.getvalue() + "".join(capfd.readouterr())
    assert "RuntimeError" in output  # the fault itself is told of
    assert WORD.lower() not in output.lower()
    assert ADDRESS not in re.sub(r"running on http://\S+", "", output, flags=re.IGNORECASE)


@pytest.mark.parametrize("log_format", FORMATS)
def test_others_modules_show_nothing_below_warnings(logged: io.StringIO, log_format: LogFormat) -> None:
    configure_logs(log_format, "debug", logged)
    for name in ("sqlalchemy.engine.Engine", "python_multipart.multipart", "httpcore", "anything"):
        logging.getLogger(name).info("parameters: %s", WORD)
        assert not logging.getLogger(name).isEnabledFor(logging.INFO)

    assert logged.getvalue() == ""


@pytest.mark.parametrize("log_format", FORMATS)
def test_asyncio_does_not_show_what_tasks_came_to(logged: io.StringIO, log_format: LogFormat) -> None:
    configure_logs(log_format, "debug", logged)

    async def forget() -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        future.set_exception(RuntimeError(WORD))
        del future  # its exception is never looked at

    asyncio.run(forget())
    logging.getLogger("asyncio").warning("Executing %s took %.3f seconds", Future(), 0.2)

    assert "Future exception was never retrieved" in logged.getvalue()
    assert "Executing %s took" in logged.getvalue()
    assert WORD not in logged.getvalue()


@pytest.mark.parametrize("log_format", FORMATS)
def test_exceptions_are_logged_without_their_messages(logged: io.StringIO, log_format: LogFormat) -> None:
    configure_logs(log_format, "info", logged)
    try:
        try:
            int(WORD)
        except ValueError as cause:
            raise KeyError(WORD) from cause
    except KeyError:
        logging.getLogger("service.anything").exception("it failed")

    output = logged.getvalue()
    assert "it failed" in output
    assert "builtins.KeyError" in output
    assert "builtins.ValueError" in output
    assert __file__ in output
    assert f"'{WORD}'" not in output


def test_a_traceback_names_all_that_led_to_it() -> None:
    output = ""
    try:
        try:
            int(WORD)
        except ValueError:
            raise KeyError(WORD)  # noqa: B904 -- what came before is its context, not its cause
    except KeyError as error:
        output = "".join(traceback_without_messages(error))

    assert output.index("builtins.KeyError") < output.index("caused by") < output.index("builtins.ValueError")


def test_least_severity_holds_for_all(logged: io.StringIO) -> None:
    configure_logs("text", "error", logged)
    for name in ("service.a", "dragoman.b", "uvicorn.error", "others"):
        logging.getLogger(name).warning("not told")
        logging.getLogger(name).error("told")

    assert logged.getvalue().count("told") == 4
    assert "not told" not in logged.getvalue()


def test_logs_go_to_stderr_by_default(logged: io.StringIO, capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs("text", "info", None)
    logging.getLogger("service.a").info("hello")

    assert capsys.readouterr() == ("", "INFO: service.a: hello\n")
    assert not logged.getvalue()
    assert sys.stderr is not logged
