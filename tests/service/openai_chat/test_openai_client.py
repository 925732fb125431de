"""Chat completions: OpenAI's own client works unchanged, and what requests by hand may have."""

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import httpx
import openai
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from openai import OpenAI

from dragoman import DeadlineExceeded
from service.api.openai.completions import Envelope, SentText, chunks
from service.http.errors import to_any_api_error
from service.translation.request import TranslationResult
from service.translation.streaming import Progress, SegmentDone
from tests.engine.routing.doubles import scored
from tests.service.conftest import engine_server
from tests.service.keys import Keys
from tests.service.openai_chat.conftest import PATH, Serve, body, error_of, openai_client

GERMAN = "Das ist ein schönes Haus am Ufer des Flusses"


@pytest.fixture(scope="module")
def engine_client() -> Iterator[OpenAI]:
    """The client of a server with the real engine and a tiny model, de -> en."""
    with engine_server(detection="on") as http, openai_client(http) as client:
        yield client


def streamed(client: OpenAI, **request: object) -> tuple[str, str | None, list[str]]:
    """Text, finish reason and non-empty parts of a stream."""
    parts, reason = [], None
    for chunk in client.chat.completions.create(stream=True, **request):  # type: ignore[call-overload]
        parts += [choice.delta.content for choice in chunk.choices if choice.delta.content]
        reason = next((choice.finish_reason for choice in chunk.choices), None) or reason
    return "".join(parts), reason, parts


def test_the_client_translates(client: OpenAI) -> None:
    found = client.chat.completions.create(**body("eins\nzwei"))

    assert found.id.startswith("chatcmpl-")
    assert (found.object, found.model) == ("chat.completion", "dragoman-de-en")
    [choice] = found.choices
    assert (choice.message.role, choice.message.content) == ("assistant", "eins|german\nzwei|german")
    assert choice.finish_reason == "stop"
    assert found.usage is not None
    assert found.usage.total_tokens == found.usage.prompt_tokens + found.usage.completion_tokens > 0


def test_the_client_streams_the_same(client: OpenAI) -> None:
    text, reason, parts = streamed(client, **body("eins\n\nzwei"))

    assert (text, reason) == ("eins|german\n\nzwei|german", "stop")
    assert parts == ["eins|german", "\n\nzwei|german"]


def test_a_stream_ends_with_the_usage_if_requested(client: OpenAI) -> None:
    whole = client.chat.completions.create(**body("eins\nzwei"))
    request = body("eins\nzwei", stream_options={"include_usage": True})

    chunks = list(client.chat.completions.create(stream=True, **request))

    assert chunks[-1].choices == []
    assert chunks[-1].usage == whole.usage
    assert {chunk.usage for chunk in chunks[:-1]} == {None}
    assert {(chunk.id, chunk.created) for chunk in chunks} == {(chunks[0].id, chunks[0].created)}


def test_the_client_lists_models_that_it_can_use(client: OpenAI) -> None:
    listed = [model.id for model in client.models.list()]

    assert listed[0] == "dragoman"
    assert {"dragoman-de-en", "dragoman-en-fr", "dragoman-auto-zh-Hant"} <= set(listed)
    for name in listed[1:]:
        assert client.models.retrieve(name).id == name
        source = "en" if name.startswith("dragoman-en") else "de"
        text = GERMAN if source == "de" else "Hello"
        assert client.chat.completions.create(**body(text, name)).choices[0].message.content
    with pytest.raises(openai.NotFoundError) as missing:
        client.models.retrieve("gpt-4o")
    assert missing.value.code == "model_not_found"


def test_keys_are_charged_and_any_valid_one_lists_models(serve: Serve, keys: Keys) -> None:
    http = serve(database_url=keys.url, requires_key=True)
    key = keys.make()

    with openai_client(http, key) as client:
        client.chat.completions.create(**body())
        assert streamed(client, **body())[0] == "Hallo|german"
    assert keys.usage(key).characters == 10
    with openai_client(http, "nonsense") as client, pytest.raises(openai.AuthenticationError):
        client.models.list()


def test_the_client_raises_its_error_for_exceeded_limits(serve: Serve, keys: Keys) -> None:
    http = serve(database_url=keys.url, max_characters=20)
    with openai_client(http, keys.make(characters_per_month=30, requests_per_minute=3)) as client:
        client.chat.completions.create(**body("x" * 20))
        with pytest.raises(openai.RateLimitError) as spent:
            client.chat.completions.create(**body("x" * 20))
        with pytest.raises(openai.APIStatusError) as long:
            list(client.chat.completions.create(stream=True, **body("x" * 21)))
        with pytest.raises(openai.RateLimitError) as fast:
            client.chat.completions.create(**body())
    assert (spent.value.code, fast.value.code) == ("insufficient_quota", "rate_limit_exceeded")
    assert (long.value.status_code, long.value.param) == (413, "messages[0].content")


def test_an_error_within_a_stream_is_its_last_event() -> None:
    segment = scored("Hallo", "Hello")

    async def progress() -> AsyncGenerator[Progress | list[TranslationResult]]:
        yield SegmentDone(0, 0, segment)
        raise DeadlineExceeded(0.25)

    async def events() -> list[bytes]:
        source = progress()
        first = await anext(source)
        sent = SentText("Hallo", None)
        envelope = Envelope("de-en")
        stream = chunks(first, source, sent, envelope, has_usage=False, convert=to_any_api_error)
        return [event async for event in stream]

    *_, text, error = asyncio.run(events())
    assert b'"content":"Hello"' in text
    assert b'"type":"server_error"' in error


def test_a_limit_of_tokens_cuts_between_segments(engine_client: OpenAI) -> None:
    request = body("Ein Hund rennt. Zwei Kinder spielen. Ein Haus.")
    whole = engine_client.chat.completions.create(**request)
    assert whole.usage is not None
    text = whole.choices[0].message.content or ""

    for limit in range(1, whole.usage.completion_tokens + 1):
        cut = engine_client.chat.completions.create(**request, max_completion_tokens=limit)
        [choice] = cut.choices
        assert cut.usage is not None
        assert cut.usage.completion_tokens <= limit
        assert text.startswith(choice.message.content or "")
        assert choice.finish_reason == ("stop" if choice.message.content == text else "length")
        assert streamed(engine_client, **request, max_tokens=limit)[:2] == (
            choice.message.content,
            choice.finish_reason,
        )


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.lists(
        st.sampled_from(
            ["Ein Hund rennt. ", 'Zwei "{name}" spielen!', "\n", "  \n\n", "12.", "%s", " \\ ", "Haus"]
        ),
        max_size=6,
    ).map("".join)
)
def test_a_stream_has_the_text_of_the_whole(engine_client: OpenAI, text: str) -> None:
    whole = engine_client.chat.completions.create(**body(text))

    assert streamed(engine_client, **body(text))[0] == whole.choices[0].message.content
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in ("b", ': ""', "a")}}
    wanted = body(text, response_format={"type": "json_schema", "json_schema": {"schema": schema}})
    form = engine_client.chat.completions.create(**wanted).choices[0].message.content
    assert streamed(engine_client, **wanted)[0] == form
    assert json.loads(form or "") == {"b": whole.choices[0].message.content, ': ""': "", "a": ""}


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
        {"stream": False, "max_tokens": 4096, "max_completion_tokens": 4096},
        {"max_tokens": -1, "max_completion_tokens": 0, "stream_options": {"include_usage": True}},
        {"frequency_penalty": 1, "presence_penalty": -2, "top_k": 40, "min_p": 0.1, "repeat_penalty": 1.1},
        {
            "stop": [],
            "tools": [],
            "functions": [],
            "logit_bias": {},
            "top_logprobs": 0,
            "function_call": "none",
        },
        {"enable_thinking": False, "chat_template_kwargs": {"enable_thinking": False}, "keep_alive": "5m"},
        {"thinking": {"type": "disabled"}, "reasoning": {"effort": "none"}, "options": {"num_ctx": 1}},
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
        {"tools": [{"type": "function", "function": {"name": "a"}}]},
        {"tool_choice": "required"},
        {"response_format": {"type": "json_object"}},
        {"response_format": {"type": "json_schema"}},
        {"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}},
        {"modalities": ["audio"]},
        {"stop": "."},
        {"stop": ["."]},
        {"logprobs": True},
        {"logit_bias": {"1": 1}},
        {"presence_penalty": 3},
        {"web_search_options": {}},
        {"store": True},
        {"temperature": 3},
        {"temperature": "0"},
        {"top_p": -1},
        {"max_tokens": -2},
        {"stream_options": {"include_usage": "yes"}},
        {"prediction": {}},
    ],
    ids=lambda parameters: next(iter(parameters)),
)
def test_other_parameters_are_rejected_by_name(http: httpx.Client, parameters: dict[str, Any]) -> None:
    response = http.post(PATH, json=body(**parameters))

    status, code, parameter, _ = error_of(response)
    assert (status, code) == (400, "invalid_value")
    assert re.split(r"[.[]", str(parameter))[0] == next(iter(parameters))


def test_of_two_limits_of_tokens_the_lower_counts(http: httpx.Client) -> None:
    for low, high in ("max_tokens", "max_completion_tokens"), ("max_completion_tokens", "max_tokens"):
        request = body("eins\nzwei\ndrei vier") | {low: 1, high: 99}
        assert http.post(PATH, json=request).json()["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize(
    ("messages", "parameter"),
    [
        ([], "messages"),
        ([{"role": "system", "content": "to English"}], "messages"),
        ([{"role": "tool", "content": "a", "tool_call_id": "1"}], "messages"),
        ([{"role": "user"}], "messages[0]"),
        ([USER, {"role": "user", "content": None}], "messages[1]"),
        ([{"role": "user", "content": 1}], "messages[0].content"),
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


def test_only_the_users_last_message_is_translated(http: httpx.Client) -> None:
    image = [{"type": "image_url", "image_url": {"url": "a"}}]
    turns = [{"role": "user", "content": image}, {"role": "assistant", "content": None, "tool_calls": []}]
    parts = [{"type": "text", "text": "zwei", "cache_control": {"type": "ephemeral"}}]
    parts += [{"type": "text", "text": "drei"}]
    messages = [*turns, {"role": "tool", "content": "a", "tool_call_id": "1"}]
    messages += [{"role": "user", "content": parts, "name": "me"}, {"role": "assistant", "content": ""}]

    response = http.post(PATH, json={"model": "de-en", "messages": messages})

    assert content_of(response) == "zwei|german\ndrei|german"


def test_a_text_in_the_target_language_comes_back(http: httpx.Client) -> None:
    text = "The weather is very nice today and we are going to the garden."
    found = http.post(PATH, json=body(text, "dragoman-auto-en"))

    assert content_of(found) == text
    assert found.json()["usage"]["total_tokens"] == 0


def test_the_responses_api_is_named_as_unsupported(http: httpx.Client) -> None:
    response = http.post("/openai/v1/responses", json={"model": "de-en", "input": "Hallo"})
    assert response.status_code == 404
    assert "/openai/v1/chat/completions" in response.json()["error"]["message"]
