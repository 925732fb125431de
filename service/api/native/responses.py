"""Response models; the OpenAPI document contains their schemas."""

import math
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from pydantic import Field, WithJsonSchema

from dragoman import DecodingOptions, FinishReason, SegmentTranslation
from dragoman.routing.results import RoutedTranslation
from dragoman.routing.routes import Route, RouteKind
from service.http.openapi import DocumentedModel, equal_fields, examples
from service.memories.pairs import MemoryMatch, TextMatches
from service.text.outcome import Check
from service.translation.request import DetectedSource, TranslationResult
from service.translation.streaming import SegmentDone, SegmentSoFar

Span = Annotated[
    tuple[int, int],
    WithJsonSchema({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}),
]
"""Start and end. Its schema is a plain array: few client generators support items with types of their own."""


class AlternativeOut(DocumentedModel):
    """A translation other than the best."""

    text: str
    score: float | None
    """Length-normalised log-probability; null unless requested."""


class StepOut(DocumentedModel):
    """One of the two models of a pivot translation."""

    model: str
    """Name of the model."""
    source: str
    """Source language of the step."""
    target: str
    """Target language of the step."""
    score: float | None
    """Score of this step alone; null unless requested."""


class DetectedOut(DocumentedModel):
    """A detected language."""

    language: str
    """Language code; `und` if undetermined."""
    confidence: float
    """0 to 1."""


class LinkOut(DocumentedModel):
    """Part of a text and the part of its translation that is aligned with it."""

    source: Span
    """Start and end in the text, in characters."""
    target: Span
    """Start and end in the translation, in characters."""


class TokenOut(DocumentedModel):
    """A token of a translation."""

    text: str
    """The vocabulary piece."""
    logprob: float
    """Natural logarithm of its probability."""


class FailedCheckOut(DocumentedModel):
    """A check that a translation failed."""

    check: Check
    """Kind of check."""
    problem: str
    """Description of the fault."""


class SimilarPairOut(DocumentedModel):
    """A pair of a translation memory whose source is similar to a text."""

    source: str
    """Source of the pair."""
    target: str
    """Its translation."""
    score: float
    """Similarity of the source to the text, up to 1."""


class MemoryOut(DocumentedModel):
    """Matches of a translation memory for a text."""

    match: Literal["exact", "repaired", "none"]
    """`exact`: the translation is from the memory, and no model ran; `finish_reason` is then `copied`.
    `repaired`: the same, with other numbers and placeholders."""
    repaired: SimilarPairOut | None = None
    """The pair whose numbers and placeholders were replaced."""
    similar: list[SimilarPairOut]
    """Similar pairs, the most similar first."""


class TranslationOut(DocumentedModel):
    """The translation of one text."""

    text: str
    """The best translation."""
    source: str
    """Source language; `und` for a text without letters."""
    target: str
    """Target language."""
    detected: DetectedOut = Field(default_factory=lambda: DetectedOut(language="und", confidence=0.0))
    """Detected language; only if the source language was not given, or if the text is certainly in another
    one.
    """
    score: float | None
    """Log-probability divided by the number of tokens to the power of `length_penalty`; higher is better, 0
    if everything was copied, null unless requested. With a pivot language, the sum of both steps' scores.
    """
    confidence: float | None
    """Probability that the translation is good if the model is calibrated, otherwise the geometric mean of
    the token probabilities; 0 to 1. With a pivot language, the product of both steps, and 0 if the text is
    certainly not in the source language. Null unless scores are requested.
    """
    finish_reason: FinishReason
    """`stop`: the model ended the translation. `length`: a segment reached `max_length` and may be
    incomplete. `unsupported`: a segment was copied because at least half of its letters are in a script
    that the model does not know. `copied`: there was nothing to translate.
    """
    alternatives: list[AlternativeOut] = Field(default_factory=list)
    """Only if `num_hypotheses` is above 1: the other hypotheses, best first; at most `num_hypotheses` - 1."""
    steps: list[StepOut] = Field(default_factory=list)
    """Only with a pivot language: both steps, in order."""
    alignment: list[LinkOut] = Field(default_factory=list)
    """Only if requested: aligned words, in the order of the translation."""
    tokens: list[TokenOut] = Field(default_factory=list)
    """Only if requested: tokens of the translation, including the end of each segment."""
    failed_checks: list[FailedCheckOut] = Field(default_factory=list)
    """Only if the translation failed a check, for example of placeholders, after all tries. `text` is then
    the source, unless only numbers differ.
    """
    memory: MemoryOut = Field(default_factory=lambda: MemoryOut(match="none", similar=[]))
    """Only if the request names a translation memory."""


class TranslateResponse(DocumentedModel):
    """Translations in the order of the request's texts."""

    model_config = examples(
        {
            "model": "de-en",
            "translations": [
                {
                    "text": "Good morning.",
                    "source": "de",
                    "target": "en",
                    "score": -0.21,
                    "confidence": 0.81,
                    "finish_reason": "stop",
                }
            ],
        }
    )

    model: str | None
    """Name of the model; both names, joined by ` + `, with a pivot language. Null if the texts used different
    models, or none.
    """
    translations: list[TranslationOut]
    """One translation per text."""


class ScoreOut(DocumentedModel):
    """A model's score of a given translation."""

    score: float
    """Mean log-probability of the tokens; higher is better."""
    confidence: float
    """Geometric mean of the token probabilities, 0 to 1."""
    tokens: list[TokenOut]
    """Tokens of the translation, including its end."""
    alignment: list[LinkOut]
    """Aligned words, in the order of the translation."""


class ScoreResponse(DocumentedModel):
    """Scores in the order of the request's pairs."""

    model: str
    """Name of the model."""
    scores: list[ScoreOut]
    """One score per pair."""


class DetectResponse(DocumentedModel):
    """Languages in the order of the request's texts."""

    detections: list[list[DetectedOut]]
    """For each text, the served languages that it may be in, the most likely first; only `und` if it is in
    none of them.
    """


class SegmentEvent(DocumentedModel):
    """A finished segment; all segments before it in its text are finished as well. Event `segment`."""

    item: int
    """Position of the text in the request, from 0."""
    number: int
    """Position of the segment in the text, from 0."""
    source: str
    """The source segment; with a pivot language, in the pivot language."""
    text: str
    """The translation of the segment."""
    source_span: Span
    """Start and end of the segment in its text, in characters; with a pivot language, in the pivot text."""
    span: Span
    """Start and end in the translation, in characters."""
    score: float | None
    """Score of the segment; null unless requested."""
    finish_reason: FinishReason


class TokensEvent(DocumentedModel):
    """The beginning of an unfinished segment, replacing earlier events of it. Event `tokens`."""

    item: int
    """Position of the text in the request, from 0."""
    number: int
    """Position of the segment in the text, from 0."""
    text: str
    """The translation so far."""


class Status(DocumentedModel):
    """The state of the server."""

    status: str


def present_results(answers: Sequence[TranslationResult], options: DecodingOptions) -> TranslateResponse:
    """Return translations in the API's form."""
    models = {_model_name(result.route) for result in answers}
    return TranslateResponse(
        model=models.pop() if len(models) == 1 else None,
        translations=[present_result(result, options) for result in answers],
    )


def present_result(result: TranslationResult, options: DecodingOptions) -> TranslationOut:
    """Return a result. Unset fields are not sent: `alternatives` of one hypothesis, `steps` of one model."""
    presented = TranslationOut(
        text=result.text,
        source=result.source,
        target=result.target,
        score=0.0 if options.return_scores else None,
        confidence=1.0 if options.return_scores else None,
        finish_reason=FinishReason.COPIED,
    )
    detected = result.other_language or result.detected
    if detected is not None:
        presented.detected = present_detected(detected)
    if result.failed_checks:
        presented.failed_checks = [
            FailedCheckOut(check=failure.check, problem=failure.problem) for failure in result.failed_checks
        ]
    if result.matches is not None:
        presented.memory = _present_matches(result.matches)
    translation = None
    if result.route is not None:
        (routed,) = result.parts
        translation = routed.translation
        presented.score, presented.confidence = translation.score, translation.confidence
        presented.finish_reason = translation.finish_reason
        if result.other_language is not None:
            presented.confidence = 0.0 if options.return_scores else None
        if result.route.way is RouteKind.PIVOT:
            presented.steps = _steps(result.route, routed)
    segments = translation.segments if translation else ()
    if options.num_hypotheses > 1:
        others = translation.alternatives[1:] if translation else ()
        presented.alternatives = [AlternativeOut(text=other.text, score=other.score) for other in others]
    if options.return_alignment:
        presented.alignment = _links(segments)
    if options.return_tokens:
        presented.tokens = _tokens(segments)
    return presented


def _present_matches(matches: TextMatches) -> MemoryOut:
    found = MemoryOut(
        match="none" if matches.target is None else "exact",
        similar=list(map(_present_similar, matches.similar)),
    )
    if matches.repaired is not None:
        found.match, found.repaired = "repaired", _present_similar(matches.repaired)
    return found


def _present_similar(match: MemoryMatch) -> SimilarPairOut:
    return SimilarPairOut(source=match.source, target=match.target, score=match.score)


def present_progress(progress: SegmentDone | SegmentSoFar) -> SegmentEvent | TokensEvent:
    """Return the event for a translation's progress."""
    if isinstance(progress, SegmentSoFar):
        return TokensEvent(**equal_fields(TokensEvent, progress))
    return SegmentEvent(**equal_fields(SegmentEvent, progress, progress.segment))


def present_scores(model: str, scored: Sequence[SegmentTranslation]) -> ScoreResponse:
    """Return scores in the API's form."""
    return ScoreResponse(model=model, scores=[_present_score(one) for one in scored])


def _present_score(scored: SegmentTranslation) -> ScoreOut:
    score = scored.score or 0.0
    return ScoreOut(
        score=score, confidence=math.exp(score), tokens=_tokens([scored]), alignment=_links([scored])
    )


def present_detected(detected: DetectedSource) -> DetectedOut:
    return DetectedOut(language=detected.language, confidence=round(detected.confidence, 4))


def _links(segments: Iterable[SegmentTranslation]) -> list[LinkOut]:
    return [
        LinkOut(source=link.source, target=link.target)
        for segment in segments
        for link in segment.links or ()
    ]


def _tokens(segments: Iterable[SegmentTranslation]) -> list[TokenOut]:
    return [
        TokenOut(text=token.text, logprob=token.logprob)
        for segment in segments
        for token in segment.tokens or ()
    ]


def _steps(route: Route, routed: RoutedTranslation) -> list[StepOut]:
    return [
        StepOut(
            model=step.offer.title, source=step.pair.source, target=step.pair.target, score=step_result.score
        )
        for step, step_result in zip(route.steps, routed.steps, strict=True)
    ]


def _model_name(route: Route | None) -> str | None:
    return None if route is None else " + ".join(step.offer.title for step in route.steps)
