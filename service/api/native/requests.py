"""Request models; the OpenAPI document contains their schemas."""

from dataclasses import fields
from typing import Annotated, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from dragoman import DecodingOptions
from dragoman.decoding import options as decoding
from dragoman.terms import MAX_FORMS
from dragoman.types import Formality, Splitting
from service.accounts.keys import Caller
from service.glossaries.glossary_service import GlossaryService
from service.glossaries.json_terms import read_request_terms
from service.glossaries.terminology import MAX_TERMS
from service.http.openapi import DocumentedModel, examples
from service.http.validation import Texts, listed
from service.settings.groups import MAX_TEXTS
from service.text.options import PlaceholderMode
from service.translation.memory import MAX_THRESHOLD, MemoryUse
from service.translation.options import TranslationOptions
from service.translation.request import TranslationRequest
from service.translation.terms import find_terms

DEFAULTS = DecodingOptions()
DEFAULT_MATCHES, MAX_MATCHES = 3, 10


class StrictRequest(DocumentedModel):
    """Base of all requests: reads no number from a string or a boolean, and ignores no field."""

    model_config = ConfigDict(extra="forbid", strict=True)


class SamplingIn(StrictRequest):
    """Options of random sampling."""

    top_k: int = Field(decoding.Sampling().top_k, json_schema_extra={"minimum": 0})
    """Number of most probable tokens to draw from; 0 uses the whole vocabulary, which is slower."""
    top_p: float = Field(decoding.Sampling().top_p, json_schema_extra={"exclusiveMinimum": 0, "maximum": 1})
    """Draw from the smallest set of most probable tokens whose probabilities reach this sum."""
    temperature: float = Field(
        decoding.Sampling().temperature,
        json_schema_extra={"exclusiveMinimum": 0, "maximum": decoding.MAX_TEMPERATURE},
    )
    """Divisor of the log-probabilities; values below 1 make probable tokens more probable."""
    seed: int | None = Field(None, json_schema_extra={"minimum": 0, "maximum": decoding.MAX_SEED})
    """Seed of the random numbers; the same seed gives the same result. Null: a new seed each time."""

    def sampling(self) -> decoding.Sampling:
        """Return the engine's sampling options."""
        return decoding.Sampling(self.top_k, self.top_p, self.temperature, self.seed)


class TermIn(StrictRequest):
    """A term with its allowed translations."""

    source: str
    """Words of the source language, found in any inflection."""
    target: str | None = None
    """The translation to use, in the inflection that fits."""
    targets: Annotated[list[str], Field(max_length=MAX_FORMS, fail_fast=True)] | None = None
    """Several allowed translations instead, the preferred one first. Without any, the words are kept."""

    @model_validator(mode="after")
    def _has_one_kind(self) -> Self:
        if self.target is not None and self.targets is not None:
            raise PydanticCustomError("two_kinds", "has `target` and `targets`; send one of them")
        return self

    def entry(self) -> tuple[str, list[str]]:
        """Return the term and its translations."""
        return self.source, (self.targets or []) if self.target is None else [self.target]


class TranslateRequest(StrictRequest):
    """Texts to translate, with options. Types are strict: a string is never read as a number."""

    model_config = examples(
        {"text": "Guten Morgen."},
        {"text": ["Ein Hund rennt.", "Zwei Kinder spielen."], "source": "de", "target": "en"},
        {"text": "Ein Hund rennt.", "beam_size": 8, "num_hypotheses": 3, "length_penalty": 0.6},
    )

    # These ranges are documentation. DecodingOptions checks them for every caller of the engine.
    text: Texts
    """One text or a list of texts. A text may have many sentences and lines."""
    source: str | None = None
    """Source language, as in `de`. Omitted, null or `auto`: detected for each text, among the languages
    with a route to the target and the target itself. A text that is clearly in the target language is
    returned unchanged."""
    target: str | None = None
    """Target language, as in `en`. May be omitted if only one is possible."""
    model: str | None = None
    """Name of the only model to use, or its folder's name. Omitted: the server prefers a model of this
    pair, then a multilingual model, then two models with a pivot language."""
    beam_size: int | None = Field(
        DEFAULTS.beam_size, json_schema_extra={"minimum": 1, "maximum": decoding.MAX_BEAM_SIZE}
    )
    """Number of hypotheses kept at each step of beam search; 1 is greedy search. Null: the model's
    default."""
    num_hypotheses: int = Field(
        DEFAULTS.num_hypotheses, json_schema_extra={"minimum": 1, "maximum": decoding.MAX_BEAM_SIZE}
    )
    """Number of translations to return for each text, including the best one; at most `beam_size`."""
    length_penalty: float | None = Field(
        DEFAULTS.length_penalty, json_schema_extra={"minimum": 0, "maximum": decoding.MAX_LENGTH_PENALTY}
    )
    """Exponent alpha of score = logprob / tokens ** alpha; a higher value favours longer translations.
    Null: the model's default."""
    early_stopping: bool | None = DEFAULTS.early_stopping
    """Whether a search ends when `beam_size` hypotheses are finished; otherwise it continues while a
    better one is possible. Null: the model's default."""
    max_length: int | None = Field(DEFAULTS.max_length, json_schema_extra={"minimum": 1})
    """Maximum number of target tokens per segment. Null: depends on the source's length and the model."""
    min_length: int = Field(DEFAULTS.min_length, json_schema_extra={"minimum": 0})
    """Minimum number of target tokens per segment."""
    return_scores: bool = DEFAULTS.return_scores
    """Whether to return scores; otherwise they are null."""
    use_shortlist: bool = DEFAULTS.use_shortlist
    """Whether to restrict the search to target tokens that are likely for the source, if the model has a
    shortlist: faster, and almost always the same translation."""

    repetition_penalty: float = Field(
        DEFAULTS.repetition_penalty,
        json_schema_extra={"minimum": 1, "maximum": decoding.MAX_REPETITION_PENALTY},
    )
    """Factor on the log-probabilities of tokens that are already in the translation; values above 1 reduce
    repetition."""
    no_repeat_ngram_size: int = Field(
        DEFAULTS.no_repeat_ngram_size, json_schema_extra={"minimum": 0, "maximum": decoding.MAX_NGRAM_SIZE}
    )
    """Block repeated n-grams of this size within a segment; 0 disables the check."""
    sampling: SamplingIn | None = None
    """Sample tokens at random instead of searching for the best; `num_hypotheses` samples are drawn.
    Excludes a `beam_size` above 1."""
    target_prefix: str = Field(
        DEFAULTS.target_prefix, json_schema_extra={"maxLength": decoding.MAX_PREFIX_CHARACTERS}
    )
    """Beginning of the translation: part of a line, without control characters. If the text has several
    segments, it applies to the first. Its characters are counted like those of the texts."""
    context: str = DEFAULTS.context
    """Text before each text, which is neither translated nor counted. Where the model reads short neighbours
    together, a first sentence with a pronoun is read with the last one of the context."""
    splitting: Splitting = Field(DEFAULTS.splitting, strict=False)
    """Splitting of texts into segments. `sentences`: at line breaks and sentence ends. `no_newlines`: at
    sentence ends only. `off`: nowhere. Segments that are too long are always split."""
    formality: Formality | None = Field(DEFAULTS.formality, strict=False)
    """Form of address: `formal` as with German `Sie`, `informal` as with `du`. Rejected
    where the model does not know forms of address (see `/v1/languages`); `prefer_formal` and
    `prefer_informal` are then without effect. Null: the model chooses."""
    placeholders: PlaceholderMode = Field(PlaceholderMode.AUTO, strict=False)
    """Whether placeholders (`{name}`, `%s`), ICU messages, addresses, paths and code are kept intact. `auto`:
    they are, except with a `target_prefix`. `off`: texts go to the model as they are."""
    glossary: str | None = None
    """Id of a glossary, whose entries for each text's language pair are applied."""
    terms: list[TermIn] = Field([], max_length=MAX_TERMS, fail_fast=True)
    """Terms of this request, which take precedence over those of the glossary. Terms exclude `sampling`,
    `repetition_penalty` and `no_repeat_ngram_size`, and pairs that are translated through a pivot."""
    forbidden: list[str] = Field([], max_length=MAX_TERMS, fail_fast=True)
    """Phrases of the target language that no translation may contain."""
    memory: str | None = None
    """Id of a translation memory: a text that equals a source in it gets its translation, and no model runs.
    Languages that are omitted, or `auto`, are those of the memory."""
    memory_matches: int = Field(DEFAULT_MATCHES, ge=0, le=MAX_MATCHES)
    """With `memory`: maximum number of similar pairs to return for each text; 0 for more than 100 texts."""
    memory_threshold: int = Field(MAX_THRESHOLD, ge=0, le=MAX_THRESHOLD)
    """With `memory`: similarity in per cent from which a pair is used that differs from the text only in
    numbers and placeholders, with these replaced. 100: only equal sources."""
    return_alignment: bool = DEFAULTS.return_alignment
    """Whether to return word alignments."""
    return_tokens: bool = DEFAULTS.return_tokens
    """Whether to return tokens with their log-probabilities."""

    def texts(self) -> list[str]:
        """Return the texts, one or many."""
        return listed(self.text)

    def memory_use(self) -> MemoryUse | None:
        """Return which translation memory is used; None for none."""
        if self.memory is None:
            return None
        return MemoryUse(self.memory, self.memory_matches, self.memory_threshold / MAX_THRESHOLD)

    async def translation_request(self, glossaries: GlossaryService, caller: Caller) -> TranslationRequest:
        """Return the request to the translation service.

        Raises:
            InputError: an option is out of range.
            GlossaryInvalid: a term cannot be used.
            UnknownGlossary: the caller has no such glossary.
        """
        named = [] if self.glossary is None else [self.glossary]
        terminology = await find_terms(
            glossaries,
            caller,
            named,
            read_request_terms([term.entry() for term in self.terms], self.forbidden),
        )
        return TranslationRequest(
            tuple(self.texts()),
            self.target,
            self.source,
            TranslationOptions(self.options(), self.model, self.placeholders),
            terminology=terminology,
        )

    def field_name(self, position: int) -> str:
        """Return the name of a text in the client's request."""
        return "text" if isinstance(self.text, str) else f"text[{position}]"

    def options(self) -> DecodingOptions:
        """Return the options of the search; raise InputError if one is out of range."""
        sampling = None if self.sampling is None else self.sampling.sampling()
        return DecodingOptions(**{name: getattr(self, name) for name in OPTIONS} | {"sampling": sampling})


OPTIONS = tuple(each.name for each in fields(DecodingOptions) if each.name in TranslateRequest.model_fields)


class StreamRequest(TranslateRequest):
    """Texts to translate; each finished segment is sent as an event."""

    stream_tokens: bool = False
    """Whether to send unfinished segments token by token as well; requires a `beam_size` of 1."""


class GivenPair(StrictRequest):
    """A source segment and a given translation of it."""

    source: str
    """One segment, about a sentence; it is not split."""
    target: str
    """The translation to score."""


class ScoreRequest(StrictRequest):
    """Given translations to score with a model."""

    model_config = examples(
        {
            "pairs": [{"source": "Ein Hund rennt.", "target": "A dog is running."}],
            "source": "de",
            "target": "en",
        }
    )

    pairs: list[GivenPair] = Field(max_length=MAX_TEXTS, fail_fast=True)
    """Pairs to score, each on its own."""
    source: str | None = None
    """Source language. May be omitted if only one is possible."""
    target: str | None = None
    """Target language. May be omitted if only one is possible."""
    model: str | None = None
    """Name of the model, or its folder's name."""

    def texts(self) -> list[tuple[str, str]]:
        """Return source and target of each pair."""
        return [(pair.source, pair.target) for pair in self.pairs]


class DetectRequest(StrictRequest):
    """Texts whose language to detect."""

    model_config = examples({"text": ["Guten Morgen.", "Good morning."]})

    text: Texts
    """One text or a list of texts."""

    def texts(self) -> list[str]:
        """Return the texts, one or many."""
        return listed(self.text)
