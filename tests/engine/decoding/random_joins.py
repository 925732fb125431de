"""Random sources for lanes, and the steps before which they join: the same for every kind of kernels."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from dragoman.decoding.strategy import Source, TargetLimits

EOS, START, FIRST_WORD = 3, 2, 5
Joins = Sequence[tuple[int, Sequence[Source]]]
"""Steps before which sources join, and these."""


@dataclass(frozen=True)
class RandomSources:
    """Draws sources for a vocabulary."""

    vocab_size: int
    most_source: int
    most_target: int
    most_joins: int

    def words(self, rng: Random, count: int) -> list[int]:
        return [rng.randrange(FIRST_WORD, self.vocab_size) for _ in range(count)]

    def source(self, rng: Random, beam_size: int) -> Source:
        most = rng.randint(4, self.most_target)
        return Source(
            [*self.words(rng, rng.randint(1, self.most_source)), EOS],
            TargetLimits(most, rng.randint(0, min(most, 8))),
            (START, *self.words(rng, int(rng.random() < 0.2))),
            length_penalty=rng.choice([0.0, 0.6, 1.0, 1.5]),
            num_hypotheses=rng.randint(1, beam_size),
            early_stopping=rng.random() < 0.3,
            prefix=tuple(self.words(rng, rng.randint(0, 2))),
            can_spell_replacement=rng.random() < 0.5,
        )

    def joins(self, rng: Random, beam_size: int) -> Iterator[tuple[int, list[Source]]]:
        step = 0
        for _ in range(rng.randint(1, self.most_joins)):
            yield step, [self.source(rng, beam_size) for _ in range(rng.randint(1, 3))]
            step += rng.randint(0, 6)
