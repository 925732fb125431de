"""Example responses of the OpenAPI document, as the bundled model returns them."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from service.api.native.responses import SegmentEvent, TokensEvent
from service.http.openapi_parts import EVENTS, JSON

SCHEMA = "#/components/schemas/{model}"

_A_DOG: Mapping[str, Any] = {
    "text": "A dog runs.",
    "source": "de",
    "target": "en",
    "score": -0.1833,
    "confidence": 0.8325,
    "finish_reason": "stop",
}
_TWO_CHILDREN: Mapping[str, Any] = {
    **_A_DOG,
    "text": "Two children are playing.",
    "score": -0.1811,
    "confidence": 0.8343,
}
_DETECTED: Mapping[str, Any] = {"language": "de", "confidence": 0.9664}
_ALIGNMENT = [
    {"source": [0, 3], "target": [0, 1]},
    {"source": [4, 8], "target": [2, 5]},
    {"source": [9, 14], "target": [6, 10]},
    {"source": [14, 15], "target": [10, 11]},
]
_TOKENS = [
    {"text": "▁A", "logprob": -0.1354},
    {"text": "▁dog", "logprob": -0.1095},
    {"text": "▁run", "logprob": -0.7312},
    {"text": "s", "logprob": -0.3965},
    {"text": ".", "logprob": -0.1164},
    {"text": "</s>", "logprob": -0.1129},
]
_THROUGH_ENGLISH: Mapping[str, Any] = {
    "text": "Un chien court.",
    "source": "de",
    "target": "fr",
    "score": -0.4833,
    "confidence": 0.6167,
    "finish_reason": "stop",
    "steps": [
        {"model": "de-en", "source": "de", "target": "en", "score": -0.1833},
        {"model": "en-fr", "source": "en", "target": "fr", "score": -0.3},
    ],
}


def _answer(*translations: Mapping[str, Any], model: str = "de-en") -> dict[str, Any]:
    return {"model": model, "translations": [dict(translation) for translation in translations]}


TRANSLATED: Mapping[str, Any] = {
    "two texts": _answer(_A_DOG, _TWO_CHILDREN),
    "detected, with an alternative": _answer(
        {
            **_A_DOG,
            "detected": _DETECTED,
            "score": -0.3754,
            "alternatives": [{"text": "A dog is running.", "score": -0.6334}],
        }
    ),
    "alignment and tokens": _answer({**_A_DOG, "alignment": _ALIGNMENT, "tokens": _TOKENS}),
    "through a third language": _answer(_THROUGH_ENGLISH, model="de-en + en-fr"),
}
STREAMED = """event: segment
data: {"item":0,"number":0,"source":"Ein Hund rennt.","text":"A dog runs.","source_span":[0,15],\
"span":[0,11],"score":-0.1833,"finish_reason":"stop"}

event: segment
data: {"item":0,"number":1,"source":"Zwei Kinder spielen.","text":"Two children are playing.",\
"source_span":[16,36],"span":[12,37],"score":-0.1811,"finish_reason":"stop"}

event: done
data: {"model":"de-en","translations":[{"text":"A dog runs. Two children are playing.","source":"de",\
"target":"en","score":-0.1822,"confidence":0.8334,"finish_reason":"stop"}]}

"""
SCORED = {
    "model": "de-en",
    "scores": [{"score": -0.2669, "confidence": 0.7657, "tokens": _TOKENS, "alignment": _ALIGNMENT}],
}
LANGUAGES_DETECTED = {
    "detections": [
        [{"language": "de", "confidence": 0.9701}, {"language": "en", "confidence": 0.0299}],
        [{"language": "en", "confidence": 0.9639}, {"language": "de", "confidence": 0.0361}],
    ]
}
MODELS = {
    "models": [
        {
            "name": "de-en",
            "folder": "de-en",
            "source": "de",
            "target": "en",
            "sources": ["de"],
            "targets": ["en"],
            "precision": "int8",
            "limits": {"max_source_tokens": 200, "max_target_tokens": 400},
            "sizes": {
                "decoder_layers": 2,
                "heads": 8,
                "head_size": 32,
                "source_vocab": 8000,
                "target_vocab": 8000,
            },
            "size_bytes": 12637211,
            "is_loaded": True,
            "memory_bytes": 190360879,
            "licence": "CC BY 4.0",
            "scores": {"flores-dev": {"bleu": 21.85, "chrf": 49.34, "beam_size": 4}},
        }
    ]
}
LANGUAGES = {
    "languages": [
        {
            "source": "de",
            "reaches": [
                {"way": "direct", "models": ["de-en"], "targets": ["en"]},
                {"way": "pivot", "models": ["de-en", "en-fr"], "targets": ["fr"]},
            ],
        }
    ]
}
RELOADED = {
    "added": ["en-fr"],
    "changed": ["de-en"],
    "removed": [],
    "problems": [{"folder": "en-cs", "problems": ["decoder.onnx: its SHA-256 is not the manifest's"]}],
}
ALIVE, READY = {"status": "alive"}, {"status": "ready"}


def shown(example: Any) -> dict[int | str, dict[str, Any]]:
    """Return a route's `responses` with an example of a successful one."""
    return {200: {"content": {JSON: {"example": example}}}}


def shown_as(examples: Mapping[str, Any]) -> dict[int | str, dict[str, Any]]:
    """Return the same with several examples, by name."""
    named = {name.replace(" ", "_"): {"summary": name, "value": each} for name, each in examples.items()}
    return {200: {"content": {JSON: {"examples": named}}}}


def shown_events(events: str) -> dict[int | str, dict[str, Any]]:
    """Return the same for a stream: the name of each event, and the schema of its data."""
    data: Mapping[str, Any] = {
        "segment": _schema_of(SegmentEvent),
        "tokens": _schema_of(TokensEvent),
        "done": {"$ref": SCHEMA.format(model="TranslateResponse")},
        "error": {"$ref": SCHEMA.format(model="ErrorResponse")},
    }
    items = {"oneOf": [_event(name, schema) for name, schema in data.items()]}
    return {200: {"content": {EVENTS: {"itemSchema": items, "example": events}}}}


def _event(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "required": ["event", "data"],
        "properties": {
            "event": {"const": name},
            "data": {"type": "string", "contentMediaType": JSON, "contentSchema": dict(data)},
        },
    }


def _schema_of(event: type[BaseModel]) -> dict[str, Any]:
    schema = event.model_json_schema(ref_template=SCHEMA)
    schema.pop("$defs", None)  # the document defines them already
    return schema
