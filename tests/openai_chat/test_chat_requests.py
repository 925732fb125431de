"""What chat completions accept, reject and ignore, and errors in OpenAI's form."""

from typing import Any

import httpx
import pytest

from tests.openai_chat.conftest import PATH, body, error_of

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
        {"tool_choice": "required"},
        {"response_format": {"type": "json_object"}},
        {"modalities": ["audio"]},
        {"stop": "."},
        {"logprobs": True},
        {"logit_bias": {"1": 1}},
        {"presence_penalty": 1},
        {"store": True},
        {"temperature": 3},
        {"temperature": "0"},
        {"top_p": -1},
        {"max_tokens": 0},
        {"stream_options": {"include_usage": True}},
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


def test_a_text_in_the_target_language_comes_back(http: httpx.Client) -> None:
    text = "The weather is very nice today and we are going to the garden."
    found = http.post(PATH, json=body(text, "dragoman-auto-en"))

    assert content_of(found) == text
    assert found.json()["usage"]["total_tokens"] == 0


def test_a_failure_does_not_contain_the_text(http: httpx.Client) -> None:
    for stream in (False, True):
        response = http.post(PATH, json=body("explode geheim", stream=stream))
        assert "geheim" not in response.text
        assert "server_error" in response.text


def test_the_responses_api_is_named_as_unsupported(http: httpx.Client) -> None:
    response = http.post("/openai/v1/responses", json={"model": "de-en", "input": "Hallo"})
    assert response.status_code == 404
    assert "/openai/v1/chat/completions" in response.json()["error"]["message"]
