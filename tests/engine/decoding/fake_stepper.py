"""Language models made of a seed or a table, and the stepper that runs them.

The stepper keeps every row's prefix and computes its candidates from that, so a search that names the wrong
rows to `select` gets another sentence's candidates.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

BOS, EOS = 0, 1
Prefix = tuple[int, ...]
Ids = NDArray[np.int64]
Logprobs = NDArray[np.float32]
Candidates = tuple[Logprobs, Ids]
"""Log-probabilities and ids, best first."""


class LanguageModel(Protocol):
    """Log-probabilities of the next token."""

    @property
    def vocab_size(self) -> int: ...

    def logprobs(self, source: int, prefix: Prefix) -> Logprobs:
        """float32 [V] after what a row has read, see `opening`."""
        ...


@dataclass(frozen=True)
class RandomModel:
    """A function of seed, source and whole prefix."""

    vocab_size: int
    seed: int
    sharpness: float = 1.0
    is_coarse: bool = False
    """Quarters only: sums are exact and ties common. No longer quite probabilities; no search minds."""
    num_impossible: int = 0
    """Tokens of probability 0 after each prefix."""

    def logprobs(self, source: int, prefix: Prefix) -> Logprobs:
        return _random_logprobs(self, source, prefix)


@cache
def _random_logprobs(model: RandomModel, source: int, prefix: Prefix) -> Logprobs:
    random = np.random.default_rng([model.seed, source, *prefix])
    logits = model.sharpness * random.normal(size=model.vocab_size)
    logprobs: NDArray[np.float64] = logits - np.log(np.exp(logits).sum())
    if model.is_coarse:
        logprobs = np.round(4 * logprobs) / 4
    logprobs[random.permutation(model.vocab_size)[: model.num_impossible]] = -np.inf
    return logprobs.astype(np.float32)


@dataclass(frozen=True)
class TableModel:
    """Probabilities written down by (source, prefix); what is not there ends at once."""

    vocab_size: int
    table: Mapping[tuple[int, Prefix], Mapping[int, float]]

    def logprobs(self, source: int, prefix: Prefix) -> Logprobs:
        logprobs = np.full(self.vocab_size, -np.inf, np.float32)
        for token, probability in self.table.get((source, prefix), {EOS: 1.0}).items():
            logprobs[token] = np.log(probability)
        return logprobs


@dataclass(frozen=True)
class ShiftedModel:
    """A model that likes some tokens more or less, by what is added to their log-probabilities."""

    inner: LanguageModel
    shifts: Mapping[int, float]

    @property
    def vocab_size(self) -> int:
        return self.inner.vocab_size

    def logprobs(self, source: int, prefix: Prefix) -> Logprobs:
        logprobs = self.inner.logprobs(source, prefix).copy()
        logprobs[list(self.shifts)] += np.array(list(self.shifts.values()), np.float32)
        return logprobs


def opening(begin: Prefix) -> Prefix:
    """What a row has read of what its target begins with, for a model: `BOS` is as good as nothing."""
    return begin[1:] if begin[0] == BOS else begin


def sentences(vocab_size: int, targets: Sequence[Prefix]) -> TableModel:
    """Source i translates into targets[i] for certain."""
    return TableModel(
        vocab_size,
        {
            (source, target[:length]): {target[length]: 1.0}
            for source, target in enumerate(targets)
            for length in range(len(target))
        },
    )


class FakeStepper:
    """A `Stepper` over a model; records what it was asked."""

    def __init__(self, model: LanguageModel, sources: Sequence[int], beam_size: int = 1) -> None:
        self.model = model
        self.beam_size = beam_size
        self.rows: list[tuple[int, Prefix | None]] = []
        """Source and tokens read, see `opening`; None before the first."""
        self.join(sources)
        self.num_rows: list[int] = []
        """Of each step."""
        self.num_best: list[int] = []
        """Of each step."""
        self.selected: list[list[int]] = []
        self.faulty: tuple[int, int] | None = None
        """A source, and how many tokens it has read when it gets NaN."""

    def join(self, encoded: Sequence[int]) -> None:
        self.rows += [(source, None) for source in encoded for _ in range(self.beam_size)]

    def step(self, last_ids: Ids, num_best: int) -> Candidates:
        assert last_ids.dtype == np.int64
        assert last_ids.shape == (len(self.rows),)
        self.num_best.append(num_best)
        logprobs = self.read_on(last_ids)
        ids = np.argsort(-logprobs, axis=1, kind="stable")[:, :num_best]
        best = np.take_along_axis(logprobs, ids, axis=1)
        best[self.faulty_rows(), -1] = np.nan
        return best, ids

    def step_with(self, last_ids: Ids, num_best: int, wanted_ids: Ids) -> Candidates:
        logprobs, ids = self.step(last_ids, self.model.vocab_size)
        by_id = np.take_along_axis(logprobs, np.argsort(ids, axis=1), axis=1)
        wanted = np.take_along_axis(by_id, wanted_ids, axis=1)
        return (
            np.concatenate([logprobs[:, :num_best], wanted], axis=1),
            np.concatenate([ids[:, :num_best], wanted_ids], axis=1),
        )

    def faulty_rows(self) -> list[int]:
        return [
            row
            for row, (source, prefix) in enumerate(self.rows)
            if (source, len(prefix or ())) == self.faulty
        ]

    def read_on(self, last_ids: Ids) -> Logprobs:
        """Let every row read a token; what comes next, float32 [R, V]."""
        prefixes: list[Prefix] = []
        for (_, prefix), token in zip(self.rows, last_ids.tolist(), strict=True):
            prefixes.append(opening((token,)) if prefix is None else (*prefix, token))
        sources = [source for source, _ in self.rows]
        self.rows = list(zip(sources, prefixes, strict=True))
        self.num_rows.append(len(self.rows))
        return np.stack([self.model.logprobs(*row) for row in zip(sources, prefixes, strict=True)])

    def select(self, rows: Ids) -> None:
        assert rows.dtype == np.int64
        assert len(rows) <= len(self.rows)
        assert rows.tolist() != list(range(len(self.rows))), "selects all rows as they are"
        self.rows = [self.rows[row] for row in rows.tolist()]
        sources = [source for source, _ in self.rows]
        heads = sources[:: self.beam_size]
        assert sources == [head for head in heads for _ in range(self.beam_size)], "a group was torn apart"
        assert len(set(heads)) == len(heads), "a source is there twice"
        self.selected.append(rows.tolist())


class FakeReadingStepper(FakeStepper):
    """Also a `ForcedStepper`. Source i has lengths[i] tokens."""

    def __init__(self, model: LanguageModel, lengths: Sequence[int], beam_size: int = 1) -> None:
        super().__init__(model, [], beam_size)
        self.lengths = lengths
        self.num_wanted: list[int] = []
        """Of each step."""
        self.is_attention_faulty = False

    def read(self, last_ids: Ids, wanted_ids: Ids | None) -> tuple[Logprobs | None, Logprobs]:
        self.num_wanted.append(0 if wanted_ids is None else len(wanted_ids))
        logprobs = self.read_on(last_ids)
        width = max(self.lengths[source] for source, _ in self.rows)
        attention = np.zeros((len(self.rows), width), np.float32)
        for row, (source, prefix) in enumerate(self.rows):
            attention[row, : self.lengths[source]] = attention_of(source, prefix or (), self.lengths[source])
        faulty = attention if wanted_ids is None or self.is_attention_faulty else logprobs
        faulty[self.faulty_rows()] = np.nan
        if wanted_ids is None:
            return None, attention
        return logprobs[np.arange(len(wanted_ids)), wanted_ids], attention


def attention_of(source: int, prefix: Prefix, length: int) -> Logprobs:
    """Float32 [S] of the step after what a row has read, see `opening`; adds up to 1."""
    weights = np.random.default_rng([source, *prefix]).random(length)
    attention: Logprobs = (weights / weights.sum()).astype(np.float32)
    return attention


wide_models = st.builds(
    RandomModel,
    vocab_size=st.integers(10, 60),
    seed=st.integers(0, 2**32 - 1),
    sharpness=st.sampled_from([0.0, 1.0, 3.0]),
    num_impossible=st.integers(0, 5),
)
"""Wide enough for more candidates than a search asks for."""


def random_models(*, min_vocab: int = 2, max_impossible: int = 7) -> st.SearchStrategy[RandomModel]:
    """Models flat and peaked, with ties and without, with impossible tokens and without."""
    return st.builds(
        RandomModel,
        vocab_size=st.integers(min_vocab, 7),
        seed=st.integers(0, 2**32 - 1),
        sharpness=st.sampled_from([0.0, 0.5, 1.0, 3.0]),
        is_coarse=st.booleans(),
        num_impossible=st.one_of(st.just(0), st.integers(0, max_impossible)),
    )
