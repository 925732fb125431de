"""Graphs of the recurrent model against its equations in NumPy, and against PyTorch's greedy search."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from export.graph.precision import PRECISIONS
from export.model.generate import generate_greedy, pad
from tests.imports.model.numpy_bahdanau import NumpyBahdanau
from tests.imports.parity.random_bundles import (
    BAHDANAU,
    EOS,
    OWN_TARGET,
    VOCAB,
    logprobs_by_steps,
    open_graphs,
    random_inputs,
    random_model,
    write,
)
from tests.imports.parity.test_forced_decoding_graphs import MOST_ATTENTION, MOST_LOGPROB, read_all

SHAPES: list[dict[str, Any]] = [
    BAHDANAU,
    {
        **BAHDANAU,
        **OWN_TARGET,
        "tied_output": False,
        "scaled_embeddings": False,
        "suppressed_ids": (0, 17, 40),
    },
]
BEAMS = 2


@pytest.mark.parametrize("shape", SHAPES, ids=["shared", "separate"])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_log_probabilities_and_attention_are_those_of_the_equations(
    precision: str, shape: dict[str, Any], tmp_path: Path
) -> None:
    """Of sources of several lengths side by side, with two targets each."""
    model = random_model(shape)
    folder = write(tmp_path / precision, model, precision)
    reference = NumpyBahdanau(dict(model.to_weights().weights), model.config.suppressed_ids)
    sources, targets = random_inputs(model, num_steps=7, beams=BEAMS)

    found = logprobs_by_steps(folder, sources, targets, model.config.target_vocab_size)
    _, attention = read_all(open_graphs(folder), sources, targets, None)

    for row, target in enumerate(targets.tolist()):
        source = sources[row // BEAMS]
        logprobs, weights = reference.run(source, target, model.embedding_factor)
        np.testing.assert_allclose(found[row], logprobs, rtol=0, atol=MOST_LOGPROB[precision])
        own, rest = np.split(attention[row], [len(source)], axis=1)
        np.testing.assert_allclose(own, weights, rtol=0, atol=MOST_ATTENTION[precision])
        assert not rest.any()


def test_greedy_search_is_pytorchs_on_a_hundred_inputs(tmp_path: Path) -> None:
    model = random_model(BAHDANAU)
    encoder, decoder = open_graphs(write(tmp_path / "fp32", model, "fp32"))
    rng = np.random.default_rng(6)
    sources = [[*rng.integers(4, VOCAB, length).tolist(), EOS] for length in rng.integers(1, 30, 100)]
    num_steps = 15
    expected = generate_greedy(model, *pad(sources, model.config.pad_id), num_steps)

    steps = decoder.start(encoder.run(sources), 1)
    last = np.full(len(sources), model.config.bos_id)
    ids = np.stack([last := steps.step(last, 1)[1][:, 0].copy() for _ in range(num_steps)], axis=1).tolist()

    assert [row[: row.index(EOS)] if EOS in row else row for row in ids] == expected
