"""Decoding options of a request."""

import re
import reprlib
from dataclasses import dataclass, fields

from dragoman.argument_types import checks_arguments
from dragoman.errors import InputError
from dragoman.terms import Terminology
from dragoman.types import Formality, Method, SearchKind, Splitting

MAX_BEAM_SIZE = 32
MAX_LENGTH_PENALTY = 10.0
MAX_REPETITION_PENALTY = 10.0
MAX_NGRAM_SIZE = 32
MAX_TEMPERATURE = 10.0
MAX_SEED = 2**63 - 1
MAX_PREFIX_CHARACTERS = 2000
"""Maximum characters of a target prefix: more than a segment's target has, and a bound on the work."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


@checks_arguments
@dataclass(frozen=True, slots=True)
class Sampling:
    """Parameters of random sampling; the defaults draw from the model's own distribution.

    Raises:
        InputError: a field is out of its range; the message names both.
    """

    top_k: int = 0
    """Number of most probable tokens to draw from; 0 draws from the whole vocabulary, which is slower."""
    top_p: float = 1.0
    """Draw from the fewest most probable tokens that together have this probability, after `temperature`
    and `top_k`."""
    temperature: float = 1.0
    """Divisor of log-probabilities; below 1, probable tokens become more probable still."""
    seed: int | None = None
    """The same seed repeats the same draws; None takes another one each time."""

    def __post_init__(self) -> None:
        _check_range("top_k", self.top_k, 0, None)
        if not 0.0 < self.top_p <= 1.0:  # also rejects NaN, here and below
            raise InputError("top_p", f"{self.top_p} is not above 0 and at most 1")
        if not 0.0 < self.temperature <= MAX_TEMPERATURE:
            limit = f"above 0 and at most {MAX_TEMPERATURE:g}"
            raise InputError("temperature", f"{self.temperature} is not {limit}")
        if self.seed is not None:
            _check_range("seed", self.seed, 0, MAX_SEED)


@checks_arguments
@dataclass(frozen=True, slots=True)
class DecodingOptions:
    """Options of one request, checked on construction. None means the model's default.

    Raises:
        InputError: an option is out of its range, or conflicts with another; the message names it and the
            range.
    """

    beam_size: int | None = None
    """Hypotheses kept alive at each step; 1 is greedy search."""
    num_hypotheses: int = 1
    """Results per text, best first; at most `beam_size`, or the number of draws with `sampling`."""
    length_penalty: float | None = None
    """Exponent alpha of score = logprob / tokens ** alpha; 0 compares plain log-probabilities. With
    `sampling` it only ranks the draws."""
    early_stopping: bool | None = None
    """Whether a segment's search ends as soon as `beam_size` hypotheses are finished. If false, it continues
    while the best unfinished one scores better than the worst of these. Ignored by greedy search and
    sampling."""
    max_length: int | None = None
    """Maximum target tokens of a segment, including the end-of-sentence one but not forced ones; None applies
    the limits of the source's length and of the model."""
    min_length: int = 0
    """Minimum target tokens of a segment, without the end-of-sentence one and forced ones."""
    return_scores: bool = True
    use_shortlist: bool = True
    """Compute only target tokens that the source makes likely: several times fewer, and almost always the
    same translation. Ignored if the bundle has no shortlist, and with `repetition_penalty`,
    `no_repeat_ngram_size` or `sampling`, which need tokens that it may lack."""
    repetition_penalty: float = 1.0
    """Factor on the log-probability of tokens that the target already has; 1 disables the penalty."""
    no_repeat_ngram_size: int = 0
    """Block repeated n-grams of this size within a segment's target; 0 disables the check."""
    sampling: Sampling | None = None
    """Draw at random instead of searching. Excludes a `beam_size` above 1."""
    target_prefix: str = ""
    """Beginning of the translation of a text's first segment: part of a line."""
    context: str = ""
    """Text before the text, which is not translated: where the model reads short neighbours together, a first
    sentence with a pronoun is read with its last one. No effect with alignment, tokens or terms, or while
    tokens are reported."""
    splitting: Splitting = Splitting.SENTENCES
    formality: Formality | None = None
    """Form of address; None leaves it to the model. Only some models know it."""
    terminology: Terminology | None = None
    """Required translations and forbidden phrases. Excludes `sampling` and filters of repetitions."""
    return_alignment: bool = False
    """Return which words of source and translation correspond."""
    return_tokens: bool = False
    """Return the target's tokens with their log-probabilities."""

    def __post_init__(self) -> None:
        if self.beam_size is not None:
            _check_range("beam_size", self.beam_size, 1, MAX_BEAM_SIZE)
        _check_range("num_hypotheses", self.num_hypotheses, 1, MAX_BEAM_SIZE)
        _check_range("min_length", self.min_length, 0, None)
        if self.max_length is not None:
            _check_range("max_length", self.max_length, 1, None)
        if self.beam_size is not None:
            _check_rows(self.num_hypotheses, self.beam_size, self.sampling)
        if self.max_length is not None and self.min_length > self.max_length:
            shortest, longest = reprlib.repr(self.min_length), reprlib.repr(self.max_length)
            raise InputError("min_length", f"{shortest} is more than max_length {longest}")
        if self.length_penalty is not None:
            _check_range("length_penalty", self.length_penalty, 0, MAX_LENGTH_PENALTY)
        _check_range("repetition_penalty", self.repetition_penalty, 1, MAX_REPETITION_PENALTY)
        _check_range("no_repeat_ngram_size", self.no_repeat_ngram_size, 0, MAX_NGRAM_SIZE)
        _check_prefix(self.target_prefix)
        if self.terminology is not None and (
            self.sampling is not None or self.repetition_penalty > 1.0 or self.no_repeat_ngram_size
        ):
            problem = "not possible with sampling, repetition_penalty or no_repeat_ngram_size; omit these"
            raise InputError("terms", problem)

    def resolve(self, beam_size: int, length_penalty: float, early_stopping: bool) -> "SearchOptions":  # noqa: FBT001 -- a value to pass on, not a mode
        """Fill in a model's defaults for options that are None.

        Args:
            beam_size: the model's default; sampling always uses 1 instead.
            length_penalty: the model's default alpha.
            early_stopping: the model's default.

        Raises:
            InputError: `num_hypotheses` exceeds the beam size.
        """
        own_beam_size = beam_size if self.sampling is None else 1
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        filled_in = {
            "beam_size": own_beam_size if self.beam_size is None else self.beam_size,
            "length_penalty": length_penalty if self.length_penalty is None else self.length_penalty,
            "early_stopping": early_stopping if self.early_stopping is None else self.early_stopping,
        }
        return SearchOptions(**(given | filled_in))


@dataclass(frozen=True, slots=True)
class SearchOptions(DecodingOptions):
    """`DecodingOptions` with the model's defaults filled in; raises the same errors."""

    beam_size: int = 1
    length_penalty: float = 1.0
    early_stopping: bool = False

    def kind(self, has_shortlist: bool) -> SearchKind:  # noqa: FBT001 -- a value to pass on, not a mode
        """Return the kind of search, which all sources of a lane share.

        Filters and sampling ignore the shortlist. It holds the tokens that the model is likely to choose; a
        token that replaces a filtered one, or that is drawn, may not be on it.

        Args:
            has_shortlist: whether the bundle has one.
        """
        if self.sampling is not None:
            return SearchKind(self.num_hypotheses, method=Method.SAMPLE)
        if self.repetition_penalty > 1.0 or self.no_repeat_ngram_size:
            return SearchKind(self.beam_size, method=Method.FILTERED)
        return SearchKind(self.beam_size, self.use_shortlist and has_shortlist)


def _check_range(field: str, value: float, least: int, most: float | None) -> None:
    is_within = least <= value and (most is None or value <= most)  # not true for NaN
    if not is_within:
        limit = f"at least {least}" if most is None else f"between {least} and {int(most)}"
        raise InputError(field, f"{reprlib.repr(value)} is not {limit}")


def _check_rows(num_hypotheses: int, beam_size: int, sampling: Sampling | None) -> None:
    if sampling is not None:
        if beam_size > 1:
            raise InputError(
                "sampling", f"cannot be combined with beam_size {beam_size}; omit it, or set beam_size to 1"
            )
        _check_range("num_hypotheses", num_hypotheses, 1, MAX_BEAM_SIZE)
    elif num_hypotheses > beam_size:
        raise InputError(
            "num_hypotheses",
            f"{num_hypotheses} is more than beam_size {beam_size}; increase beam_size as well",
        )


def _check_prefix(target_prefix: str) -> None:
    if len(target_prefix) > MAX_PREFIX_CHARACTERS:
        problem = f"{len(target_prefix)} characters are over the limit of {MAX_PREFIX_CHARACTERS}; shorten it"
        raise InputError("target_prefix", problem)
    if (found := _CONTROL.search(target_prefix)) is not None:
        raise InputError(
            "target_prefix",
            f"control character U+{ord(found.group()):04X} at character {found.start()} (counted from 0);"
            " remove it",
        )
