"""Request models; the OpenAPI document contains their schemas."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from dragoman import DecodingOptions
from dragoman.decoding.options import (
    MAX_BEAM_SIZE,
    MAX_LENGTH_PENALTY,
    MAX_NGRAM_SIZE,
    MAX_PREFIX_CHARACTERS,
    MAX_REPETITION_PENALTY,
    MAX_SEED,
    MAX_TEMPERATURE,
    Sampling,
)
from dragoman.types import Splitting
from service.translation.request import TranslationRequest

DEFAULTS = DecodingOptions()
MAX_FIELDS = 100


def _text_tag(text: Any) -> str | None:
    if isinstance(text, str):
        return "one"
    return "several" if isinstance(text, list) else None


Texts = Annotated[
    Annotated[str, Tag("one")] | Annotated[list[str], Field(fail_fast=True), Tag("several")],
    Discriminator(
        _text_tag,
        custom_error_type="text_type",
        custom_error_message="Input should be a string or a list of strings",
    ),
]


class StrictRequest(BaseModel):
    """Base of all requests: reads no number from a string or a boolean, and ignores no field."""

    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _has_few_fields(cls, body: object) -> object:
        """Reject too many fields: to report each unknown name would block the event loop for a second."""
        if isinstance(body, dict) and len(body) > MAX_FIELDS:
            raise PydanticCustomError(
                "too_many_fields",
                "{count} fields; known are {known}",
                {"count": len(body), "known": ", ".join(cls.model_fields)},
            )
        return body


class SamplingIn(StrictRequest):
    """Options of random sampling."""

    top_k: int = Field(
        Sampling().top_k,
        description="Among the most probable tokens, so many; 0: the whole vocabulary, which is slower.",
        json_schema_extra={"minimum": 0},
    )
    top_p: float = Field(
        Sampling().top_p,
        description="Among the fewest of the most probable tokens that together have this probability.",
        json_schema_extra={"exclusiveMinimum": 0, "maximum": 1},
    )
    temperature: float = Field(
        Sampling().temperature,
        description="What log-probabilities are divided by: below 1 probable tokens become more so.",
        json_schema_extra={"exclusiveMinimum": 0, "maximum": MAX_TEMPERATURE},
    )
    seed: int | None = Field(
        None,
        description="The same seed draws the same again; null: another one each time.",
        json_schema_extra={"minimum": 0, "maximum": MAX_SEED},
    )

    def sampling(self) -> Sampling:
        """Return the engine's sampling options."""
        return Sampling(self.top_k, self.top_p, self.temperature, self.seed)


class TranslateRequest(StrictRequest):
    """Texts to translate, and how. Types are strict: no number is read from a string or a boolean."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"text": "Guten Morgen."},
                {"text": ["Ein Hund rennt.", "Zwei Kinder spielen."], "source": "de", "target": "en"},
                {"text": "Ein Hund rennt.", "beam_size": 8, "num_hypotheses": 3, "length_penalty": 0.6},
            ]
        },
    )

    # These ranges are documentation. DecodingOptions checks them for every caller of the engine.
    text: Texts = Field(description="One text, or a list of them. A text may have many sentences and lines.")
    source: str | None = Field(
        None,
        description="Language of the texts, as in `de`. Left out, null or `auto`: detected for each text by "
        "itself, among the languages that something translates into the target and the target itself. A text "
        "that is clearly in the target language already is left as it is.",
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

    repetition_penalty: float = Field(
        DEFAULTS.repetition_penalty,
        description="Log-probabilities of tokens said before are multiplied by it: above 1, fewer of them "
        "are said again.",
        json_schema_extra={"minimum": 1, "maximum": MAX_REPETITION_PENALTY},
    )
    no_repeat_ngram_size: int = Field(
        DEFAULTS.no_repeat_ngram_size,
        description="No so many tokens in a row are said twice in a segment; 0: no such rule.",
        json_schema_extra={"minimum": 0, "maximum": MAX_NGRAM_SIZE},
    )
    sampling: SamplingIn | None = Field(
        None,
        description="Draw tokens at random instead of looking for the best; `num_hypotheses` are drawn. Not "
        "together with a `beam_size` above 1.",
    )
    target_prefix: str = Field(
        DEFAULTS.target_prefix,
        description="What the translation begins with: part of a line, without control characters; of a text "
        "of several segments, its first one's. Its characters count among the texts'.",
        json_schema_extra={"maxLength": MAX_PREFIX_CHARACTERS},
    )
    splitting: Splitting = Field(
        DEFAULTS.splitting,
        strict=False,
        description="Where texts are cut into segments: `sentences`: at line breaks and at sentence ends. "
        "`no_newlines`: at sentence ends only. `off`: nowhere. What is too long is cut in any case.",
    )
    return_alignment: bool = Field(
        DEFAULTS.return_alignment, description="Whether words are given that say the same."
    )
    return_tokens: bool = Field(
        DEFAULTS.return_tokens, description="Whether tokens are given with their log-probabilities."
    )

    def texts(self) -> list[str]:
        """Return the texts, one or many."""
        return [self.text] if isinstance(self.text, str) else self.text

    def translation_request(self) -> TranslationRequest:
        """Return the request to the translation service; raise InputError if an option is out of range."""
        return TranslationRequest(tuple(self.texts()), self.target, self.source, self.model, self.options())

    def field_name(self, position: int) -> str:
        """Return the name of a text in the client's request."""
        return "text" if isinstance(self.text, str) else f"text[{position}]"

    def options(self) -> DecodingOptions:
        """Return the options of the search; raise InputError if one is out of range."""
        return DecodingOptions(
            beam_size=self.beam_size,
            num_hypotheses=self.num_hypotheses,
            length_penalty=self.length_penalty,
            early_stopping=self.early_stopping,
            max_length=self.max_length,
            min_length=self.min_length,
            return_scores=self.return_scores,
            use_shortlist=self.use_shortlist,
            repetition_penalty=self.repetition_penalty,
            no_repeat_ngram_size=self.no_repeat_ngram_size,
            sampling=None if self.sampling is None else self.sampling.sampling(),
            target_prefix=self.target_prefix,
            splitting=self.splitting,
            return_alignment=self.return_alignment,
            return_tokens=self.return_tokens,
        )


class StreamRequest(TranslateRequest):
    """Texts to translate, of which is told as it is done."""

    stream_tokens: bool = Field(
        False,  # noqa: FBT003 -- a field's default
        description="Whether the beginnings of segments are told token by token; wants a `beam_size` of 1.",
    )


class GivenPair(StrictRequest):
    """A segment and a translation that somebody made of it."""

    source: str = Field(description="A sentence or so; it is not cut.")
    target: str = Field(description="Its translation.")


class ScoreRequest(StrictRequest):
    """Translations to be read by a model."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "pairs": [{"source": "Ein Hund rennt.", "target": "A dog is running."}],
                    "source": "de",
                    "target": "en",
                }
            ]
        },
    )

    pairs: list[GivenPair] = Field(fail_fast=True, description="What is read, each pair by itself.")
    source: str | None = Field(
        None, description="Language of the sources. May be left out where only one is possible."
    )
    target: str | None = Field(
        None, description="Language of the targets. May be left out where only one is possible."
    )
    model: str | None = Field(None, description="The model that reads, by its name or its folder's.")

    def texts(self) -> list[tuple[str, str]]:
        """Return source and target of each pair."""
        return [(pair.source, pair.target) for pair in self.pairs]


class DetectRequest(StrictRequest):
    """Texts whose languages are asked for."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": ["Guten Morgen.", "Good morning."]}]})

    text: Texts = Field(description="One text, or a list of them.")

    def texts(self) -> list[str]:
        """Return the texts, one or many."""
        return [self.text] if isinstance(self.text, str) else self.text
