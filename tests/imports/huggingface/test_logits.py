"""Logits of an imported model against the original's, position by position."""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import PreTrainedModel

from export.model import Transformer
from export.original import Original
from tests.imports.huggingface.conftest import load
from tests.imports.huggingface.make_models import write_m2m, write_marian, write_mbart, write_nllb
from tests.imports.huggingface.make_t5 import GATED, MADLAD, MADLAD_TAGS, UL2, write_t5

MOST = 1e-4
Write = Callable[[Path], PreTrainedModel]


def marian(config: Mapping[str, Any], *, is_separate: bool = False) -> Write:
    return partial(write_marian, config=config, is_separate=is_separate)


def m2m(config: Mapping[str, Any]) -> Write:
    return partial(write_m2m, config=config)


def mbart(config: Mapping[str, Any]) -> Write:
    return partial(write_mbart, config=config)


UNSCALED = {"scale_embedding": False}
UNTIED = {"tie_word_embeddings": False}
DEEP = {"encoder_layers": 3, "decoder_layers": 1, "encoder_ffn_dim": 24, "decoder_ffn_dim": 56}
WIDE = {"d_model": 48, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
ACTIVATIONS = ("relu", "gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "quick_gelu", "silu", "swish")

MODELS: Mapping[str, Write] = {
    "marian": marian({}),
    "marian-unscaled": marian(UNSCALED),
    "marian-untied": marian(UNTIED),
    "marian-separate": marian({}, is_separate=True),
    "marian-separate-untied": marian(UNTIED, is_separate=True),
    "marian-two-tables": marian({"share_encoder_decoder_embeddings": False}),
    "marian-deep": marian(DEEP),
    "marian-wide": marian(WIDE),
    **{f"marian-{name}": marian({"activation_function": name}) for name in ACTIVATIONS},
    "m2m": m2m({}),
    "m2m-unscaled": m2m(UNSCALED),
    "m2m-untied": m2m(UNTIED),
    "m2m-deep": m2m(DEEP),
    "m2m-wide": m2m(WIDE),
    "m2m-swish": m2m({"activation_function": "swish"}),
    "m2m-gelu": m2m({"activation_function": "gelu"}),
    "nllb": write_nllb,
    "mbart": mbart({}),
    "mbart-unscaled": mbart(UNSCALED),
    "mbart-untied": mbart(UNTIED),
    "mbart-deep": mbart(DEEP),
    "mbart-wide": mbart(WIDE),
    "mbart-relu": mbart({"activation_function": "relu"}),
    "mbart-swish": mbart({"activation_function": "swish"}),
    "t5": write_t5,
    "t5-v1.1": partial(write_t5, config=GATED, is_untied=True),
    "madlad": partial(write_t5, config=MADLAD, is_untied=True, tags=MADLAD_TAGS),
    "ul2": partial(write_t5, config=UL2),
    "mt5": partial(write_t5, config=GATED, kind="mt5"),
    "mt5-untied": partial(write_t5, config=GATED, kind="mt5", is_untied=True),
    "umt5": partial(write_t5, config=GATED, kind="umt5"),
}


def logits_of_both(model: PreTrainedModel, original: Original) -> tuple[torch.Tensor, torch.Tensor]:
    """Theirs and ours, [B, T, V], of sources of different lengths and of any ids but padding's.

    T5's in float64: scores that are not scaled let the rounding of float32 grow.
    """
    config = original.model.config
    generator = torch.Generator().manual_seed(5)

    def draw(vocab_size: int, length: int) -> torch.Tensor:
        ids = torch.randint(0, vocab_size, (4, length), generator=generator)
        return torch.where(ids == config.pad_id, abs(config.pad_id - 1), ids)

    source, target = draw(config.source_vocab_size, 60), draw(config.target_vocab_size, 50)
    mask = torch.arange(60) < torch.tensor([[60], [1], [37], [59]])
    source = torch.where(mask, source, config.pad_id)
    imported = Transformer.from_weights(original.model)
    if config.positions == "relative":
        model, imported = model.double(), imported.double()
    with torch.no_grad():
        theirs = model(input_ids=source, attention_mask=mask.long(), decoder_input_ids=target).logits
        ours = imported.logits(imported(source, mask, target))
    return theirs, ours


@pytest.mark.parametrize("name", MODELS)
def test_logits_equal_those_of_transformers(name: str, tmp_path: Path) -> None:
    model = MODELS[name](tmp_path)
    original = load(tmp_path)

    theirs, ours = logits_of_both(model, original)

    possible = ours.isfinite()
    assert float(possible.float().mean()) > 0.99
    assert float(theirs.std()) > 0.5  # so that a difference would show
    assert float((theirs - ours)[possible].abs().max()) <= MOST


def test_positions_of_m2m_are_those_of_transformers(tmp_path: Path) -> None:
    """To the rounding of one sine: angles in float64 would differ five hundred times as much."""
    model = write_m2m(tmp_path, {"max_position_embeddings": 1024})
    table = load(tmp_path).model.source_positions

    expected = model.model.encoder.embed_positions.weights[2:1026]
    torch.testing.assert_close(torch.from_numpy(table), expected, rtol=0.0, atol=1.2e-7)


def test_the_bias_of_the_logits_is_applied(marian_folder: Path) -> None:
    bias = load(marian_folder).model.weights["output_bias"]

    assert float(bias[np.isfinite(bias)].std()) > 0.5


@pytest.mark.parametrize(
    ("write", "tables"),
    [
        (marian({}), 1),
        (marian(UNTIED), 3),
        (marian({}, is_separate=True), 2),
        (marian(UNTIED, is_separate=True), 3),
        (m2m({}), 1),
        (mbart(UNTIED), 3),
    ],
)
def test_shared_tables_are_stored_once(write: Write, tables: int, tmp_path: Path) -> None:
    write(tmp_path)
    config = load(tmp_path).model.config

    assert 1 + (not config.shared_vocab) + (not config.tied_output) == tables
