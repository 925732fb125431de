"""Types of requests and results that the whole engine and its callers share."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class FinishReason(StrEnum):
    """Why a hypothesis, a segment or a text ended."""

    STOP = "stop"
    """The model ended it."""
    LENGTH = "length"
    """It reached `max_length` first; the translation may be incomplete."""
    COPIED = "copied"
    """There was nothing to translate (no letters), so the source was copied."""
    UNSUPPORTED = "unsupported"
    """At least half of its letters are in a script that the model does not know, so the source was copied."""


class Priority(IntEnum):
    """Rank of segments when not all can run at once."""

    INTERACTIVE = 0
    """A user waits for the answer."""
    JOB = 1
    """Part of a long list; runs at the latest after being passed over a few times."""


class Splitting(StrEnum):
    """Positions at which a text is split into segments; too long ones are always split."""

    SENTENCES = "sentences"
    """At line breaks and at sentence ends."""
    NO_NEWLINES = "no_newlines"
    """Only at sentence ends: line breaks are white space."""
    OFF = "off"
    """Nowhere."""


class Formality(StrEnum):
    """Form of address in languages such as German: `Sie` or `du`."""

    FORMAL = "formal"
    INFORMAL = "informal"
    PREFER_FORMAL = "prefer_formal"
    """Like `formal`, but without effect where the model does not know forms of address."""
    PREFER_INFORMAL = "prefer_informal"


class Pair(NamedTuple):
    """Languages as BCP-47 codes: `de`, `zh-Hans`."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"


class Method(StrEnum):
    """Kind of work for a source."""

    SEARCH = "search"
    """Search for the best target, greedily or with a beam."""
    FILTERED = "filtered"
    """Search with filters that make repetitions less likely or forbid them."""
    CONSTRAINED = "constrained"
    """Search for targets with required phrases and without forbidden ones."""
    SAMPLE = "sample"
    """Draw targets at random."""
    SCORE = "score"
    """Force a given target: log-probability of each token, and attention to the source."""
    ALIGN = "align"
    """Force a given target: only its attention to the source."""


class SearchKind(NamedTuple):
    """Properties that sources must have in common to share a lane."""

    beam_size: int
    """Number of rows per source."""
    is_shortlisted: bool = False
    """Whether only target tokens on the source's shortlist are computed."""
    method: Method = Method.SEARCH


class Span(NamedTuple):
    """Part of a text, in characters."""

    start: int
    end: int
    """Index of the first character after it."""

    def overlaps(self, other: "Span") -> bool:
        """Return whether a character is in both."""
        return self.start < other.end and other.start < self.end


class Link(NamedTuple):
    """Aligned parts of a source and its translation, each a word or less."""

    source: Span
    target: Span


@dataclass(frozen=True, slots=True)
class Token:
    """A target token with its log-probability."""

    text: str
    """The piece as the vocabulary spells it."""
    logprob: float


@dataclass(frozen=True, slots=True, eq=False)
class ForcedDecoding:
    """Result of forced decoding for each target token, including the end-of-sentence one."""

    logprobs: tuple[float, ...]
    """Natural logarithm of each token's probability, [T]; empty if only alignment was requested."""
    attention: NDArray[np.float32]
    """Attention of each token to the source, float32 [T, S]: each row adds up to 1."""


class Hypothesis(NamedTuple):
    """One result of a search, as ids."""

    ids: tuple[int, ...]
    """Target tokens, without the end-of-sentence id."""
    logprob: float
    """Natural logarithm of the probability of all tokens, including the end-of-sentence one, if present."""
    num_tokens: int
    """Number of scored tokens: len(ids), plus the forced ones of the target's beginning, plus one if the
    end-of-sentence id is present."""
    score: float
    """`logprob` normalised by length; higher is better."""
    finish_reason: FinishReason
    reading: ForcedDecoding | None = None
    """Result of forced decoding; None if the target was searched for."""


class SegmentTranslation(NamedTuple):
    """A segment (a sentence, or part of one too long for the model) with its best hypothesis."""

    source: str
    text: str
    score: float | None
    """Length-normalised log-probability; None if scores were not requested."""
    finish_reason: FinishReason
    num_source_tokens: int
    num_target_tokens: int
    """Number of tokens that scores count, including language and end-of-sentence tokens, as in the source."""
    source_span: Span
    """Position of `source` in the text."""
    span: Span
    """Position of `text` in the text's translation."""
    links: tuple[Link, ...] | None = None
    """Aligned words of `source` and `text`, as positions in the whole text and its whole translation, in the
    translation's order; None if not requested."""
    tokens: tuple[Token, ...] | None = None
    """Tokens of `text`, including the end-of-sentence one; None if not requested."""


class Alternative(NamedTuple):
    """A whole text made of every segment's n-th best hypothesis."""

    text: str
    score: float | None


class Translation(NamedTuple):
    """One text, translated."""

    text: str
    score: float | None
    """Log-probability of all segments, divided by their number of tokens to the power of the length penalty;
    None if scores were not requested, 0 if everything was copied."""
    finish_reason: FinishReason
    """`length` if the limit cut any segment, else `unsupported` if any was copied because the model does not
    know its script, else `stop` if any was translated, else `copied`."""
    segments: tuple[SegmentTranslation, ...]
    alternatives: tuple[Alternative, ...]
    """Best first; `num_hypotheses` of them, the first equal to `text`. A segment with fewer hypotheses
    repeats its last."""
    confidence: float | None = None
    """Probability that the translation is good, 0 to 1, if the bundle has a confidence map: the geometric
    mean of the segments' confidences, weighted by their tokens. Without a map, the geometric mean of the
    probabilities of all tokens. None if scores were not requested. If no segment was translated, 1, or 0 if
    the model does not know the script of one."""
