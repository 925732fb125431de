"""What a search strategy is: it picks tokens among a step's candidates and keeps the hypotheses.

Shapes: R rows (B x beam_size, the beams of a source side by side), K candidates of a row.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.errors import InputError
from dragoman.types import Hypothesis


@dataclass(frozen=True, slots=True)
class SourceLimits:
    """How long the target of one source may be.

    Raises:
        InputError: no target could keep to these limits.
    """

    max_tokens: int
    """Most target tokens, the end-of-sentence one included."""
    min_tokens: int
    """Fewest target tokens, the end-of-sentence one not counted."""

    def __post_init__(self) -> None:
        if self.max_tokens < 1:
            raise InputError("max_length", f"{self.max_tokens} is not at least 1")
        if not 0 <= self.min_tokens <= self.max_tokens:
            raise InputError("min_length", f"{self.min_tokens} is not between 0 and {self.max_tokens}")


class Strategy(Protocol):
    """Picks tokens among a step's candidates and keeps the hypotheses; one instance is one search."""

    @property
    def num_best(self) -> int:
        """K, the candidates it wants of every row."""
        ...

    @property
    def last_ids(self) -> NDArray[np.int64]:
        """The token that each row is extended by next, int64 [R]."""
        ...

    @property
    def is_done(self) -> bool:
        """Whether every source has its results."""
        ...

    def advance(self, logprobs: NDArray[np.float32], ids: NDArray[np.int64]) -> NDArray[np.int64] | None:
        """Take in a step's candidates.

        Args:
            logprobs: float32 [R, K], best first.
            ids: int64 [R, K].

        Returns:
            The rows to select before the next step, int64 [R']; None if every row simply continues, or
            if there is no next step.
        """
        ...

    def results(self) -> list[list[Hypothesis]]:
        """Per source, in the order given, at least one hypothesis and at most `num_hypotheses`, best first.

        What the model ended comes before what the limit cut; a cut hypothesis is there only if too few
        ended.
        """
        ...
