"""Graphs of every kind of model that can be imported, against the PyTorch model."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch

from dragoman.contract import INT8
from dragoman.graphs.decoder import Decoder
from dragoman.graphs.encoder import Encoder
from dragoman.types import SearchKind
from export.graph import projection
from export.graph.precision import PRECISIONS
from export.reference import DecoderRows, ReferenceGraphs
from tests.every_pair import combinations_with_every_pair
from tests.examples import FEW, FEWEST
from tests.imports.parity.conftest import Export
from tests.imports.parity.random_bundles import (
    BAHDANAU,
    EOS,
    OWN_TARGET,
    SMALLEST_VOCAB,
    SSRU,
    VOCAB,
    Ids,
    Logprobs,
    best_by_steps,
    expected_logprobs,
    largest_difference,
    logprobs_by_steps,
    open_graphs,
    random_inputs,
    random_model,
    write,
)

AXES: dict[str, list[dict[str, Any]]] = {
    "norm": [{"norm": norm} for norm in ("pre", "post")],
    "activation": [
        {"activation": activation} for activation in ("relu", "gelu", "gelu_tanh", "quick_gelu", "swish")
    ],
    "output": [{}, {"tied_output": False}],
    "vocabulary": [{}, OWN_TARGET],
    "scaled": [{}, {"scaled_embeddings": False}],
    "embedding_norm": [{}, {"embedding_norm": True}],
    "positions": [
        {},
        {"positions": "tensor2tensor", "first_position": 2},
        {"positions": "learned"},
        {"positions": "learned", "shared_positions": False},
    ],
    "autoregression": [{}, {"autoregression": "ssru"}],
    "final_norm": [{}, {"final_norm": True}, {"final_norm": False}],
    "ffn": [{}, {"decoder_ffn": 24}],
    "epsilon": [{}, {"norm_epsilon": 1e-2}],
    "kv": [{}, {"share_kv": True}],
    "suppressed": [{}, {"suppressed_ids": (0, 17, 40)}],
}


ONE_HEAD: dict[str, Any] = {"norm": "pre", "heads": 1, "d_model": 8}
SHAPES = [
    *(
        {name: value for option in options.values() for name, value in option.items()}
        for options in combinations_with_every_pair(AXES)
    ),
    ONE_HEAD,
]
ROUNDED_SHAPES = [
    *[shape for shape in SHAPES[:-1] if shape["norm"] == "post" or shape.get("final_norm", True)][::3],
    ONE_HEAD,
]
"""Some; not those whose last states no norm bounds, as nobody trains them and rounding costs them more."""


@pytest.mark.examples
@pytest.mark.parametrize(
    ("precision", "most", "shape"),
    [("fp32", 1e-4, shape) for shape in SHAPES[:: 1 if FEW > FEWEST else 2]]
    + [("fp16", 4e-2, shape) for shape in SHAPES[::3]],
    ids=str,
)
def test_every_pair_of_options_gives_the_models_logprobs(
    precision: str, most: float, shape: dict[str, Any], tmp_path: Path
) -> None:
    """Where onnxruntime's CPU provider has no operator for fp16, it casts to float32 and back."""
    model = random_model(shape)

    assert largest_difference(model, write(tmp_path, model, precision)) < most


@pytest.mark.parametrize("shape", ROUNDED_SHAPES, ids=str)
def test_logprobs_of_int8_graphs_are_close_to_the_models(shape: dict[str, Any], tmp_path: Path) -> None:
    """A broken scale or a mixed-up weight moves some logprob by more than they are apart of each other."""
    model = random_model(shape)
    logprobs = expected_logprobs(model, *random_inputs(model, 9, 3))
    spread = float(logprobs[np.isfinite(logprobs)].std())
    most = 1.0 if shape is ONE_HEAD else 0.35 * spread  # so narrow a model loses more

    assert 0 < largest_difference(model, write(tmp_path, model, INT8)) < most


@pytest.mark.parametrize("shape", [{}, SSRU, BAHDANAU], ids=str)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_row_gives_the_same_result_alone_and_in_a_batch(
    precision: str, shape: dict[str, Any], exported: Export
) -> None:
    """Rows join at other steps, change places, double and leave; each then answers as one that was alone.

    Recurrent ones to the last bit, but for products of floats: onnxruntime multiplies one row in another
    order than many.
    """
    atol = 0.0 if precision == INT8 else {"fp32": 2e-6, "fp16": 2e-2}[precision]
    encoder, decoder = open_graphs(exported(shape, precision))
    rng = np.random.default_rng(11)
    sources = [[*rng.integers(4, VOCAB, length).tolist(), EOS] for length in (5, 31, 12, 2, 23)]
    steps = decoder.open_steps(SearchKind(2))
    rows: list[tuple[int, list[int]]] = []  # the source of each row, and what it was given so far

    def extend() -> None:
        last_ids = rng.integers(4, VOCAB, len(rows))
        logprobs, ids = steps.step(last_ids, 5)
        for place, (source, given) in enumerate(rows):
            given.append(int(last_ids[place]))
            expected_logprobs, expected_ids = alone(encoder, decoder, sources[source], given)
            np.testing.assert_array_equal(ids[place], expected_ids)
            np.testing.assert_allclose(
                logprobs[place], expected_logprobs, rtol=0.0, atol=atol if shape else max(atol, 1e-5)
            )

    def join(first: int, last: int) -> None:
        steps.join(encoder.run(sources[first:last]))
        rows.extend((source, []) for source in range(first, last) for _ in range(2))

    def select(places: list[int]) -> None:
        steps.select(np.array(places, np.int64))
        rows[:] = [(rows[place][0], [*rows[place][1]]) for place in places]

    join(0, 2)
    extend()
    join(2, 4)
    extend()
    select([1, 0, 3, 3, 4, 5, 7, 6])  # every source stays, its rows in another order
    extend()
    select([7, 6, 2, 2])  # the first and the third leave
    extend()
    join(4, 5)  # where others were
    extend()
    select([])
    join(0, 3)
    extend()


def alone(encoder: Encoder, decoder: Decoder, source: list[int], given: list[int]) -> tuple[Logprobs, Ids]:
    """The best of one row that nobody else is beside."""
    steps = decoder.start(encoder.run([source]), 1)
    for token in given[:-1]:
        steps.step(np.array([token]), 5)
    logprobs, ids = steps.step(np.array(given[-1:]), 5)
    return logprobs[0], ids[0]


SECOND_PART = tuple(range(20, 40))
OWN_NODES = ("fp32", INT8)
"""Precisions whose graphs forbid ids by nodes of their own; fp16 has fp32's, cast."""
SUPPRESSED: list[tuple[int, ...]] = [
    (0, 17, 40, 79),
    (*SECOND_PART, 41),
    tuple(token for token in range(80) if token not in (EOS, 30, 31, 75)),
]


def say_the_same(
    graphs: ReferenceGraphs, sources: Sequence[Sequence[int]], begin: Sequence[int], _limits: Sequence[int]
) -> tuple[list[list[int]], DecoderRows]:
    """In place of a search, for two models to be calibrated on the same texts."""
    target = [7, 30, 9, 45, 60, 8]
    rows = graphs.start(sources, 1, len(begin) + len(target))
    for token in (*begin, *target):
        graphs.step(rows, np.full(len(sources), token), 1)
    return [target for _ in sources], rows


@pytest.mark.usefixtures("split")
@pytest.mark.parametrize(("precision", "ids"), [*product(OWN_NODES, SUPPRESSED), ("fp16", SUPPRESSED[1])])
def test_suppressed_ids_are_never_produced_and_nothing_else_changes(
    precision: str, ids: tuple[int, ...], exported: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their probability is lost: the others' stay what they are in a model that may say everything."""
    monkeypatch.setattr(ReferenceGraphs, "greedy", say_the_same)
    free, bound = (
        exported(shape, precision) for shape in (OWN_TARGET, {**OWN_TARGET, "suppressed_ids": ids})
    )
    sources, targets = random_inputs(random_model(OWN_TARGET), num_steps=4, beams=2)
    allowed = [token for token in range(SMALLEST_VOCAB) if token not in ids]

    before, after = (logprobs_by_steps(each, sources, targets, SMALLEST_VOCAB) for each in (free, bound))
    _, best = best_by_steps(bound, sources, targets, len(allowed))

    assert (after[:, :, list(ids)] == -np.inf).all()
    np.testing.assert_allclose(after[:, :, allowed], before[:, :, allowed], atol=1e-5)
    np.testing.assert_array_equal(np.sort(best, axis=2), np.broadcast_to(allowed, best.shape))


IMPOSSIBLE: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    *((ids, ()) for ids in SUPPRESSED),
    ((0, 20, 40, 60, 61), (0, 5, *range(41, 60), 63)),
]
"""A few; a part and one more; all but a few; the first of each part, with others suppressed after it."""


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize(
    ("precision", "impossible", "suppressed"),
    [*((each, *ids) for each in OWN_NODES for ids in IMPOSSIBLE), ("fp16", *IMPOSSIBLE[-1])],
)
def test_a_bias_of_minus_infinity_forbids_an_id_before_the_softmax(
    precision: str, impossible: tuple[int, ...], suppressed: tuple[int, ...], tmp_path: Path
) -> None:
    """The others then share its probability, also where a part of the vocabulary holds no other."""
    model = random_model({**OWN_TARGET, "suppressed_ids": suppressed})
    with torch.no_grad():
        model.output_bias[list(impossible)] = -np.inf
    sources, targets = random_inputs(model, num_steps=4, beams=2)
    possible = [token for token in range(SMALLEST_VOCAB) if token not in {*impossible, *suppressed}]
    expected = expected_logprobs(model, sources, targets)[:, :, possible]

    found, best = best_by_steps(write(tmp_path, model, precision), sources, targets, len(possible))

    np.testing.assert_array_equal(np.sort(best, axis=2), np.broadcast_to(possible, best.shape))
    if not suppressed:
        np.testing.assert_allclose(np.exp(found).sum(axis=2), 1.0, atol=1e-4)
    by_token = np.take_along_axis(found, best.argsort(axis=2), axis=2)
    atol = {"fp32": 1e-4, "fp16": 4e-2}.get(precision, 0.5)
    np.testing.assert_allclose(by_token, expected, atol=atol)


LISTED = np.array([3, 17, 22, 30, 40, 41, 75])
ALLOWED = np.array([3, 22, 30, 41, 75])


@pytest.mark.parametrize("precision", [INT8])
@pytest.mark.parametrize("is_before", [False, True])
def test_a_shortlist_does_not_re_enable_a_suppressed_id(
    precision: str, tmp_path: Path, exported: Export, monkeypatch: pytest.MonkeyPatch, *, is_before: bool
) -> None:
    """Suppressed, it takes its probability with it; forbidden before the softmax, it leaves it to others."""
    monkeypatch.setattr(ReferenceGraphs, "greedy", say_the_same)
    sources, targets = random_inputs(random_model(OWN_TARGET), num_steps=3, beams=2)
    before = best_of_lists(exported(OWN_TARGET, precision), sources, targets, len(LISTED))
    bound = random_model(OWN_TARGET if is_before else {**OWN_TARGET, "suppressed_ids": (17, 40, 60)})
    if is_before:
        with torch.no_grad():
            bound.output_bias[[17, 40, 60]] = -np.inf
    folder = write(tmp_path / "bound", bound, precision)

    after = best_of_lists(folder, sources, targets, len(LISTED))
    best = best_of_lists(folder, sources, targets, len(ALLOWED))

    expected = before[:, :, ALLOWED]
    if is_before:
        expected -= np.logaddexp.reduce(expected, axis=2, keepdims=True)
    np.testing.assert_allclose(after[:, :, ALLOWED], expected, atol=1e-5)
    np.testing.assert_allclose(best[:, :, ALLOWED], expected, atol=1e-5)
    assert (after[:, :, [17, 40]] == -np.inf).all()


def best_of_lists(folder: Path, sources: list[list[int]], targets: Ids, num_best: int) -> Logprobs:
    """The best log-probabilities by token, [R, T, V], where each source has a shortlist; elsewhere NaN."""
    encoder, decoder = open_graphs(folder)
    cross = encoder.run(sources)
    cross.candidates = [LISTED] * len(sources)
    steps = decoder.open_steps(SearchKind(len(targets) // len(sources), is_shortlisted=True))
    steps.join(cross)
    found = np.full((*targets.shape, SMALLEST_VOCAB), np.nan, np.float32)
    for step in range(targets.shape[1]):
        logprobs, ids = steps.step(targets[:, step], num_best)
        np.put_along_axis(found[:, step], ids, logprobs, axis=1)
    return found


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize("precision", ["int8", "fp32"])
def test_only_vocabulary_parts_with_suppressed_ids_have_a_mask(
    precision: str, exported: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ReferenceGraphs, "greedy", say_the_same)

    def masks(*suppressed_ids: int) -> set[str]:
        shape = {**OWN_TARGET, "suppressed_ids": suppressed_ids} if suppressed_ids else OWN_TARGET
        weights = onnx.load(exported(shape, precision) / "decoder.onnx").graph.initializer
        return {weight.name for weight in weights if weight.name.startswith("suppressed")}

    for_shortlists = {"suppressed"} if precision == INT8 else set()
    num_parts = -(-SMALLEST_VOCAB // projection.MAX_PART_TOKENS)
    assert masks() == set()
    assert masks(0, 7) == {"suppressed.0"} | for_shortlists
    last = {"suppressed.60"} if num_parts > 1 else {"suppressed.0"}
    assert masks(79) == last | for_shortlists
