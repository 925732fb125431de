"""The recurrent model against its equations in NumPy, and its encoder against `torch.nn.GRU`."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from export.model import Bahdanau, ModelConfig
from export.model.generate import pad
from export.model_config import BAHDANAU_CONSTANTS
from tests.imports.model.numpy_bahdanau import NumpyBahdanau

OPTIONS: list[dict[str, Any]] = [
    {},
    {"shared_vocab": False, "tied_output": False, "scaled_embeddings": False, "suppressed_ids": (0, 7)},
]
SOURCES = [[5, 9, 11, 3], [3], [4, 4, 17, 8, 20, 6, 3]]
TARGETS = [[2, 6, 8, 9], [2, 4, 4, 17], [2, 18, 5, 7]]


def random_model(options: dict[str, Any]) -> Bahdanau:
    """A tiny model in which every parameter is random."""
    torch.manual_seed(5)
    config = ModelConfig(23, 23, d_model=12, max_positions=16, **BAHDANAU_CONSTANTS, **options)
    model = Bahdanau(config).eval()
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.5)
    return model


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@torch.inference_mode()
def test_log_probabilities_are_those_of_the_equations(options: dict[str, Any]) -> None:
    """Of sources of several lengths side by side: padding changes none of them."""
    model = random_model(options)
    reference = NumpyBahdanau(dict(model.to_weights().weights), model.config.suppressed_ids)

    found = model.log_probabilities(model(*pad(SOURCES, 0), torch.tensor(TARGETS)))

    for logprobs, source, target in zip(found.numpy(), SOURCES, TARGETS, strict=True):
        expected, _ = reference.run(source, target, model.embedding_factor)
        np.testing.assert_allclose(logprobs, expected, rtol=0, atol=1e-5)


@torch.inference_mode()
def test_annotations_are_those_of_pytorchs_own_gru() -> None:
    model = random_model({})
    ids, mask = pad(SOURCES, 0)
    embedded = model.source_embedding(ids) * model.embedding_factor
    gru = nn.GRU(12, 6, batch_first=True, bidirectional=True)
    for direction, suffix in ((model.encoder.forwards, ""), (model.encoder.backwards, "_reverse")):
        for ours, theirs in ((direction.embedding_gates, "ih"), (direction.cell.state_gates, "hh")):
            getattr(gru, f"weight_{theirs}_l0{suffix}").copy_(ours.weight)
            getattr(gru, f"bias_{theirs}_l0{suffix}").copy_(ours.bias)
    packed = nn.utils.rnn.pack_padded_sequence(
        embedded, mask.sum(dim=1), batch_first=True, enforce_sorted=False
    )
    expected, _ = nn.utils.rnn.pad_packed_sequence(gru(packed)[0], batch_first=True)

    torch.testing.assert_close(model.encode(ids, mask), expected, atol=1e-6, rtol=0)


@torch.inference_mode()
def test_a_target_in_parts_gives_the_same_states() -> None:
    model = random_model({})
    ids, mask = pad(SOURCES, 0)
    target = torch.tensor(TARGETS)
    cross = model.cross_keys_values(model.encode(ids, mask))
    whole, _ = model.decode(target, cross, mask)

    first, past = model.decode(target[:, :1], cross, mask)
    second, past = model.decode(target[:, 1:], cross, mask, past)

    assert past.positions == 4
    torch.testing.assert_close(torch.cat([first, second], dim=1), whole, atol=1e-6, rtol=0)
