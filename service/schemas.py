"""What clients send and get: the OpenAPI document is made of these."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from dragoman import DecodingOptions, FinishReason, Translation
from dragoman.bundle import Limits, Manifest, Sizes
from dragoman.decoding.options import MAX_BEAM_SIZE
from service.bundles import size_bytes

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
        None, description="Language of the text, as in `de`. When given it must be the model's."
    )
    target: str | None = Field(
        None, description="Language to translate into, as in `en`. When given it must be the model's."
    )
    beam_size: int = Field(
        DEFAULTS.beam_size,
        description="Hypotheses kept alive at each step of the search; 1 is greedy search.",
        json_schema_extra={"minimum": 1, "maximum": MAX_BEAM_SIZE},
    )
    num_hypotheses: int = Field(
        DEFAULTS.num_hypotheses,
        description="Results wanted for each text, the best one counted in; at most `beam_size`.",
        json_schema_extra={"minimum": 1, "maximum": MAX_BEAM_SIZE},
    )
    length_penalty: float = Field(
        DEFAULTS.length_penalty,
        description="Exponent alpha of score = logprob / tokens ** alpha. More favours longer translations.",
        json_schema_extra={"minimum": 0, "maximum": 10},
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
            max_length=self.max_length,
            min_length=self.min_length,
            return_scores=self.return_scores,
            use_shortlist=self.use_shortlist,
        )


class AlternativeOut(BaseModel):
    """A translation that was not the best."""

    text: str
    score: float | None = Field(description="Length-normalised log-probability; null when not asked for.")


class TranslationOut(BaseModel):
    """One text, translated."""

    text: str = Field(description="The best translation.")
    source: str = Field(description="Language translated from.")
    target: str = Field(description="Language translated into.")
    score: float | None = Field(
        description="Log-probability over the number of tokens to the power of `length_penalty`; higher is "
        "better, 0 when all was copied, null when not asked for."
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

    model: str = Field(description="Name of the model that translated.")
    translations: list[TranslationOut] = Field(description="As many as there were texts.")


class ModelOut(BaseModel):
    """A model that is served, as its manifest describes it."""

    name: str
    source: str = Field(description="Language translated from.")
    target: str = Field(description="Language translated into.")
    precision: str = Field(description="Of the weights, as in `int8`.")
    limits: Limits = Field(description="In tokens of one segment; longer texts are cut into segments.")
    sizes: Sizes = Field(description="The graphs' dimensions.")
    size_bytes: int = Field(description="All files of the bundle together.")
    licence: str = Field(description="Of the weights.")
    scores: dict[str, Any] = Field(description="Measured quality, by test set.")


class ModelsResponse(BaseModel):
    """Models that are served."""

    models: list[ModelOut]


class Status(BaseModel):
    """How the server is."""

    status: str


def present_translation(translation: Translation, manifest: Manifest, num_hypotheses: int) -> TranslationOut:
    """A translation as clients see it; `alternatives` stays unset, and so unsent, for one hypothesis."""
    presented = TranslationOut(
        text=translation.text,
        source=manifest.source_language,
        target=manifest.target_language,
        score=translation.score,
        finish_reason=translation.finish_reason,
    )
    if num_hypotheses > 1:
        presented.alternatives = [
            AlternativeOut(text=other.text, score=other.score) for other in translation.alternatives[1:]
        ]
    return presented


def present_model(manifest: Manifest) -> ModelOut:
    """A manifest as clients see it."""
    return ModelOut(
        name=manifest.name,
        source=manifest.source_language,
        target=manifest.target_language,
        precision=manifest.precision,
        limits=manifest.limits,
        sizes=manifest.sizes,
        size_bytes=size_bytes(manifest),
        licence=manifest.licence,
        scores=dict(manifest.scores),
    )
