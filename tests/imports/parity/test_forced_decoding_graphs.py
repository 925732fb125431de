"""Forced decoding by the exported graphs: log-probabilities of target tokens, and attention."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from dragoman.bundle import open_bundle
from dragoman.contract import INT8
from dragoman.graphs.decoder import Decoder
from dragoman.graphs.encoder import Encoder
from dragoman.manifest import AlignmentHeads
from dragoman.providers import SessionOptions
from dragoman.types import Method, SearchKind
from export.graph.precision import PRECISIONS
from export.model import Transformer
from export.model.layers import Attention
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
    expected_logprobs,
    open_graphs,
    random_inputs,
    random_model,
    write,
)

READING = SearchKind(1, method=Method.SCORE)
LAST_OF_TWO = AlignmentHeads(1, (2,), reads_token=False)
SOME_OF_FIRST = AlignmentHeads(0, (3, 0), reads_token=True)
SHAPES: list[tuple[dict[str, Any], AlignmentHeads]] = [
    ({}, SOME_OF_FIRST),
    ({**OWN_TARGET, "norm": "post"}, LAST_OF_TWO),
    ({"share_kv": True}, LAST_OF_TWO),
    (SSRU, SOME_OF_FIRST),
]
MOST_LOGPROB = {"fp32": 1e-4, "fp16": 4e-2, "int8": 1.0}
MOST_ATTENTION = {"fp32": 1e-5, "fp16": 4e-3, "int8": 0.1}
"""Every weight of a head that was mixed up with another would differ by more."""


def expected_attention(
    model: Transformer, sources: list[list[int]], targets: Ids, alignment: AlignmentHeads
) -> Logprobs:
    """The model's own at every step, [R, T, S], from the queries and keys that its attention sees."""
    seen: list[Logprobs] = []

    def watch(attention: Attention, inputs: tuple[torch.Tensor, ...], _: object) -> None:
        states, keys, _values, bias = inputs
        queries = attention.query(states).unflatten(2, (attention.heads, -1)).transpose(1, 2)
        weights = (queries @ keys.transpose(2, 3) * attention.head_size**-0.5 + bias).softmax(dim=-1)
        seen.append(weights[:, list(alignment.heads)].mean(dim=1).numpy())

    layer = model.decoder_layers()[alignment.layer]
    hook = layer.cross_attention.register_forward_hook(watch)
    expected_logprobs(model, sources, targets)
    hook.remove()
    (attention,) = seen
    return attention


def read_all(
    graphs: tuple[Encoder, Decoder], sources: list[list[int]], targets: Ids, wanted: Ids | None
) -> tuple[Logprobs | None, Logprobs]:
    """Log-probabilities [R, T] of the wanted tokens and attention [R, T, S], of one step after another."""
    encoder, decoder = graphs
    steps = decoder.start(encoder.run(sources), len(targets) // len(sources))
    logprobs, attentions = [], []
    for step in range(targets.shape[1]):
        found, attention = steps.read(targets[:, step], None if wanted is None else wanted[:, step])
        attentions.append(attention.copy())
        assert (found is None) == (wanted is None)
        if found is not None:
            logprobs.append(found.copy())
    return (np.stack(logprobs, axis=1) if logprobs else None), np.stack(attentions, axis=1)


@pytest.mark.parametrize(("shape", "alignment"), SHAPES, ids=str)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_forced_decoding_gives_the_models_logprobs_and_attention(
    precision: str, shape: dict[str, Any], alignment: AlignmentHeads, tmp_path: Path
) -> None:
    """Sources of several lengths side by side, and three targets of each."""
    model = random_model(shape)
    sources, targets = random_inputs(model, num_steps=9, beams=3)
    wanted = np.random.default_rng(8).integers(0, model.config.target_vocab_size, targets.shape)
    expected = np.take_along_axis(expected_logprobs(model, sources, targets), wanted[:, :, None], axis=2)

    graphs = open_graphs(write(tmp_path, model, precision, alignment))

    logprobs, attention = read_all(graphs, sources, targets, wanted)

    assert logprobs is not None
    np.testing.assert_allclose(logprobs, expected[:, :, 0], rtol=0.0, atol=MOST_LOGPROB[precision])
    assert isinstance(model, Transformer)
    own = expected_attention(model, sources, targets, alignment)
    np.testing.assert_allclose(attention[:, :, : own.shape[2]], own, rtol=0.0, atol=MOST_ATTENTION[precision])


@pytest.mark.parametrize("shape", [{}, SSRU, BAHDANAU], ids=str)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_attention_sums_to_one_over_the_source(
    precision: str, shape: dict[str, Any], exported: Export
) -> None:
    sources, targets = random_inputs(random_model(shape), num_steps=4, beams=2)

    _, attention = read_all(open_graphs(exported(shape, precision)), sources, targets, None)

    assert attention.dtype == np.float32
    np.testing.assert_allclose(attention.sum(axis=2), 1.0, atol=1e-5)
    for row, length in enumerate(len(source) for source in sources for _ in range(2)):
        assert (attention[row, :, :length] > 0).all()
        assert (attention[row, :, length:] == 0).all()


PARTS = (33, 3)
"""Tokens of a part, where there are parts, of which the last is shorter, and of a block."""
SUPPRESSED = (0, 5, *range(41, 60), 63)
IMPOSSIBLE = [0, 20, 60, 61, *range(27, 54)]
"""Before the softmax; cut in three of at most 27 tokens, the second part has no other."""
ENDS_OF_PARTS = (0, 5, 19, 20, 26, 27, 32, 33, 40, 41, 53, 54, 59, 60, 63, 65, 66, 79)
"""Of the vocabulary, of what is forbidden, and of what is not."""


@pytest.mark.usefixtures("in_parts")
@pytest.mark.parametrize(
    ("precision", "forbids"),
    [
        *product(("fp32", INT8), ("nothing", "after the softmax", "before it", "both")),
        ("fp16", "both"),  # by fp32's nodes, cast
    ],
)
def test_forced_logprobs_are_bit_identical_to_those_of_a_search(
    precision: str, forbids: str, tmp_path: Path
) -> None:
    """That of a token that the model never says is minus infinity."""
    suppressed = SUPPRESSED if forbids in {"after the softmax", "both"} else ()
    model = random_model({**OWN_TARGET, "suppressed_ids": suppressed})
    if forbids in {"before it", "both"}:
        with torch.no_grad():
            model.output_bias[IMPOSSIBLE] = -np.inf
    encoder, decoder = open_graphs(write(tmp_path, model, precision))
    sources, targets = random_inputs(model, num_steps=2, beams=1)
    cross = encoder.run(sources)
    searched = decoder.start(cross, 1)
    forbidden = {*suppressed, *(IMPOSSIBLE if forbids in {"before it", "both"} else ())}
    searched.step(targets[:, 0], 1)
    logprobs, ids = searched.step(targets[:, 1], SMALLEST_VOCAB - len(forbidden))
    by_token = np.full((len(sources), SMALLEST_VOCAB), -np.inf, np.float32)
    np.put_along_axis(by_token, ids, logprobs, axis=1)

    for token in ENDS_OF_PARTS:
        read = decoder.start(cross, 1)
        read.read(targets[:, 0], None)
        found, _ = read.read(targets[:, 1], np.full(len(sources), token))

        assert found is not None
        np.testing.assert_array_equal(found, by_token[:, token])
    assert set(np.flatnonzero(np.isneginf(by_token[0]))) == forbidden


@pytest.mark.parametrize("shape", [{}, SSRU, BAHDANAU], ids=str)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_forced_decoding_gives_the_same_result_alone_and_in_a_batch(
    precision: str, shape: dict[str, Any], exported: Export
) -> None:
    """Rows join at other steps and leave; each is then read as one that was alone.

    To the last bit, but for products of floats: onnxruntime multiplies one row in another order than many.
    """
    exact = precision == INT8
    most_logprob, most_attention = (
        (0.0, 0.0) if exact else (4e-6, 1e-6) if precision == "fp32" else (2e-2, 2e-3)
    )
    graphs = encoder, decoder = open_graphs(exported(shape, precision))
    rng = np.random.default_rng(17)
    lengths = (5, 71, 12, 2, 23, 40)
    sources = [[*rng.integers(4, VOCAB, length).tolist(), EOS] for length in lengths]
    steps = decoder.open_steps(READING)
    rows: list[tuple[int, list[int]]] = []

    def join(first: int, last: int) -> None:
        steps.join(encoder.run(sources[first:last]))
        rows.extend((source, []) for source in range(first, last))

    def leave(places: list[int]) -> None:
        steps.select(np.array(places, np.int64))
        rows[:] = [rows[place] for place in places]

    def extend(*, is_scored: bool) -> None:
        last_ids, wanted = rng.integers(4, VOCAB, (2, len(rows)))
        logprobs, attention = steps.read(last_ids, wanted if is_scored else None)
        for place, (source, given) in enumerate(rows):
            given.append(int(last_ids[place]))
            targets = np.array([given])
            own_logprobs, own = read_all(
                graphs, [sources[source]], targets, np.full(targets.shape, wanted[place])
            )
            width = min(own.shape[2], attention.shape[1])
            found = attention[place]
            np.testing.assert_allclose(found[:width], own[0, -1, :width], rtol=0.0, atol=most_attention)
            assert not found[width:].any()
            if logprobs is not None:
                assert own_logprobs is not None
                np.testing.assert_allclose(logprobs[place], own_logprobs[0, -1], rtol=0.0, atol=most_logprob)

    join(0, 2)
    extend(is_scored=True)
    join(2, 4)
    extend(is_scored=True)
    extend(is_scored=False)
    leave([3, 0, 2])
    extend(is_scored=True)
    join(4, 6)
    extend(is_scored=True)
    leave([4, 1])
    extend(is_scored=False)
    leave([])
    join(0, 1)
    extend(is_scored=True)


@pytest.mark.parametrize("precision", ["fp32", "fp16"])
def test_forced_decoding_gives_the_same_result_with_device_memory(precision: str, exported: Export) -> None:
    folder = exported({}, precision)
    bundle, on_device = open_bundle(folder), SessionOptions(keeps_memory_on_device=True)
    there = Encoder(bundle, on_device), Decoder(bundle, on_device)
    sources, targets = random_inputs(random_model({}), num_steps=20, beams=1)
    wanted = np.roll(targets, 3)

    for scored in (wanted, None):
        expected = read_all(open_graphs(folder), sources, targets, scored)
        found = read_all(there, sources, targets, scored)

        for one, other in zip(found, expected, strict=True):
            assert (one is None) == (other is None)
            if one is not None and other is not None:
                np.testing.assert_array_equal(one, other)


def test_a_shortlist_of_a_search_does_not_restrict_forced_decoding(exported: Export) -> None:
    encoder, decoder = open_graphs(exported({}, "int8"))
    sources, targets = random_inputs(random_model({}), num_steps=1, beams=1)
    cross = encoder.run(sources)
    cross.candidates = [np.array([3, 17, 22])] * len(sources)
    listed, free = decoder.open_steps(SearchKind(1, is_shortlisted=True)), decoder.open_steps(READING)
    listed.join(cross)
    free.join(cross)

    (found, _), (expected, _) = (steps.read(targets[:, 0], targets[:, 0]) for steps in (listed, free))

    assert found is not None
    assert expected is not None
    np.testing.assert_array_equal(found, expected)
