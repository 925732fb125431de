"""Numbers of joins and steps of 512 lines, on lanes with the capacity of a GPU's that compute nothing."""

import threading
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pytest

from bench.workloads import SENTENCES, distinct_lines, read_lines
from dragoman import DecodingOptions, Translator, search_model
from dragoman.cuda.memory import MAX_BEAMS, MAX_ROWS, MAX_SOURCES, STEPS_AT_ONCE, MemoryPlan
from dragoman.decoding.loop import ONE_STEP, FinishedSource, StepLimit
from dragoman.decoding.strategy import Source, TargetVocabulary
from dragoman.scheduling.policy import Capacity
from dragoman.translator import READ_PARTS
from dragoman.types import ForcedDecoding, Hypothesis, Method, SearchKind
from tests.engine.scheduling.doubles import TIMEOUT_S

NUM_LINES = 512
OPTIONS = DecodingOptions(beam_size=1)


class CountingBackend:
    """Searches whose target is their source, with as many steps. Its lanes count in `counts`."""

    kernels, why_not_native = "counting", ""

    def __init__(self, *_: object) -> None:
        self.counts = Counter[str]()
        self.longest = 0
        self.has_all = threading.Event()
        """Whether all lines are submitted; steps wait for it."""
        self.has_all.set()

    def encode(self, sources: Sequence[Sequence[int]]) -> Sequence[Sequence[int]]:
        return sources

    def open_lane(self, kind: SearchKind, target: TargetVocabulary) -> "CountingLane":
        assert kind.method is Method.SEARCH, "a pass beside the search"
        return CountingLane(self, kind, target)

    def capacity(self, replicas: int) -> Capacity:
        plan = MemoryPlan(MAX_SOURCES * 5 // 4 + 1, MAX_ROWS * 5 // 4 + MAX_BEAMS, 256, 256)
        return plan.capacity(replicas)


class CountingLane:
    """An `AnyLane` that ends each search after as many steps as its source has tokens."""

    def __init__(self, backend: CountingBackend, kind: SearchKind, target: TargetVocabulary) -> None:
        self.kind, self.num_steps = kind, 1
        self._backend, self._eos_id = backend, target.eos_id
        self._left: dict[Source, int] = {}
        self._has_joined = False

    @property
    def sources(self) -> Sequence[Source]:
        return list(self._left)

    def join(self, sources: Sequence[Source], encoded: Sequence[Sequence[int]]) -> None:
        self._left |= {source: len(ids) for source, ids in zip(sources, encoded, strict=True)}
        self._has_joined = True

    def step(self, limit: StepLimit = ONE_STEP) -> list[FinishedSource]:
        assert self._backend.has_all.wait(TIMEOUT_S)
        counts, most = self._backend.counts, max(self._left.values())
        counts["joins"] += self._has_joined  # what joins between two steps is encoded together
        self._has_joined = False
        self.num_steps = min(limit.most, most)
        counts["steps"] += self.num_steps
        self._backend.longest = max(self._backend.longest, most)
        self._left = {source: left - self.num_steps for source, left in self._left.items()}
        done = [source for source, left in self._left.items() if left <= 0]
        self.remove(done)
        return [FinishedSource(source, [self._found(source)]) for source in done]

    def remove(self, sources: Collection[Source]) -> None:
        self._left = {source: left for source, left in self._left.items() if source not in sources}

    def best_ids(self, slot: int) -> list[int]:
        raise NotImplementedError

    def _found(self, source: Source) -> Hypothesis:
        attention = np.eye(len(source.ids), dtype=np.float32)
        reading = ForcedDecoding((), attention) if source.wants_attention else None
        ids = [id_ for id_ in source.ids if id_ != self._eos_id]
        num_tokens = len(source.ids)
        logprob = -float(num_tokens**2)  # the better reading is the shorter one, without capitals
        return source.hypothesis(ids, logprob, num_tokens, is_stopped=True, reading=reading)


@pytest.fixture
def lines() -> list[str]:
    """Distinct lines; some begin with words in capitals, which are searched for twice and need alignment."""
    found = distinct_lines(read_lines(SENTENCES), NUM_LINES)
    return [line if number % 16 else line[:20].upper() + line[20:] for number, line in enumerate(found)]


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> CountingBackend:
    backend = CountingBackend()
    monkeypatch.setattr(search_model, "open_backend", lambda *_: backend)
    return backend


@pytest.fixture
def translator(backend: CountingBackend) -> Iterator[Translator]:
    with Translator.open("de-en", replicas=1) as translator:
        backend.counts.clear()
        yield translator


def test_the_lines_of_a_text_join_at_once(
    translator: Translator, backend: CountingBackend, lines: Sequence[str]
) -> None:
    translator.translate("\n".join(lines), OPTIONS)

    assert backend.counts == {"joins": 1, "steps": backend.longest}


def test_lines_that_are_read_while_others_run_join_after_one_call(
    translator: Translator, backend: CountingBackend, lines: Sequence[str]
) -> None:
    def given() -> Iterator[str]:
        yield from lines
        backend.has_all.set()

    backend.has_all.clear()
    found = list(translator.translate_many(given(), OPTIONS, read_ahead=READ_PARTS * NUM_LINES))

    assert len(found) == NUM_LINES
    assert backend.counts["joins"] <= 2
    assert backend.counts["steps"] <= STEPS_AT_ONCE + backend.longest
