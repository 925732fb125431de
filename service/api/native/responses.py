"""Response models; the OpenAPI document contains their schemas."""

import math
from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from dragoman import DecodingOptions, FinishReason, SegmentTranslation, Translation
from dragoman.routing.results import RoutedTranslation
from dragoman.routing.routes import Route, RouteKind
from service.translation.request import DetectedSource, TranslationResult
from service.translation.translation_service import SegmentDone, SegmentSoFar

Span = Annotated[
    tuple[int, int],
    WithJsonSchema({"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}),
]
"""Start and end. Its schema is a plain array: few client generators support items with types of their own."""


class AlternativeOut(BaseModel):
    """A translation that was not the best."""

    text: str
    score: float | None = Field(description="Length-normalised log-probability; null when not asked for.")


class StepOut(BaseModel):
    """One model's part in a translation through a third language."""

    model: str = Field(description="Name of the model.")
    source: str = Field(description="Language translated from.")
    target: str = Field(description="Language translated into.")
    score: float | None = Field(description="Of this step alone; null when not asked for.")


class DetectedOut(BaseModel):
    """A language that a text seems to be in."""

    language: str = Field(description="Its code; `und` where there is none to tell.")
    confidence: float = Field(description="0 to 1.")


class LinkOut(BaseModel):
    """A word or less of a text, and of its translation, that say the same."""

    source: Span = Field(description="From and up to which character of the text.")
    target: Span = Field(description="From and up to which character of the translation.")


class TokenOut(BaseModel):
    """A token of a translation."""

    text: str = Field(description="The piece as the model's vocabulary spells it.")
    logprob: float = Field(description="Natural logarithm of its probability.")


class TranslationOut(BaseModel):
    """One text, translated."""

    text: str = Field(description="The best translation.")
    source: str = Field(description="Language translated from; `und` of a text without letters.")
    target: str = Field(description="Language translated into.")
    detected: DetectedOut = Field(
        default_factory=lambda: DetectedOut(language="und", confidence=0.0),
        description="Present only when the language was detected.",
    )
    score: float | None = Field(
        description="Log-probability over the number of tokens to the power of `length_penalty`; higher is "
        "better, 0 when all was copied, null when not asked for. Through a third language, the sum of both "
        "steps' scores."
    )
    confidence: float | None = Field(
        description="Geometric mean of the probabilities of the tokens, 0 to 1; through a third language the "
        "product of both steps'. Null when scores were not asked for."
    )
    finish_reason: FinishReason = Field(
        description="`stop`: the model ended it. `length`: a segment reached `max_length` and may be "
        "incomplete. `unsupported`: a segment stands as it is, since half of its letters or more are in a "
        "script that the model does not know. `copied`: there was nothing to translate."
    )
    alternatives: list[AlternativeOut] = Field(
        default_factory=list,
        description="Present only when `num_hypotheses` is over 1: the hypotheses after the best one (which "
        "is `text`), best first. There are `num_hypotheses` - 1 of them, or fewer if the text has no more.",
    )
    steps: list[StepOut] = Field(
        default_factory=list,
        description="Present only when the text went through a third language: both steps, in order.",
    )
    alignment: list[LinkOut] = Field(
        default_factory=list,
        description="Present only when asked for: words that say the same, in the translation's order.",
    )
    tokens: list[TokenOut] = Field(
        default_factory=list,
        description="Present only when asked for: the translation's tokens, each segment's end included.",
    )


class TranslateResponse(BaseModel):
    """Translations in the order of the request's texts."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
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
            ]
        }
    )

    model: str | None = Field(
        description="Name of the model that translated; through a third language both, joined by ` + `. Null "
        "where texts went through different ones, or through none."
    )
    translations: list[TranslationOut] = Field(description="As many as there were texts.")


class ScoreOut(BaseModel):
    """A model's score of a given translation."""

    score: float = Field(description="Mean log-probability of its tokens; higher is better.")
    confidence: float = Field(description="Geometric mean of their probabilities, 0 to 1.")
    tokens: list[TokenOut] = Field(description="Of the translation, its end included.")
    alignment: list[LinkOut] = Field(description="Words that say the same, in the translation's order.")


class ScoreResponse(BaseModel):
    """Scores in the order of the request's pairs."""

    model: str = Field(description="Name of the model that read them.")
    scores: list[ScoreOut] = Field(description="As many as there were pairs.")


class DetectResponse(BaseModel):
    """Languages in the order of the request's texts."""

    detections: list[list[DetectedOut]] = Field(
        description="For each text the served languages that it may be in, the most likely first; `und` "
        "alone where it is in none of them."
    )


class SegmentEvent(BaseModel):
    """A segment is done, and so are all before it in its text. Sent as the event `segment`."""

    item: int = Field(description="Position of its text in the request.")
    number: int = Field(description="Position in its text.")
    source: str = Field(description="The segment; through a third language, in that.")
    text: str = Field(description="Its translation.")
    source_span: Span = Field(
        description="From and up to which character of the text it goes; through a third language, of its "
        "text there."
    )
    span: Span = Field(description="From and up to which character of the translation it goes.")
    score: float | None = Field(description="Null when not asked for.")
    finish_reason: FinishReason


class TokensEvent(BaseModel):
    """The beginning of a segment, which replaces what was told of it before. Sent as the event `tokens`."""

    item: int = Field(description="Position of its text in the request.")
    number: int = Field(description="Position in its text.")
    text: str = Field(description="Its translation so far.")


class Status(BaseModel):
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
    if result.detected is not None:
        presented.detected = present_detected(result.detected)
    if options.num_hypotheses > 1:
        presented.alternatives = []
    if options.return_alignment:
        presented.alignment = []
    if options.return_tokens:
        presented.tokens = []
    if result.route is not None:
        (routed,) = result.parts
        _add_translation(presented, routed.translation, options)
        if result.route.way is RouteKind.PIVOT:
            presented.steps = _steps(result.route, routed)
    return presented


def present_progress(progress: SegmentDone | SegmentSoFar) -> SegmentEvent | TokensEvent:
    """Return the event for a translation's progress."""
    if isinstance(progress, SegmentSoFar):
        return TokensEvent(item=progress.item, number=progress.number, text=progress.text)
    segment = progress.segment
    return SegmentEvent(
        item=progress.item,
        number=progress.number,
        source=segment.source,
        text=segment.text,
        source_span=segment.source_span,
        span=segment.span,
        score=segment.score,
        finish_reason=segment.finish_reason,
    )


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


def _add_translation(presented: TranslationOut, translation: Translation, options: DecodingOptions) -> None:
    presented.score, presented.confidence = translation.score, translation.confidence
    presented.finish_reason = translation.finish_reason
    if options.num_hypotheses > 1:
        presented.alternatives = [
            AlternativeOut(text=other.text, score=other.score) for other in translation.alternatives[1:]
        ]
    if options.return_alignment:
        presented.alignment = _links(translation.segments)
    if options.return_tokens:
        presented.tokens = _tokens(translation.segments)


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
