"""The kernels compute what onnxruntime computes with the same graphs.

Sums of floats differ in their order, which moves a log-probability by some units of its last place. Where a
value lies between two int8 numbers, that may decide which one it becomes; this moves the log-probabilities of
a row, and of those after it, by a few hundredths.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from dragoman.native.search_state import NativeSteps
from dragoman.shortlist import Shortlist
from dragoman.types import SearchKind
from export.reference import ReferenceGraphs
from tests.engine.native.native_models import native_logprobs_by_steps, open_native
from tests.imports.parity.conftest import Export
from tests.imports.parity.random_bundles import (
    EOS,
    OWN_TARGET,
    SMALLEST_VOCAB,
    SSRU,
    VOCAB,
    Ids,
    Logprobs,
    logprobs_by_steps,
    open_graphs,
    random_inputs,
    random_model,
    write,
)
from tests.imports.parity.test_variants import SHAPES, say_the_same
from tests.imports.shortlist.random_shortlists import random_shortlist

WIDTHS: list[dict[str, Any]] = [
    {"heads": 3, "d_model": 24, "ffn": 20},
    {"heads": 4, "d_model": 64, "ffn": 256},
    {"heads": 3, "d_model": 72, "ffn": 100},
    {"heads": 3, "d_model": 96},
    {"heads": 2, "d_model": 128, "decoder_ffn": 64},
    {"heads": 2, "d_model": 160, "norm": "post"},
    {"heads": 5, "d_model": 40, **SSRU},
    {"heads": 3, "d_model": 120, "ffn": 72, **SSRU},
]
"""Head sizes of 8, 16, 24, 32, 64, 80 and 40, and widths that are no multiples of 16."""
MANY_TOKENS: dict[str, Any] = {"shared_vocab": False, "target_vocab_size": 9001}
"""More than a part of a split vocabulary, and than the kernels score at once."""
LAST_PLACES = 1e-5
"""Of log-probabilities: ten times the largest difference seen."""
MOST_ROUNDED, SHARE_ROUNDED = 0.3, 0.1
"""How far, in units of the spread of log-probabilities, a few rows may be off. A number that was rounded
otherwise stays in the caches, so all later steps of its row are among them."""


def rounded_rows(found: Logprobs, expected: Logprobs) -> NDArray[np.bool_]:
    """Which rows do not agree to the last places, as something was rounded otherwise; none is far off."""
    np.testing.assert_array_equal(np.isneginf(found), np.isneginf(expected))
    possible = np.isfinite(expected)
    spread = max(1.0, float(expected[possible].std()))
    differences = np.abs(np.where(possible, found, 0) - np.where(possible, expected, 0)).max(axis=-1)
    assert differences.max() < MOST_ROUNDED * spread
    is_rounded: NDArray[np.bool_] = differences > LAST_PLACES * spread
    return is_rounded


@pytest.mark.parametrize(
    "shape",
    [*WIDTHS, MANY_TOKENS, *SHAPES[::3]]
    + [pytest.param(shape, marks=pytest.mark.slow) for shape in (*SHAPES[1::3], *SHAPES[2::3])],
    ids=str,
)
def test_log_probabilities_are_those_of_onnxruntime(shape: dict[str, Any], tmp_path: Path) -> None:
    model = random_model(shape)
    folder = write(tmp_path, model, "int8")
    sources, targets = random_inputs(model, num_steps=9, beams=3)
    vocab_size = model.config.target_vocab_size

    found = native_logprobs_by_steps(folder, sources, targets, vocab_size)
    expected = logprobs_by_steps(folder, sources, targets, vocab_size)

    assert rounded_rows(found, expected).mean() <= SHARE_ROUNDED
    assert np.mean(found.argmax(axis=-1) == expected.argmax(axis=-1)) >= 1 - SHARE_ROUNDED


@pytest.mark.usefixtures("split")
@pytest.mark.parametrize("shape", [OWN_TARGET, {}], ids=str)
def test_vocabularies_in_parts_are_read_whole(shape: dict[str, Any], exported: Export) -> None:
    model, graphs = random_model(shape), exported(shape, "int8")
    sources, targets = random_inputs(model, num_steps=4, beams=2)

    found, expected = (
        logprobs(graphs, sources, targets, model.config.target_vocab_size)
        for logprobs in (native_logprobs_by_steps, logprobs_by_steps)
    )

    assert rounded_rows(found, expected).mean() <= SHARE_ROUNDED


def test_tokens_with_a_bias_of_minus_infinity_are_impossible(tmp_path: Path) -> None:
    model = random_model({**OWN_TARGET, "suppressed_ids": (0, 17)})
    with torch.no_grad():
        model.output_bias[[2, 41, 79]] = -np.inf
    folder = write(tmp_path, model, "int8")
    sources, targets = random_inputs(model, num_steps=4, beams=2)

    found = native_logprobs_by_steps(folder, sources, targets, SMALLEST_VOCAB)

    assert np.isneginf(found[..., [0, 2, 17, 41, 79]]).all()
    expected = logprobs_by_steps(folder, sources, targets, SMALLEST_VOCAB)
    assert rounded_rows(found, expected).mean() <= SHARE_ROUNDED


def best_listed(logprobs: Logprobs, ids: Ids, listed: list[Ids], num_best: int) -> tuple[Logprobs, Ids]:
    """Return the best of the tokens on each row's list, [R, K], from the log-probabilities of all tokens.

    Onnxruntime's own step with shortlists is not exact on processors without VNNI.
    """
    found, found_ids = np.empty((2, len(ids), num_best))
    for row, tokens in enumerate(listed):
        is_listed = np.isin(ids[row], tokens)
        of_row = logprobs[row][is_listed]
        found[row] = (of_row - np.log(np.exp(of_row).sum()))[:num_best]
        found_ids[row] = ids[row][is_listed][:num_best]
    return found.astype(np.float32), found_ids.astype(np.int64)


class Rows:
    """The same rows on onnxruntime and on the kernels, given the same random tokens."""

    def __init__(self, folder: Path, is_shortlisted: bool) -> None:  # noqa: FBT001 -- a parameter of the test
        self.encoder, decoder = open_graphs(folder)
        self.rng = np.random.default_rng(17)
        always = np.array([EOS, *range(7, VOCAB, 20)])
        self.shortlist = random_shortlist(self.rng, VOCAB, VOCAB, always, max_listed=4)
        model, self.native_encoder = open_native(folder, self.shortlist)
        self.is_shortlisted = is_shortlisted
        self.expected = decoder.open_steps(SearchKind(2))
        self.native = NativeSteps(model, SearchKind(2, is_shortlisted))
        self.listed: list[Ids] = []  # of each row
        self.is_rounded: list[NDArray[np.bool_]] = []

    def join(self, sources: list[list[int]]) -> None:
        self.expected.join(self.encoder.run(sources))
        self.native.join(self.native_encoder.run(sources))
        for source in sources:
            listed = self.shortlist.candidates(source) if self.is_shortlisted else np.arange(VOCAB)
            self.listed += [listed] * 2

    def select(self, *rows: int) -> None:
        for each in (self.expected, self.native):
            each.select(np.array(rows, np.int64))
        self.listed = [self.listed[row] for row in rows]

    def extend(self, num_best: int) -> None:
        last_ids = self.rng.integers(4, VOCAB, len(self.listed))
        expected, expected_ids = best_listed(*self.expected.step(last_ids, VOCAB), self.listed, num_best)
        found, ids = self.native.step(last_ids, num_best)
        self.compare(found, expected)
        with np.errstate(invalid="ignore"):  # two that are -inf are not far from each other
            drops = -np.diff(expected, axis=1, prepend=np.inf, append=-np.inf)
        is_clear = np.minimum(drops[:, :-1], drops[:, 1:]) > 2 * LAST_PLACES
        is_clear &= ~self.is_rounded[-1][:, np.newaxis]
        np.testing.assert_array_equal(ids[is_clear], expected_ids[is_clear])

    def extend_with_wanted(self) -> None:
        num_rows = len(self.listed)
        last_ids, wanted = self.rng.integers(4, VOCAB, num_rows), self.rng.integers(4, VOCAB, (num_rows, 3))
        (expected, _), (found, ids) = (
            each.step_with(last_ids, 2, wanted) for each in (self.expected, self.native)
        )
        self.compare(found, expected)
        np.testing.assert_array_equal(ids[:, 2:], wanted)

    def read(self) -> None:
        last_ids, wanted = self.rng.integers(4, VOCAB, (2, len(self.listed)))
        (expected, expected_attention), (found, attention) = (
            each.read(last_ids, wanted) for each in (self.expected, self.native)
        )
        assert expected is not None
        assert found is not None
        self.compare(found[:, np.newaxis], expected[:, np.newaxis])
        np.testing.assert_allclose(attention, expected_attention, atol=0.02)

    def compare(self, found: Logprobs, expected: Logprobs) -> None:
        self.is_rounded.append(rounded_rows(found, expected))


@pytest.mark.parametrize("is_shortlisted", [False, True])
@pytest.mark.parametrize("shape", [{}, SSRU, {"heads": 3, "d_model": 120}], ids=str)
def test_rows_that_join_change_places_and_leave_give_what_onnxruntime_gives(
    shape: dict[str, Any],
    is_shortlisted: bool,  # noqa: FBT001 -- a parameter of the test
    exported: Export,
) -> None:
    """Log-probabilities within rounding, and the same ids where two tokens are not as close as that."""
    rows = Rows(exported(shape, "int8"), is_shortlisted)
    sources = [[*rows.rng.integers(4, VOCAB, length).tolist(), EOS] for length in (5, 31, 12, 2, 23, 16)]

    rows.join(sources[:2])
    rows.extend(3)
    rows.join(sources[2:5])
    for _ in range(17):  # into the second block of positions
        rows.extend(5)
    rows.select(1, 1, 3, 2, 5, 5, 6, 7, 9, 9)  # every source stays, its rows in another order
    rows.extend(5 if is_shortlisted else 80)  # more than are inserted into a sorted list
    rows.read()
    rows.select(9, 8, 2, 2)
    rows.extend(4)
    rows.extend_with_wanted()
    rows.join(sources[5:])
    rows.extend(1)
    rows.select()
    rows.join(sources[:3])
    rows.extend(5)

    assert np.concatenate(rows.is_rounded).mean() <= SHARE_ROUNDED


def test_suppressed_tokens_of_a_shortlist_keep_their_probability(
    exported: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others have what they have in a model that suppresses none."""
    monkeypatch.setattr(ReferenceGraphs, "greedy", say_the_same)
    shortlist = Shortlist.of(np.arange(7, 60), np.zeros(VOCAB + 1, np.int64), np.arange(0), VOCAB)
    free, bound = (
        open_native(exported(shape, "int8"), shortlist) for shape in ({}, {"suppressed_ids": (9, 17, 40)})
    )
    found = []
    for model, encoder in (free, bound):
        steps = NativeSteps(model, SearchKind(1, is_shortlisted=True))
        steps.join(encoder.run([[5, 6, 7, EOS]]))
        logprobs, ids = steps.step(np.array([2]), 53)
        found.append(dict(zip(ids[0].tolist(), logprobs[0].tolist(), strict=True)))
    before, after = found

    assert {id_ for id_, logprob in after.items() if logprob == -np.inf} == {9, 17, 40}
    assert {id_: logprob for id_, logprob in before.items() if id_ not in {9, 17, 40}} == {
        id_: logprob for id_, logprob in after.items() if logprob > -np.inf
    }
