"""The nouns of a translation, shared by every part of the engine and by its callers."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class FinishReason(StrEnum):
    """Why a hypothesis, a segment or a text ended where it ends."""

    STOP = "stop"
    """The model ended it."""
    LENGTH = "length"
    """It reached `max_length` first; the translation may be incomplete."""
    COPIED = "copied"
    """There was nothing to translate (no letter in it), so the source stands unchanged."""
    UNSUPPORTED = "unsupported"
    """At least half of its letters are in a script that the model does not know, so the source stands
    unchanged."""


class Priority(IntEnum):
    """Who goes first when more is asked for than can run at once."""

    INTERACTIVE = 0
    """Somebody waits for the answer."""
    JOB = 1
    """Part of a long list; goes on at the latest when it was passed over a few times."""


class Splitting(StrEnum):
    """Where a text is cut into segments. What is too long for the model is cut in any case."""

    SENTENCES = "sentences"
    """At line breaks and at sentence ends."""
    NO_NEWLINES = "no_newlines"
    """At sentence ends only: line breaks are white space."""
    OFF = "off"
    """Not at all."""


class Pair(NamedTuple):
    """Languages as BCP-47 codes: `de`, `zh-Hans`."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"


class Method(StrEnum):
    """What is done with a source."""

    SEARCH = "search"
    """The best target is looked for: greedily, or with a beam."""
    FILTERED = "filtered"
    """The same among fewer or other candidates: repetitions are made less likely, or forbidden."""
    SAMPLE = "sample"
    """Targets are drawn at random."""
    SCORE = "score"
    """A given target is read: how probable each of its tokens is, and what of the source it says."""
    ALIGN = "align"
    """A given target is read: what of the source each of its tokens says."""


class SearchKind(NamedTuple):
    """What sources must have in common to be searched for side by side."""

    beam_size: int
    """Rows of every source."""
    is_shortlisted: bool = False
    """Only target tokens on the source's shortlist are looked at."""
    method: Method = Method.SEARCH


class Span(NamedTuple):
    """Part of a text, in characters."""

    start: int
    end: int
    """Of the first character after it."""


class Link(NamedTuple):
    """A part of a source and a part of its translation that say the same, each a word or less."""

    source: Span
    target: Span


@dataclass(frozen=True, slots=True)
class Token:
    """A target token with its log-probability."""

    text: str
    """The piece as the vocabulary spells it."""
    logprob: float


@dataclass(frozen=True, slots=True, eq=False)
class Reading:
    """What a model makes of a target that it was given, the end-of-sentence token included."""

    logprobs: tuple[float, ...]
    """Natural logarithm of each token's probability, [T]; empty where only the alignment was asked for."""
    attention: NDArray[np.float32]
    """What each token says of the source, float32 [T, S]: each row adds up to 1."""


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One result of a search, as ids."""

    ids: tuple[int, ...]
    """Target tokens, without the end-of-sentence id."""
    logprob: float
    """Natural logarithm of the probability of all tokens, the end-of-sentence one included if it came."""
    num_tokens: int
    """Tokens scored: len(ids), plus those that its target was made to begin with, plus one if the
    end-of-sentence id came."""
    score: float
    """`logprob` normalised by length; higher is better."""
    finish_reason: FinishReason
    reading: Reading | None = None
    """Of the given target; None of one that was searched for."""


@dataclass(frozen=True, slots=True)
class SegmentTranslation:
    """One segment (a sentence, or part of one too long for the model) with its best hypothesis."""

    source: str
    text: str
    score: float | None
    """Length-normalised log-probability; None when scores were not asked for."""
    finish_reason: FinishReason
    num_source_tokens: int
    num_target_tokens: int
    """Those that scores count: a language's own and the end of sentence among them, as in the source."""
    source_span: Span
    """Where `source` stands in the text."""
    span: Span
    """Where `text` stands in the text's translation."""
    links: tuple[Link, ...] | None = None
    """Words of `source` and of `text` that say the same, by their places in the whole text and in its whole
    translation, in the translation's order; None when not asked for."""
    tokens: tuple[Token, ...] | None = None
    """Of `text`, the end-of-sentence one included; None when not asked for."""


@dataclass(frozen=True, slots=True)
class Alternative:
    """A whole text made of every segment's n-th best hypothesis."""

    text: str
    score: float | None


@dataclass(frozen=True, slots=True)
class Translation:
    """One text, translated."""

    text: str
    score: float | None
    """Log-probability of all segments over their tokens' number to the power of the length penalty;
    None when scores were not asked for, 0 when all was copied."""
    finish_reason: FinishReason
    """`length` if any segment was cut by the limit, else `unsupported` if any stands unchanged as the model
    does not know its script, else `stop` if any was translated, else `copied`."""
    segments: tuple[SegmentTranslation, ...]
    alternatives: tuple[Alternative, ...]
    """Best first; `num_hypotheses` of them, the first equal to `text`. A segment that has fewer
    hypotheses lends its last."""
    confidence: float | None = None
    """Geometric mean of the probabilities of all tokens, 0 to 1; None when scores were not asked for. Where
    no segment was translated, 1, or 0 if the model does not know the script of one."""
