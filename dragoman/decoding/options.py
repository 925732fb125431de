"""What a caller may ask of the search."""

from dataclasses import dataclass

from dragoman.errors import InputError

MAX_BEAM_SIZE = 32
MAX_LENGTH_PENALTY = 10.0


@dataclass(frozen=True, slots=True)
class DecodingOptions:
    """Wishes of one call; checked on construction. None: the model's own default.

    Raises:
        InputError: an option is out of its range; the message names it and the range.
    """

    beam_size: int | None = None
    """Hypotheses kept alive at each step; 1 is greedy search."""
    num_hypotheses: int = 1
    """Results per text, best first; at most `beam_size`."""
    length_penalty: float | None = None
    """Exponent alpha of score = logprob / tokens ** alpha; 0 compares plain log-probabilities."""
    early_stopping: bool | None = None
    """Whether a segment's search ends as soon as `beam_size` hypotheses are finished; else it goes on while
    the best unfinished one scores better than the worst of these. No difference to greedy search."""
    max_length: int | None = None
    """Most target tokens of a segment, the end-of-sentence one included and forced ones not; None lets the
    source's length and the model's limit decide."""
    min_length: int = 0
    """Fewest target tokens of a segment, neither the end-of-sentence one nor forced ones included."""
    return_scores: bool = True
    use_shortlist: bool = True
    """Look only at target tokens that the source makes likely, where the bundle knows which: several times
    fewer, and almost always the same translation. Not looked at where the bundle has no shortlist."""

    def __post_init__(self) -> None:
        if self.beam_size is not None:
            _check("beam_size", self.beam_size, 1, MAX_BEAM_SIZE)
        _check("num_hypotheses", self.num_hypotheses, 1, MAX_BEAM_SIZE)
        _check("min_length", self.min_length, 0, None)
        if self.max_length is not None:
            _check("max_length", self.max_length, 1, None)
        if self.beam_size is not None:
            _check_hypotheses(self.num_hypotheses, self.beam_size)
        if self.max_length is not None and self.min_length > self.max_length:
            raise InputError("min_length", f"{self.min_length} is more than max_length {self.max_length}")
        if self.length_penalty is not None:
            _check_length_penalty(self.length_penalty)

    def resolve(self, beam_size: int, length_penalty: float, early_stopping: bool) -> "SearchOptions":  # noqa: FBT001 -- a value that is handed on, not a mode
        """These wishes, with a model's defaults where there are none.

        Args:
            beam_size: the model's default, as the others.
            length_penalty: alpha.
            early_stopping: whether `beam_size` finished hypotheses are enough.

        Raises:
            InputError: more hypotheses are wanted than the beam holds.
        """
        return SearchOptions(
            beam_size=beam_size if self.beam_size is None else self.beam_size,
            num_hypotheses=self.num_hypotheses,
            length_penalty=length_penalty if self.length_penalty is None else self.length_penalty,
            early_stopping=early_stopping if self.early_stopping is None else self.early_stopping,
            max_length=self.max_length,
            min_length=self.min_length,
            return_scores=self.return_scores,
            use_shortlist=self.use_shortlist,
        )


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """`DecodingOptions` with the model's defaults filled in: what a search goes by.

    Raises:
        InputError: the beam, or the length penalty, is out of its range, or more hypotheses are wanted than
            the beam holds.
    """

    beam_size: int
    num_hypotheses: int
    length_penalty: float
    early_stopping: bool
    max_length: int | None
    """None lets the source's length and the model's limit decide."""
    min_length: int
    return_scores: bool
    use_shortlist: bool

    def __post_init__(self) -> None:
        _check("beam_size", self.beam_size, 1, MAX_BEAM_SIZE)
        _check_hypotheses(self.num_hypotheses, self.beam_size)
        _check_length_penalty(self.length_penalty)


def _check(field: str, value: int, least: int, most: int | None) -> None:
    if value < least or (most is not None and value > most):
        limit = f"at least {least}" if most is None else f"between {least} and {most}"
        raise InputError(field, f"{value} is not {limit}")


def _check_hypotheses(num_hypotheses: int, beam_size: int) -> None:
    if num_hypotheses > beam_size:
        raise InputError(
            "num_hypotheses", f"{num_hypotheses} is more than beam_size {beam_size}; raise beam_size as well"
        )


def _check_length_penalty(length_penalty: float) -> None:
    if not 0.0 <= length_penalty <= MAX_LENGTH_PENALTY:  # NaN fails it too
        raise InputError("length_penalty", f"{length_penalty} is not between 0 and {MAX_LENGTH_PENALTY:g}")
