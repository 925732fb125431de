"""POST /v1/translate/stream tells of translations as they come."""

import json
from typing import Any

import httpx
import pytest

from tests.routing.doubles import until
from tests.service.conftest import Serve
from tests.service.doubles import DoubleTranslator

URL = "/v1/translate/stream"

Events = list[tuple[str, Any]]


def events_of(body: str) -> Events:
    """Name and data of each server-sent event."""
    events = []
    for block in body.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n"))
        events.append((fields["event"], json.loads(fields["data"])))
    return events


def stream(client: httpx.Client, **body: object) -> Events:
    response = client.post(URL, json=body)
    assert response.status_code == 200
    assert response.headers["content-type"].startswith("text/event-stream")
    return events_of(response.text)


def test_segments_come_in_order_and_the_whole_comes_last(client: httpx.Client) -> None:
    *segments, (name, done) = stream(client, text=["eins\nzwei", "drei"])

    assert {event for event, _ in segments} == {"segment"}
    of_item = {item: [data for _, data in segments if data["item"] == item] for item in (0, 1)}
    assert [(data["number"], data["source"], data["text"]) for data in of_item[0]] == [
        (0, "eins", "EINS"),
        (1, "zwei", "ZWEI"),
    ]
    assert of_item[0][1]["source_span"] == [5, 9]
    assert of_item[0][1]["span"] == [5, 9]
    assert [data["text"] for data in of_item[1]] == ["DREI"]
    assert name == "done"
    assert done == client.post("/v1/translate", json={"text": ["eins\nzwei", "drei"]}).json()


def test_tokens_are_told_where_they_are_asked_for(client: httpx.Client) -> None:
    events = stream(client, text="ein haus", beam_size=1, stream_tokens=True)

    assert [(name, data.get("text")) for name, data in events[:-1]] == [
        ("tokens", "EIN"),
        ("tokens", "EIN HAUS"),
        ("segment", "EIN HAUS"),
    ]


def test_a_segment_is_sent_before_the_rest_is_done(serve: Serve, translator: DoubleTranslator) -> None:
    client = serve()

    with client.stream("POST", URL, json={"text": ["ja", "wait"]}) as response:
        lines = response.iter_lines()
        assert next(lines) == "event: segment"
        assert json.loads(next(lines).removeprefix("data: "))["text"] == "JA"
        until(translator.is_waiting.is_set)
        translator.released.set()
        assert "event: done" in list(lines)


def test_what_is_at_fault_before_anything_is_told_has_a_status(client: httpx.Client) -> None:
    refused = client.post(URL, json={"text": ["unusable", "unusable"]})

    assert refused.status_code == 422
    assert [field["field"] for field in refused.json()["error"]["fields"]] == ["text[0]", "text[1]"]
    assert client.post(URL, json={"text": "ja", "target": "xx"}).status_code == 422
    assert client.post(URL, json={"text": "full"}).status_code == 429


@pytest.mark.parametrize(("text", "kind"), [("late", "timeout"), ("explode", "internal")])
def test_what_fails_later_is_the_last_event(serve: Serve, text: str, kind: str) -> None:
    client = serve()

    events = stream(client, text=["ja", f"slow {text}"])

    assert [name for name, _ in events] == ["segment", "error"]
    assert events[-1][1]["error"]["type"] == kind
    assert text not in events[-1][1]["error"]["message"] or kind == "timeout"
