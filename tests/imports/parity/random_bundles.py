"""Bundles of random models, and the log-probabilities of their graphs and of the models themselves."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from numpy.typing import NDArray
from torch import nn

from dragoman.bundle import open_bundle
from dragoman.graphs.decoder import Decoder
from dragoman.graphs.encoder import Encoder
from dragoman.languages import Languages, SourceLanguage, TargetLanguage
from dragoman.manifest import AlignmentHeads, DecodingDefaults, ModelLimits
from dragoman.providers import SessionOptions
from export.bundle import BundleMetadata, write_bundle
from export.calibration import Sample
from export.model import ModelConfig, TranslationModel, model_class
from export.model_config import BAHDANAU_CONSTANTS
from export.original import Original, TokenizerSource
from tests.paths import TINY

VOCAB = 96
SMALLEST_VOCAB = 80
"""Of a target that has its own."""
EOS = 3
TOKENIZER = TokenizerSource(TINY / "checkpoint" / "source.spm", vocabulary=None, normalises=True)
LANGUAGES = Languages({"de": SourceLanguage((), (), (EOS,))}, {"en": TargetLanguage((), (), (2,))})
SAMPLES = [Sample([*row, EOS], (2,)) for row in np.random.default_rng(2).integers(4, VOCAB, (6, 12)).tolist()]
OWN_TARGET: dict[str, Any] = {"shared_vocab": False, "target_vocab_size": SMALLEST_VOCAB}
SSRU: dict[str, Any] = {"autoregression": "ssru", "norm": "post"}
BAHDANAU: dict[str, Any] = BAHDANAU_CONSTANTS
PART_TOKENS, BLOCK_TOKENS = 20, 4
"""Of a split vocabulary: 96 tokens are four parts of 20 and one of 16; 80 are four of 20."""

Logprobs = NDArray[np.float32]
Ids = NDArray[np.int64]


def random_model(shape: dict[str, Any]) -> TranslationModel:
    """A tiny model, of two and two layers if it is a Transformer, and whatever `shape` says."""
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
    if shape.get("architecture") == "bahdanau":
        del sizes["ffn"]  # it has none
    config = ModelConfig(**(sizes | shape))
    model = model_class(config)(config).eval()
    for parameter in model.parameters():
        if parameter.ndim == 1:  # biases and norms begin as zeros and ones, which would hide a mix-up
            nn.init.normal_(parameter, mean=0.5, std=0.5)
    return model


def write(
    folder: Path, model: TranslationModel, precision: str, alignment: AlignmentHeads | None = None
) -> Path:
    """Export into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    weights, decoding = model.to_weights(), DecodingDefaults()
    original = Original("random", weights, TOKENIZER, TOKENIZER, LANGUAGES, {}, decoding)
    facts = BundleMetadata("random", "none", ModelLimits(100, 100), alignment=alignment)
    write_bundle(folder, original, precision, facts, SAMPLES)
    return folder


@lru_cache(maxsize=2)  # a bundle beside another one
def open_graphs(folder: Path) -> tuple[Encoder, Decoder]:
    bundle = open_bundle(folder)
    return Encoder(bundle, SessionOptions()), Decoder(bundle, SessionOptions())


def random_inputs(model: TranslationModel, num_steps: int, beams: int) -> tuple[list[list[int]], Ids]:
    """Sources of other lengths, and targets [R, T] to feed."""
    rng = np.random.default_rng(5)
    sources = [[*rng.integers(4, VOCAB, length).tolist(), model.config.eos_id] for length in (9, 1, 17, 4)]
    return sources, rng.integers(4, SMALLEST_VOCAB, (len(sources) * beams, num_steps))


def expected_logprobs(model: TranslationModel, sources: list[list[int]], targets: Ids) -> Logprobs:
    """The model's own, of every token after every target token, [R, T, V]."""
    beams = len(targets) // len(sources)
    with torch.inference_mode():
        lengths = torch.tensor([len(source) for source in sources])
        padded = nn.utils.rnn.pad_sequence([torch.tensor(source) for source in sources], batch_first=True)
        mask = torch.arange(padded.shape[1]) < lengths[:, None]
        memory = model.encode(padded, mask).repeat_interleave(beams, 0)
        cross = model.cross_keys_values(memory)
        states, _ = model.decode(torch.from_numpy(targets), cross, mask.repeat_interleave(beams, 0))
        logprobs: Logprobs = model.log_probabilities(states).numpy()
    return logprobs


def best_by_steps(
    folder: Path, sources: list[list[int]], targets: Ids, num_best: int
) -> tuple[Logprobs, Ids]:
    """The graphs' log-probabilities, best first, and their ids, each [R, T, K]."""
    encoder, decoder = open_graphs(folder)
    beams = len(targets) // len(sources)
    steps = decoder.start(encoder.run(sources), beams)
    logprobs = np.empty((*targets.shape, num_best), np.float32)
    ids = np.empty((*targets.shape, num_best), np.int64)
    for step in range(targets.shape[1]):
        logprobs[:, step], ids[:, step] = steps.step(targets[:, step], num_best)
    return logprobs, ids


def logprobs_by_steps(folder: Path, sources: list[list[int]], targets: Ids, vocab_size: int) -> Logprobs:
    """The graphs' log-probabilities of every token, [R, T, V]."""
    logprobs, ids = best_by_steps(folder, sources, targets, vocab_size)
    found = np.full_like(logprobs, np.nan)  # a token that is not named stays one
    np.put_along_axis(found, ids, logprobs, axis=2)
    return found


def largest_difference(model: TranslationModel, folder: Path, num_steps: int = 9, beams: int = 3) -> float:
    """Of log-probabilities, over padded sources, several rows a source, and all steps.

    Where the model says minus infinity, so must the graphs.
    """
    sources, targets = random_inputs(model, num_steps, beams)
    found = logprobs_by_steps(folder, sources, targets, model.config.target_vocab_size)
    expected = expected_logprobs(model, sources, targets)
    possible = np.isfinite(expected)
    np.testing.assert_array_equal(found[~possible], expected[~possible])
    return float(np.abs(found[possible] - expected[possible]).max())


def all_nodes(graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    """The graph's and its branches'."""
    branches = [each.g for node in graph.node for each in node.attribute if each.type == each.GRAPH]
    return [*graph.node, *(node for branch in branches for node in all_nodes(branch))]
