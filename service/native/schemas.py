"""What clients send and get: the OpenAPI document is made of these."""

from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from dragoman import DecodingOptions, FinishReason
from dragoman.decoding.options import MAX_BEAM_SIZE, MAX_LENGTH_PENALTY
from dragoman.routing.results import RoutedTranslation
from dragoman.routing.routes import Route, Way

DEFAULTS = DecodingOptions()
MAX_FIELDS = 100


def _branch(text: Any) -> str | None:
    if isinstance(text, str):
        return "one"
    return "several" if isinstance(text, list) else None


Texts = Annotated[
    Annotated[str, Tag("one")] | Annotated[list[str], Field(fail_fast=True), Tag("several")],
    Discriminator(
        _branch,
        custom_error_type="text_type",
        custom_error_message="Input should be a string or a list of strings",
    ),
]


class TranslateRequest(BaseModel):
    """Texts to translate, and how. Types are strict: no number is read from a string or a boolean."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "examples": [
                {"text": "Guten Morgen."},
                {"text": ["Ein Hund rennt.", "Zwei Kinder spielen."], "source": "de", "target": "en"},
                {"text": "Ein Hund rennt.", "beam_size": 8, "num_hypotheses": 3, "length_penalty": 0.6},
            ]
        },
    )

    # Ranges are documented here and checked by DecodingOptions, for every way into the engine alike.
    text: Texts = Field(description="One text, or a list of them. A text may have many sentences and lines.")
    source: str | None = Field(
        None,
        description="Language of the text, as in `de`. May be left out where only one is possible.",
    )
    target: str | None = Field(
        None,
        description="Language to translate into, as in `en`. May be left out where only one is possible.",
    )
    model: str | None = Field(
        None,
        description="The only model to use, by its name or its folder's. Without it a model for just this "
        "pair goes before one of many languages, and that before two in turn through a third language.",
    )
    beam_size: int | None = Field(
        DEFAULTS.beam_size,
        description="Hypotheses kept alive at each step of the search; 1 is greedy search. Null: the "
        "model's own.",
        json_schema_extra={"minimum": 1, "maximum": MAX_BEAM_SIZE},
    )
    num_hypotheses: int = Field(
        DEFAULTS.num_hypotheses,
        description="Results wanted for each text, the best one counted in; at most `beam_size`.",
        json_schema_extra={"minimum": 1, "maximum": MAX_BEAM_SIZE},
    )
    length_penalty: float | None = Field(
        DEFAULTS.length_penalty,
        description="Exponent alpha of score = logprob / tokens ** alpha. More favours longer translations. "
        "Null: the model's own.",
        json_schema_extra={"minimum": 0, "maximum": MAX_LENGTH_PENALTY},
    )
    early_stopping: bool | None = Field(
        DEFAULTS.early_stopping,
        description="Whether a search ends as soon as `beam_size` hypotheses are finished, or goes on while "
        "a better one may come. Null: the model's own.",
    )
    max_length: int | None = Field(
        DEFAULTS.max_length,
        description="Most target tokens of a segment; null lets the source's length and the model decide.",
        json_schema_extra={"minimum": 1},
    )
    min_length: int = Field(
        DEFAULTS.min_length,
        description="Fewest target tokens of a segment.",
        json_schema_extra={"minimum": 0},
    )
    return_scores: bool = Field(
        DEFAULTS.return_scores, description="Whether scores are given; else they are null."
    )
    use_shortlist: bool = Field(
        DEFAULTS.use_shortlist,
        description="Whether only target tokens that the source makes likely are looked at, where the model "
        "knows which: faster, and almost always the same translation.",
    )

    @model_validator(mode="before")
    @classmethod
    def _has_few_fields(cls, body: object) -> object:
        """A body full of unknown names would cost a second of the event loop to report one by one."""
        if isinstance(body, dict) and len(body) > MAX_FIELDS:
            raise PydanticCustomError(
                "too_many_fields",
                "{count} fields; known are {known}",
                {"count": len(body), "known": ", ".join(cls.model_fields)},
            )
        return body

    def texts(self) -> list[str]:
        """The texts, one or many."""
        return [self.text] if isinstance(self.text, str) else self.text

    def field_of(self, item: int) -> str:
        """How the client would name its n-th text."""
        return "text" if isinstance(self.text, str) else f"text[{item}]"

    def options(self) -> DecodingOptions:
        """The wishes for the search; InputError if one is out of its range."""
        return DecodingOptions(
            beam_size=self.beam_size,
            num_hypotheses=self.num_hypotheses,
            length_penalty=self.length_penalty,
            early_stopping=self.early_stopping,
            max_length=self.max_length,
            min_length=self.min_length,
            return_scores=self.return_scores,
            use_shortlist=self.use_shortlist,
        )


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


class TranslationOut(BaseModel):
    """One text, translated."""

    text: str = Field(description="The best translation.")
    source: str = Field(description="Language translated from.")
    target: str = Field(description="Language translated into.")
    score: float | None = Field(
        description="Log-probability over the number of tokens to the power of `length_penalty`; higher is "
        "better, 0 when all was copied, null when not asked for. Through a third language, the sum of both "
        "steps' scores."
    )
    finish_reason: FinishReason = Field(
        description="`stop`: the model ended it. `length`: a segment reached `max_length` and may be "
        "incomplete. `copied`: there was nothing to translate."
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
                            "finish_reason": "stop",
                        }
                    ],
                }
            ]
        }
    )

    model: str = Field(
        description="Name of the model that translated; through a third language both, joined by ` + `."
    )
    translations: list[TranslationOut] = Field(description="As many as there were texts.")


class Status(BaseModel):
    """How the server is."""

    status: str


def present_translations(
    route: Route, translations: Iterable[RoutedTranslation], num_hypotheses: int
) -> TranslateResponse:
    """Translations as clients see them."""
    return TranslateResponse(
        model=" + ".join(step.offer.title for step in route.steps),
        translations=[_present(route, routed, num_hypotheses) for routed in translations],
    )


def _present(route: Route, routed: RoutedTranslation, num_hypotheses: int) -> TranslationOut:
    """What is left unset is not sent: `alternatives` of one hypothesis, `steps` of one model."""
    translation = routed.translation
    presented = TranslationOut(
        text=translation.text,
        source=route.pair.source,
        target=route.pair.target,
        score=translation.score,
        finish_reason=translation.finish_reason,
    )
    if num_hypotheses > 1:
        presented.alternatives = [
            AlternativeOut(text=other.text, score=other.score) for other in translation.alternatives[1:]
        ]
    if route.way is Way.PIVOT:
        presented.steps = [
            StepOut(
                model=step.offer.title, source=step.pair.source, target=step.pair.target, score=taken.score
            )
            for step, taken in zip(route.steps, routed.steps, strict=True)
        ]
    return presented
