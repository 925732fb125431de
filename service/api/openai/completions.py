"""Translations as completions: what is sent of one, whole or as chunks."""

import json
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from dragoman.types import FinishReason, SegmentTranslation
from service.api.openai.errors import error_body
from service.http.errors import ApiError
from service.translation.request import TranslationResult
from service.translation.streaming import Progress, SegmentDone

ID_BYTES = 12
DONE = b"data: [DONE]\n\n"
STOP, LENGTH = "stop", "length"


@dataclass(frozen=True, slots=True)
class Completion:
    """A translation within a limit of tokens."""

    text: str
    finish_reason: str
    usage: dict[str, int]


@dataclass(frozen=True, slots=True)
class Envelope:
    """Fields that all parts of one response have in common."""

    model: str
    names: Sequence[str] = ()
    """Properties of the object of JSON that the content is; none if it is a text."""
    id: str = field(default_factory=lambda: f"chatcmpl-{secrets.token_hex(ID_BYTES)}")
    created: int = field(default_factory=lambda: int(time.time()))

    @property
    def frame(self) -> tuple[str, str]:
        """Return what encloses the text: nothing, or the rest of an object whose first property has it."""
        opening, found, closing = json.dumps(dict.fromkeys(self.names, "")).partition(': ""')
        return (f'{opening}: "', f'"{closing}') if found else ("", "")

    def encode(self, text: str) -> str:
        """Return a part of the text as it stands in the content."""
        return json.dumps(text, ensure_ascii=False)[1:-1] if self.names else text

    def wrap(self, kind: str, choices: Sequence[dict[str, Any]]) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "choices": list(choices),
        }


def complete(result: TranslationResult, max_tokens: int | None) -> Completion:
    """Return the first segments of a translation that have at most `max_tokens` tokens together."""
    segments = [segment for part in result.parts for segment in part.translation.segments]
    kept = _num_within(segments, max_tokens)
    is_cut = kept < len(segments)
    text = result.text
    if is_cut:
        text = text[: segments[kept - 1].span.end] if kept else ""
    is_short = is_cut or any(part.translation.finish_reason is FinishReason.LENGTH for part in result.parts)
    prompt = sum(segment.num_source_tokens for segment in segments)
    completion = sum(segment.num_target_tokens for segment in segments[:kept])
    usage = {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}
    return Completion(text, LENGTH if is_short else STOP, usage)


def _num_within(segments: Sequence[SegmentTranslation], max_tokens: int | None) -> int:
    """Return how many segments have at most `max_tokens` tokens together."""
    if max_tokens is None:
        return len(segments)
    num_tokens = 0
    for count, segment in enumerate(segments):
        num_tokens += segment.num_target_tokens
        if num_tokens > max_tokens:
            return count
    return len(segments)


def present(completion: Completion, envelope: Envelope) -> dict[str, Any]:
    """Return a whole completion in OpenAI's form."""
    content = envelope.encode(completion.text).join(envelope.frame)
    message = {"role": "assistant", "content": content, "refusal": None}
    choice = {"index": 0, "message": message, "finish_reason": completion.finish_reason, "logprobs": None}
    return {**envelope.wrap("chat.completion", [choice]), "usage": completion.usage}


@dataclass(slots=True, eq=False)
class SentText:
    """Part of a translation that a stream has sent."""

    source: str
    max_tokens: int | None
    text: str = ""
    _source_end: int = 0
    _num_tokens: int = 0
    _is_waiting: bool = False
    """Whether the rest is sent at the end, because its position in the translation is not known before."""

    def take(self, segment: SegmentTranslation) -> str:
        """Return what to send of a finished segment, with the characters of the source before it.

        A segment is sent only at its position in the source: those of a translation through a pivot language,
        or with placeholders, may be segments of another text.
        """
        start, end = segment.source_span
        gap = self.source[self._source_end : start]
        is_in_place = (
            self.source[start:end] == segment.source and len(self.text) + len(gap) == segment.span.start
        )
        self._num_tokens += segment.num_target_tokens
        is_over = self.max_tokens is not None and self._num_tokens > self.max_tokens
        if self._is_waiting or is_over or not is_in_place:
            self._is_waiting = True
            return ""
        self._source_end = end
        self.text += gap + segment.text
        return gap + segment.text

    def rest(self, whole: str) -> str:
        """Return what remains to be sent of the whole translation."""
        if not whole.startswith(self.text):
            raise RuntimeError("the segments of a stream are not the beginning of the translation")
        return whole[len(self.text) :]


async def chunks(
    first: Progress | list[TranslationResult],
    progress: AsyncGenerator[Progress | list[TranslationResult]],
    sent: SentText,
    envelope: Envelope,
    *,
    has_usage: bool,
    convert: Callable[[Exception], ApiError],
) -> AsyncIterator[bytes]:
    """Yield the server-sent events of a translation.

    Args:
        first: what was awaited before the response began.
        progress: the rest.
        sent: what is sent of the text.
        envelope: what all chunks have in common.
        has_usage: whether a last chunk has the number of tokens.
        convert: converts an error after the first event, which is then the last event.
    """
    opening, closing = envelope.frame

    def chunk(delta: dict[str, str], finish_reason: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish_reason, "logprobs": None}
        usage = {"usage": None} if has_usage else {}
        return _event({**envelope.wrap("chat.completion.chunk", [choice]), **usage})

    async with aclosing(progress):
        try:
            yield chunk({"role": "assistant", "content": opening})
            event: Progress | list[TranslationResult] | None = first
            while event is not None and not isinstance(event, list):
                if isinstance(event, SegmentDone) and (content := sent.take(event.segment)):
                    yield chunk({"content": envelope.encode(content)})
                event = await anext(progress, None)
            [result] = event or []
            completion = complete(result, sent.max_tokens)
            if rest := envelope.encode(sent.rest(completion.text)) + closing:
                yield chunk({"content": rest})
            yield chunk({}, completion.finish_reason)
            if has_usage:
                yield _event({**envelope.wrap("chat.completion.chunk", []), "usage": completion.usage})
            yield DONE
        except Exception as error:  # noqa: BLE001 -- the response has begun, so its last event has the error
            yield _event(error_body(convert(error)))


def _event(content: dict[str, Any]) -> bytes:
    """Return an event; JSON's escapes keep its text on one line."""
    return b"data: " + json.dumps(content, separators=(",", ":")).encode() + b"\n\n"
