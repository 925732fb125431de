"""When a greedy output that differs from the model's counts as the same."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pytest
from numpy.typing import NDArray

from export.model_config import ModelConfig
from export.validation import GreedySearch, is_tie

EOS = 3


@dataclass
class TwoTokens:
    """Model whose next token is 5, or 6 with `difference` less; it ends after two tokens."""

    difference: float
    config: ModelConfig = field(default_factory=lambda: ModelConfig(8, 8))

    def logprobs(
        self, sources: Sequence[Sequence[int]], targets: NDArray[np.int64]
    ) -> Iterator[NDArray[np.float32]]:
        for step in range(targets.shape[1]):
            row = np.full((len(sources), 8), -20.0, np.float32)
            row[:, 5], row[:, 6] = -0.7, -0.7 - self.difference
            row[:, EOS] = -0.7 - self.difference if step == 2 else -20.0
            yield row

    def greedy(
        self, sources: Sequence[Sequence[int]], begin: Sequence[int], limits: Sequence[int]
    ) -> tuple[list[list[int]], object]:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("found", "difference", "is_same"),
    [((5, 6), 1e-6, True), ((5, 5, 5), 1e-6, True), ((5, 6), 1e-3, False), ((5, 7), 1e-6, False)],
)
def test_only_another_token_that_is_as_probable_is_no_difference(
    found: tuple[int, ...], difference: float, *, is_same: bool
) -> None:
    search = GreedySearch([[4, EOS]], [2], 10, [found])

    assert is_tie(TwoTokens(difference), search, [4, EOS], found, [5, 5]) == is_same
