"""What a caller may ask of the search."""

from dataclasses import dataclass

from dragoman.errors import InputError

MAX_BEAM_SIZE = 32


@dataclass(frozen=True, slots=True)
class DecodingOptions:
    """Wishes of one call; checked on construction.

    Raises:
        InputError: an option is out of its range; the message names it and the range.
    """

    beam_size: int = 4
    """Hypotheses kept alive at each step; 1 is greedy search."""
    num_hypotheses: int = 1
    """Results per text, best first; at most `beam_size`."""
    length_penalty: float = 1.0
    """Exponent alpha of score = logprob / tokens ** alpha; 0 compares plain log-probabilities."""
    max_length: int | None = None
    """Most target tokens of a segment; None lets the source's length and the model's limit decide."""
    min_length: int = 0
    """Fewest target tokens of a segment."""
    return_scores: bool = True
    use_shortlist: bool = True
    """Look only at target tokens that the source makes likely, where the bundle knows which: several times
    fewer, and almost always the same translation. Not looked at where the bundle has no shortlist."""

    def __post_init__(self) -> None:
        _check("beam_size", self.beam_size, 1, MAX_BEAM_SIZE)
        _check("num_hypotheses", self.num_hypotheses, 1, MAX_BEAM_SIZE)
        _check("min_length", self.min_length, 0, None)
        if self.max_length is not None:
            _check("max_length", self.max_length, 1, None)
        if self.num_hypotheses > self.beam_size:
            raise InputError(
                "num_hypotheses",
                f"{self.num_hypotheses} is more than beam_size {self.beam_size}; raise beam_size as well",
            )
        if self.max_length is not None and self.min_length > self.max_length:
            raise InputError("min_length", f"{self.min_length} is more than max_length {self.max_length}")
        if not 0.0 <= self.length_penalty <= 10.0:  # noqa: PLR2004 -- a plain range; NaN fails it too
            raise InputError("length_penalty", f"{self.length_penalty} is not between 0 and 10")


def _check(field: str, value: int, least: int, most: int | None) -> None:
    if value < least or (most is not None and value > most):
        limit = f"at least {least}" if most is None else f"between {least} and {most}"
        raise InputError(field, f"{value} is not {limit}")
