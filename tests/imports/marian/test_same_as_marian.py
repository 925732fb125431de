"""An imported model computes what Marian's does, as a forward pass in NumPy."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from export.marian import load
from export.model import Transformer
from export.model.generate import generate_greedy, pad
from tests.every_pair import combinations_with_every_pair
from tests.imports.export.rejections import GERMAN_TO_ENGLISH
from tests.imports.marian.conftest import Tokenizers, write_model
from tests.imports.marian.reference import Reference
from tests.imports.marian.written import DECODER_FFN, TRAINED_POSITIONS, Variant

TOLERANCE = 1e-4


OPTIONS: dict[str, Sequence[Any]] = {
    "norms": (
        {"postprocess": "dan"},
        {"postprocess": "an", "embedding": "n", "top": "n"},
        {"postprocess": "an", "embedding": "nd"},
        {"postprocess": "dan", "top": "dn", "embedding": ""},
    ),
    "activation": ("relu", "swish", "gelu"),
    "tying": ("all", "src", "target", "src+target", "none"),
    "autoregression": ("self-attention", "rnn"),
    "has_trained_positions": (False, True),
    "tied_layers": ((), (1, 1, 1), (1, 2, 1)),
    "has_output_bias": (True, False),
    "has_legacy_output": (True, False),
    "decoder_ffn": (0, DECODER_FFN),
    "encoder_layers": (1, 2),
}


@pytest.mark.parametrize("options", combinations_with_every_pair(OPTIONS), ids=str)
def test_log_probabilities_equal_marians_formulas(
    options: dict[str, Any], tmp_path: Path, tokenizers: Tokenizers
) -> None:
    """Of models in which each option is together with each other one."""
    fields = {name: value for name, value in options.items() if name != "norms"} | options["norms"]
    written = write_model(tmp_path, Variant(**fields), tokenizers)
    original = load(tmp_path, GERMAN_TO_ENGLISH)
    rng = np.random.default_rng(1)
    sources = [_sentence(rng, len(written.source_pieces), length) for length in (1, 5, 9)]
    targets = rng.integers(0, len(written.target_pieces), (3, 7)).tolist()

    found = _log_probabilities(Transformer.from_weights(original.model), sources, targets)

    reference = Reference(written.arrays, written.options)
    expected = np.stack(
        [reference.log_probabilities(source, target) for source, target in zip(sources, targets, strict=True)]
    )
    num_pieces = len(written.target_pieces)
    assert np.abs(found[..., :num_pieces] - expected).max() <= TOLERANCE
    assert (found[..., num_pieces:] == -np.inf).all()  # the start is never said, nor does it take part


@pytest.mark.parametrize("autoregression", ["self-attention", "rnn"])
def test_greedy_search_equals_marians(autoregression: str, tmp_path: Path, tokenizers: Tokenizers) -> None:
    written = write_model(tmp_path, Variant(autoregression=autoregression), tokenizers, seed=3)
    original = load(tmp_path, GERMAN_TO_ENGLISH)
    rng = np.random.default_rng(2)
    sources = [_sentence(rng, len(written.source_pieces), length) for length in range(1, 21)]

    model = Transformer.from_weights(original.model)
    found = generate_greedy(model, *pad(sources, original.model.config.pad_id), 12)

    reference = Reference(written.arrays, written.options)
    assert found == [reference.greedy(source, 12, eos_id=0, forbidden=(1,)) for source in sources]
    assert any(len(target) > 3 for target in found)


def test_unknown_is_never_produced_and_keeps_its_probability(tmp_path: Path, tokenizers: Tokenizers) -> None:
    written = write_model(tmp_path, Variant(), tokenizers)
    likely = written.arrays["decoder_ff_logit_out_b"]
    likely[0, 1] = 20.0  # <unk> is all but certain
    written.save()
    model = Transformer.from_weights(load(tmp_path, GERMAN_TO_ENGLISH).model)
    states = model(*pad([[3, 0]], model.config.pad_id), torch.tensor([[model.config.bos_id]]))

    logprobs = model.log_probabilities(states)[0, 0]

    assert logprobs[1] == -torch.inf
    assert logprobs[2:].exp().sum() < 0.01  # the others do not share it

    (tmp_path / "decoder.yml").write_text("allow-unk: true\n", encoding="utf8")
    assert load(tmp_path, GERMAN_TO_ENGLISH).model.config.suppressed_ids == ()


def test_sinusoidal_positions_are_unlimited_and_trained_ones_are_not(
    tmp_path: Path, tokenizers: Tokenizers
) -> None:
    write_model(tmp_path / "sines", Variant(), tokenizers)
    write_model(tmp_path / "trained", Variant(has_trained_positions=True), tokenizers)

    assert load(tmp_path / "sines", GERMAN_TO_ENGLISH).model.config.max_positions == 512
    assert load(tmp_path / "trained", GERMAN_TO_ENGLISH).model.config.max_positions == TRAINED_POSITIONS


def test_half_precision_is_read_exactly_and_what_the_model_does_not_use_is_ignored(
    tmp_path: Path, tokenizers: Tokenizers
) -> None:
    """The option for trained positions without their array, and ranges of Marian's int8."""
    written = write_model(tmp_path, Variant(more={"transformer-train-position-embeddings": True}), tokenizers)
    for name in written.arrays:
        written.arrays[name] = written.arrays[name].astype(np.float16)
    written.save({"encoder_l1_self_Wq_QuantMultA": np.ones((1, 1), np.float32)})

    found = _log_probabilities(
        Transformer.from_weights(load(tmp_path, GERMAN_TO_ENGLISH).model), [[5, 4, 0]], [[2, 3, 4]]
    )

    expected = Reference(written.arrays, written.options).log_probabilities([5, 4, 0], [2, 3, 4])
    assert np.abs(found[0, :, : expected.shape[1]] - expected).max() <= TOLERANCE


def test_tied_layers_get_separate_weights(tmp_path: Path, tokenizers: Tokenizers) -> None:
    write_model(tmp_path, Variant(tied_layers=(1, 1, 1)), tokenizers)
    first, second, _ = Transformer.from_weights(load(tmp_path, GERMAN_TO_ENGLISH).model).decoder_layers()
    weight = second.self_residual.norm.weight
    assert isinstance(weight, torch.Tensor)
    before = weight.clone()

    with torch.no_grad():
        for parameter in first.parameters():
            parameter.zero_()

    assert torch.equal(weight, before)


def _sentence(rng: np.random.Generator, vocab_size: int, length: int) -> list[int]:
    return [*rng.integers(2, vocab_size, length - 1).tolist(), 0]


@torch.inference_mode()
def _log_probabilities(
    model: Transformer, sources: Sequence[list[int]], targets: Sequence[list[int]]
) -> NDArray[np.float32]:
    """Of a padded batch, before anything is suppressed, [B, T, V]."""
    begun = torch.tensor([[model.config.bos_id, *target[:-1]] for target in targets])
    states = model(*pad(list(sources), model.config.pad_id), begun)
    logprobs: NDArray[np.float32] = model.logits(states).log_softmax(dim=-1).numpy()
    return logprobs
