"""The nouns of a translation, shared by every part of the engine and by its callers."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import NamedTuple


class FinishReason(StrEnum):
    """Why a hypothesis, a segment or a text ended where it ends."""

    STOP = "stop"
    """The model ended it."""
    LENGTH = "length"
    """It reached `max_length` first; the translation may be incomplete."""
    COPIED = "copied"
    """There was nothing to translate (no letter in it), so the source stands unchanged."""


class Priority(IntEnum):
    """Who goes first when more is asked for than can run at once."""

    INTERACTIVE = 0
    """Somebody waits for the answer."""
    JOB = 1
    """Part of a long list; goes on at the latest when it was passed over a few times."""


class Pair(NamedTuple):
    """Languages as BCP-47 codes: `de`, `zh-Hans`."""

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"


class SearchKind(NamedTuple):
    """What sources must have in common to be searched for side by side."""

    beam_size: int
    is_shortlisted: bool = False
    """Only target tokens on the source's shortlist are looked at."""


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
    """`length` if any segment was cut by the limit, `copied` if all were copied, else `stop`."""
    segments: tuple[SegmentTranslation, ...]
    alternatives: tuple[Alternative, ...]
    """Best first; `num_hypotheses` of them, the first equal to `text`. A segment that has fewer
    hypotheses lends its last."""
