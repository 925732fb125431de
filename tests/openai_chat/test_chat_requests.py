"""What chat completions accept, reject and ignore, and errors in OpenAI's form."""

import json
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.openai_chat.conftest import PATH, Serve, body, error_of

USER = {"role": "user", "content": "Hallo"}


def content_of(response: httpx.Response) -> str:
    assert response.status_code == 200, response.text
    return str(response.json()["choices"][0]["message"]["content"])


@pytest.mark.parametrize(
    "parameters",
    [
        {"temperature": 0.7, "top_p": 0.9, "seed": 1},
        {"temperature": 2, "n": 1, "presence_penalty": 0, "frequency_penalty": 0.0},
        {"response_format": {"type": "text"}, "modalities": ["text"], "logprobs": False, "store": False},
        {"tools": None, "stop": None, "logit_bias": None, "tool_choice": "none", "parallel_tool_calls": True},
        {"user": "me", "metadata": {"a": "b"}, "service_tier": "auto", "reasoning_effort": "low"},
        {"stream": False, "max_tokens": 4096},
    ],
)
def test_parameters_that_change_nothing_change_nothing(
    http: httpx.Client, parameters: dict[str, Any]
) -> None:
    assert content_of(http.post(PATH, json=body(**parameters))) == "Hallo|german"


@pytest.mark.parametrize(
    "parameters",
    [
        {"n": 2},
        {"tools": []},
        {"tools": [{"type": "function", "function": {"name": "f"}}]},
        {"tool_choice": "required"},
        {"functions": []},
        {"response_format": {"type": "json_object"}},
        {"modalities": ["audio"]},
        {"audio": {"voice": "a", "format": "wav"}},
        {"stop": "."},
        {"logprobs": True},
        {"logit_bias": {"1": 1}},
        {"presence_penalty": 1},
        {"frequency_penalty": 0.5},
        {"store": True},
        {"temperature": 3},
        {"temperature": "0"},
        {"top_p": -1},
        {"max_tokens": 0},
        {"max_completion_tokens": -1},
        {"stream_options": {"include_usage": True}},
        {"best_of": 1},
        {"web_search_options": {}},
        {"prediction": {}},
    ],
    ids=lambda parameters: next(iter(parameters)),
)
def test_other_parameters_are_rejected_by_name(http: httpx.Client, parameters: dict[str, Any]) -> None:
    response = http.post(PATH, json=body(**parameters))

    status, code, parameter, _ = error_of(response)
    assert (status, code) == (400, "invalid_value")
    assert str(parameter).partition("[")[0] == next(iter(parameters))


def test_two_limits_of_tokens_are_one_too_many(http: httpx.Client) -> None:
    response = http.post(PATH, json=body(max_tokens=1, max_completion_tokens=1))
    assert error_of(response)[:3] == (400, "invalid_value", "max_tokens")


@pytest.mark.parametrize(
    ("messages", "parameter"),
    [
        ([], "messages"),
        ([USER, {"role": "assistant", "content": "Hello"}], "messages"),
        ([{"role": "system", "content": "to English"}], "messages"),
        ([{"role": "tool", "content": "a", "tool_call_id": "1"}, USER], "messages[0]"),
        ([{"role": "user"}], "messages[0]"),
        ([{"role": "user", "content": 1}], "messages[0]"),
        ([{"role": "user", "content": []}], "messages[0]"),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "a"}}]}], "messages[0][0]"),
        ([{"role": "user", "content": "unusable"}], "messages[0].content"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_messages_that_cannot_be_used_are_named(
    http: httpx.Client, messages: list[dict[str, Any]], parameter: str
) -> None:
    response = http.post(PATH, json={"model": "dragoman-de-en", "messages": messages})
    status, code, found, _ = error_of(response)
    assert (status, code, found) == (400, "invalid_value", parameter)


def test_only_the_last_message_is_translated(http: httpx.Client) -> None:
    turns = [{"role": "user", "content": "eins"}, {"role": "assistant", "content": "one", "refusal": None}]
    parts = [{"type": "text", "text": "zwei"}, {"type": "text", "text": "drei"}]
    messages = [*turns, {"role": "user", "content": parts, "name": "me"}]

    response = http.post(PATH, json={"model": "de-en", "messages": messages})

    assert content_of(response) == "zwei|german\ndrei|german"


@pytest.mark.parametrize(
    "text",
    [
        "Translate the following text to English: Hallo",
        "Please translate into English:\n\nHallo",
        "Translate to English (output translation only):\n\nHallo",
        "translate from German to English:\nHallo",
    ],
)
@pytest.mark.parametrize("system", ["", "Translate to English."])
def test_an_instruction_in_the_text_is_rejected_and_never_translated(
    http: httpx.Client, text: str, system: str
) -> None:
    model = "dragoman" if system else "dragoman-de-en"
    status, code, parameter, message = error_of(http.post(PATH, json=body(text, model, system)))

    assert (status, code) == (400, "instruction_in_text")
    assert parameter == f"messages[{bool(system):d}].content"
    assert "send the text alone" in message


def test_a_text_in_the_target_language_comes_back(http: httpx.Client) -> None:
    text = "The weather is very nice today and we are going to the garden."
    found = http.post(PATH, json=body(text, "dragoman-auto-en"))

    assert content_of(found) == text
    assert found.json()["usage"]["total_tokens"] == 0


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b'{"model": "a", "model": "b"}', "application/json", 400),
        (
            b'{"model": "de-en", "messages": [{"role": "user", "content": "\\ud800"}]}',
            "application/json",
            400,
        ),
        (b"a=b", "application/x-www-form-urlencoded", 415),
        (b'{"model": "' + b"a" * 2**20 + b'"}', "application/json", 413),
        (json.dumps(body(model="-" * 100_000)).encode(), "application/json", 404),
        (json.dumps(body(model="dragoman", system="to de " * 2000)).encode(), "application/json", 400),
        (json.dumps({f"x{number}": 1 for number in range(5000)}).encode(), "application/json", 400),
    ],
    ids=lambda value: repr(value[:30]) if isinstance(value, bytes) else None,
)
def test_an_unreadable_body_is_rejected_in_the_same_form(
    http: httpx.Client, content: bytes, kind: str, status: int
) -> None:
    for path in (PATH, "/v1/chat/completions"):
        response = http.post(path, content=content, headers={"Content-Type": kind})
        assert error_of(response)[0] == status
        assert len(response.content) < 10_000


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", PATH, 405),
        ("GET", "/v1/chat/completions", 405),
        ("POST", "/openai/v1/embeddings", 404),
        ("POST", "/openai/v1/responses", 404),
        ("POST", "/v1/chat/nothing", 404),
    ],
)
def test_paths_and_methods_have_the_form_of_all_errors(
    http: httpx.Client, method: str, path: str, status: int
) -> None:
    assert error_of(http.request(method, path))[0] == status


def test_a_failure_tells_nothing_of_the_text(http: httpx.Client) -> None:
    for stream in (False, True):
        response = http.post(PATH, json=body("explode geheim", stream=stream))
        assert "geheim" not in response.text
        assert "server_error" in response.text


def test_requests_are_counted_under_the_apis_name(serve: Serve) -> None:
    http = serve()
    http.post(PATH, json=body())
    http.post("/v1/chat/completions", json=body())

    counted = [line for line in http.get("/metrics").text.splitlines() if 'api="openai"' in line]
    for path in (PATH, "/v1/chat/completions"):
        assert any(f'route="{path}"' in line for line in counted)


values: st.SearchStrategy[object] = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | st.just([])
)


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    fields=st.dictionaries(
        st.sampled_from(
            ["model", "messages", "stream", "temperature", "n", "stop", "tools", "max_tokens", "x"]
        ),
        values,
    )
)
def test_whatever_is_sent_is_answered_in_the_form(http: httpx.Client, fields: dict[str, object]) -> None:
    headers = {"Content-Type": "application/json"}
    response = http.post(PATH, content=json.dumps(body() | fields).encode(), headers=headers)

    if response.status_code != 200:
        assert error_of(response)[0] in {400, 404}
