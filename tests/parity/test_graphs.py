"""The exported graphs against the PyTorch model, in every shape that the model has."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from dragoman.bundle import Limits, open_bundle
from dragoman.graphs.decoder import FIRST_CAPACITY, Decoder
from dragoman.graphs.encoder import Encoder
from dragoman.graphs.session import SessionOptions
from export.bundle import BundleFacts, write_bundle
from export.checkpoint import Checkpoint
from export.model import ModelConfig, Transformer
from export.validation import pad

VOCAB = 96
CALIBRATION = [[*row, 3] for row in np.random.default_rng(2).integers(4, VOCAB, (40, 12)).tolist()]
SHAPES: list[dict[str, Any]] = [
    {"norm": norm, "activation": activation, "positions": positions}
    for norm, activation, positions in itertools.product(
        ("pre", "post"), ("relu", "gelu", "swish"), ("sinusoidal", "learned")
    )
] + [
    {"share_kv": True},
    {"tied_output": False},
    {"shared_vocab": False, "target_vocab_size": 80},
    {"shared_vocab": False, "target_vocab_size": 80, "tied_output": False},
    {"heads": 1, "d_model": 8},
]


def random_model(shape: dict[str, Any]) -> Transformer:
    torch.manual_seed(3)
    sizes: dict[str, Any] = {
        "source_vocab_size": VOCAB,
        "target_vocab_size": VOCAB,
        "encoder_layers": 2,
        "decoder_layers": 2,
        "d_model": 32,
        "heads": 4,
        "ffn": 48,
        "max_positions": 128,
    }
    model = Transformer(ModelConfig(**(sizes | shape))).eval()
    for parameter in model.parameters():
        if parameter.ndim == 1:  # biases and norms begin as zeros and ones, which would hide a mix-up
            nn.init.normal_(parameter, mean=0.5, std=0.5)
    return model


def write(folder: Path, model: Transformer, precision: str) -> Path:
    tokenizer = Path(__file__).parents[1] / "tiny" / "checkpoint" / "source.spm"
    facts = BundleFacts("random", "de", "en", "none", {}, {}, Limits(100, 100))
    write_bundle(folder, Checkpoint(model, tokenizer, tokenizer, {}), precision, facts, CALIBRATION)
    return folder


def largest_difference(model: Transformer, folder: Path, num_steps: int = 9, beams: int = 3) -> float:
    """Of log-probabilities, over padded sources, several rows a source, and all steps."""
    bundle = open_bundle(folder)
    rng = np.random.default_rng(5)
    sources = [[*rng.integers(4, VOCAB, length).tolist(), model.config.eos_id] for length in (9, 1, 17, 4)]
    targets = rng.integers(4, 80, (len(sources) * beams, num_steps))
    steps = Decoder(bundle, SessionOptions()).start(Encoder(bundle, SessionOptions()).run(sources), beams)
    vocab = model.config.target_vocab_size
    found = np.empty((len(targets), num_steps, vocab), np.float32)
    for step in range(num_steps):
        logprobs, ids = steps.step(targets[:, step], vocab)
        np.put_along_axis(found[:, step], ids, logprobs, axis=1)
    with torch.inference_mode():
        padded, mask = pad(sources, model.config.pad_id)
        memory = model.encode(padded, mask).repeat_interleave(beams, 0)
        cross = model.cross_keys_values(memory)
        states, _ = model.decode(torch.from_numpy(targets), cross, mask.repeat_interleave(beams, 0))
        expected = model.logits(states).log_softmax(dim=-1).numpy()
    return float(np.abs(found - expected).max())


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_fp32_graphs_give_the_models_logprobs(shape: dict[str, Any], tmp_path: Path) -> None:
    model = random_model(shape)

    assert largest_difference(model, write(tmp_path, model, "fp32")) < 1e-4


@pytest.mark.parametrize(
    "shape", [SHAPES[0], SHAPES[-1], {"shared_vocab": False, "tied_output": False}], ids=str
)
def test_int8_graphs_stay_near_the_models_logprobs(shape: dict[str, Any], tmp_path: Path) -> None:
    """A broken scale or a mixed-up weight moves logprobs by whole units, rounding by hundredths."""
    model = random_model(shape)

    assert 0 < largest_difference(model, write(tmp_path, model, "int8")) < 0.6


def test_caches_that_grow_keep_every_position(tmp_path: Path) -> None:
    model = random_model({})

    assert largest_difference(model, write(tmp_path, model, "fp32"), num_steps=2 * FIRST_CAPACITY + 5) < 1e-4


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_row_answers_the_same_alone_and_in_company(precision: str, tmp_path: Path) -> None:
    """Neighbours of other lengths change neither cross K/V nor the best candidates of a source."""
    model = random_model({})
    bundle = open_bundle(write(tmp_path, model, precision))
    encoder, decoder = Encoder(bundle, SessionOptions()), Decoder(bundle, SessionOptions())
    rng = np.random.default_rng(11)
    sources = [[*rng.integers(4, VOCAB, length).tolist(), 3] for length in (5, 31, 12, 2, 23, 7)]
    together = decoder.start(encoder.run(sources), 1)
    alone = [decoder.start(encoder.run([source]), 1) for source in sources]
    for _ in range(6):
        last_ids = rng.integers(4, VOCAB, len(sources))
        logprobs, ids = together.step(last_ids, 5)
        for row, steps in enumerate(alone):
            own_logprobs, own_ids = steps.step(last_ids[row : row + 1], 5)

            np.testing.assert_array_equal(own_ids[0], ids[row])
            np.testing.assert_allclose(own_logprobs[0], logprobs[row], atol=1e-5)


def test_selected_rows_carry_on_from_their_parents(tmp_path: Path) -> None:
    """After beams were reordered and a source left, each row answers as if it had been alone all along."""
    model = random_model({})
    bundle = open_bundle(write(tmp_path, model, "fp32"))
    encoder, decoder = Encoder(bundle, SessionOptions()), Decoder(bundle, SessionOptions())
    rng = np.random.default_rng(13)
    sources = [[*rng.integers(4, VOCAB, length).tolist(), 3] for length in (6, 14, 9)]
    steps = decoder.start(encoder.run(sources), 2)
    history = rng.integers(4, VOCAB, (6, 4))
    for step in range(4):
        steps.step(history[:, step], 1)

    steps.select(
        np.array([5, 4, 3, 3])
    )  # source 2 with its beams swapped, source 1 with its second beam twice
    last_ids = rng.integers(4, VOCAB, 4)
    logprobs, ids = steps.step(last_ids, 4)

    for row, (source, parent) in enumerate([(2, 5), (2, 4), (1, 3), (1, 3)]):
        alone = decoder.start(encoder.run([sources[source]]), 1)
        for token in history[parent]:
            alone.step(np.array([token]), 1)
        own_logprobs, own_ids = alone.step(last_ids[row : row + 1], 4)
        np.testing.assert_array_equal(own_ids[0], ids[row])
        np.testing.assert_allclose(own_logprobs[0], logprobs[row], atol=1e-5)
