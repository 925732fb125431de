"""Which tokens each row of a running batch may use, while sources join and leave."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from numpy.typing import NDArray

from dragoman.graphs.batch_shortlist import MAX_ROWS_WITH_KEPT_PROJECTION, WIDTH_MULTIPLE, BatchShortlist
from tests.examples import share_of

VOCAB = 300
WIDTH = 8
Ids = NDArray[np.int64]


def evenly_spaced(first: int, stride: int, most: int) -> Ids:
    return np.arange(first, VOCAB, stride, dtype=np.int64)[:most]


# Some of one token, some wider than WIDTH_MULTIPLE, with holes between their tokens.
spaced = st.builds(evenly_spaced, st.integers(0, VOCAB - 1), st.integers(1, 5), st.integers(1, VOCAB))
scattered = st.sets(st.integers(0, VOCAB - 1), min_size=1, max_size=8).map(
    lambda ids: np.array(sorted(ids), np.int64)
)

shortlists = st.one_of(spaced, scattered)


class RunningBatch(RuleBasedStateMachine):
    """Sources as they come and go; beside them, what each of them asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.wanted: list[Ids] = []

    @initialize(beam_size=st.integers(1, 4))
    def begin(self, beam_size: int) -> None:
        self.beam_size = beam_size
        self.candidates = BatchShortlist(beam_size, VOCAB, WIDTH)

    @rule(lists=st.lists(shortlists, min_size=1, max_size=4))
    def join(self, lists: list[Ids]) -> None:
        self.candidates.join(lists)
        self.wanted += lists
        union = np.unique(np.concatenate(self.wanted))
        np.testing.assert_array_equal(self.candidates.shortlist, union)  # nothing of those that left

    @precondition(lambda self: self.wanted)
    @rule(data=st.data())
    def keep(self, data: st.DataObject) -> None:
        """Any of them, in any order."""
        slots = data.draw(st.permutations(range(len(self.wanted))))
        slots = slots[: data.draw(st.integers(0, len(slots)))]
        self.candidates.keep(np.array(slots, np.int64))
        self.wanted = [self.wanted[slot] for slot in slots]

    @precondition(lambda self: self.wanted)
    @rule()
    def step(self) -> None:
        """As the decoder does: it leaves the rows of the output projection where there is room for them."""
        room = self.candidates.kept_rows_buffer(self.num_rows)
        if room is not None:
            room[:] = self.rows_of_the_projection()
            self.candidates.mark_rows_kept()
        else:
            is_small = self.num_rows <= MAX_ROWS_WITH_KEPT_PROJECTION
            kept = self.inputs()["kept_rows"]
            assert len(kept) == len(self.candidates.shortlist) * is_small, "a few rows gather them once"

    @property
    def num_rows(self) -> int:
        return len(self.wanted) * self.beam_size

    def inputs(self) -> Mapping[str, NDArray[Any]]:
        return self.candidates.inputs(self.num_rows)

    def rows_of_the_projection(self) -> NDArray[np.int64]:
        """Of the tokens on the shortlist, each different from those beside it."""
        return self.candidates.shortlist[:, None] % 251 * np.ones(WIDTH, np.int64)

    @invariant()
    def rows_that_are_kept_are_those_of_the_shortlist(self) -> None:
        kept = self.inputs()["kept_rows"]
        if len(kept):
            np.testing.assert_array_equal(kept, self.rows_of_the_projection())

    @invariant()
    def each_row_names_exactly_the_tokens_of_its_source(self) -> None:
        inputs = self.inputs()
        shortlist, places, bias = inputs["shortlist"], inputs["candidates"], inputs["candidate_bias"]
        assert (np.diff(shortlist) > 0).all(), "the shortlist ascends without repetition"
        for slot, wanted in enumerate(self.wanted):
            for row in range(slot * self.beam_size, (slot + 1) * self.beam_size):
                named = shortlist[places[row][bias[row] == 0.0]]
                assert sorted(named.tolist()) == wanted.tolist()

    @invariant()
    def what_is_not_a_token_of_the_row_is_impossible(self) -> None:
        """Its place is still one of the shortlist's, as the graph reads it before the bias is added."""
        inputs = self.inputs()
        bias, places = inputs["candidate_bias"], inputs["candidates"]
        assert np.isin(bias, [0.0, -np.inf]).all()
        num_padded = places.shape[1] * len(places) - self.beam_size * sum(map(len, self.wanted))
        assert np.isneginf(bias).sum() == num_padded
        assert places.size == 0 or 0 <= places.min() <= places.max() < len(inputs["shortlist"])

    @invariant()
    def shapes_and_types_are_those_of_the_graphs_inputs(self) -> None:
        inputs = self.inputs()
        assert inputs["has_shortlist"] or not self.wanted
        width = inputs["candidates"].shape[1]
        assert inputs["candidates"].shape == inputs["candidate_bias"].shape == (self.num_rows, width)
        assert width % WIDTH_MULTIPLE == 0
        assert width >= max(map(len, self.wanted), default=0)
        dtypes = {name: str(array.dtype) for name, array in inputs.items()}
        assert dtypes == {
            "has_shortlist": "bool",
            "shortlist": "int64",
            "candidates": "int64",
            "candidate_bias": "float32",
            "kept_rows": "uint8",
        }
        assert all(array.flags.c_contiguous for array in inputs.values()), "memory is bound as it lies"

    @invariant()
    def beams_of_a_source_are_alike(self) -> None:
        inputs = self.inputs()
        for name in ("candidates", "candidate_bias"):
            beams = inputs[name].reshape(len(self.wanted), self.beam_size, inputs[name].shape[1])
            assert (beams == beams[:, :1]).all()


TestRunningBatch = RunningBatch.TestCase
TestRunningBatch.settings = share_of(settings(max_examples=60, stateful_step_count=12))


@pytest.mark.parametrize(
    ("num_tokens", "width"), [(1, 64), (63, 64), (64, 64), (65, 128), (128, 128), (129, 192)]
)
def test_the_width_is_the_next_multiple_of_64(num_tokens: int, width: int) -> None:
    candidates = BatchShortlist(2, VOCAB, WIDTH)

    candidates.join([evenly_spaced(7, 1, num_tokens), evenly_spaced(0, 9, 1)])

    assert candidates.inputs(4)["candidates"].shape == (4, width)


def test_without_shortlists_every_row_has_none() -> None:
    candidates = BatchShortlist(3, VOCAB, WIDTH)

    candidates.join(())
    inputs = candidates.inputs(6)

    assert not inputs["has_shortlist"]
    assert {name: inputs[name].shape for name in inputs if name != "has_shortlist"} == {
        "shortlist": (0,),
        "candidates": (6, 0),
        "candidate_bias": (6, 0),
        "kept_rows": (0, WIDTH),
    }
