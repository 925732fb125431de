"""Shapes that a model may have, and checkpoint folders: read back, or rejected."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from export.checkpoint import load_checkpoint, load_weights, save_weights
from export.checkpoint_folder import CheckpointError
from export.model import ModelConfig, Transformer
from export.model_config import BAHDANAU_CONSTANTS
from tests.imports.export.rejections import message_of


def test_an_impossible_config_reports_all_problems_at_once() -> None:
    wrong: dict[str, Any] = {
        "encoder_layers": 0,
        "d_model": 30,
        "heads": 4,
        "activation": "tanh",
        "norm": "both",
        "dropout": 1.0,
        "eos_id": 20,
    }

    with pytest.raises(ValueError, match="model config") as caught:
        ModelConfig(20, 30, **wrong)

    for problem in (
        "encoder_layers must be at least 1, not 0",
        "d_model 30 must be a multiple of heads 4",
        "activation must be one of relu, gelu, gelu_tanh, quick_gelu, swish, not 'tanh'",
        "norm must be one of pre, post, not 'both'",
        "dropout must be at least 0 and below 1, not 1.0",
        "eos_id 20 is not an id of a vocabulary of 20",
        "shared_vocab needs source_vocab_size = target_vocab_size",
    ):
        assert problem in str(caught.value)
    assert str(caught.value).count(";") == len(wrong) - 1  # d_model and heads make one, the vocabularies too


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"source_vocab_size": 0}, "source_vocab_size"),
        ({"target_vocab_size": -1}, "target_vocab_size"),
        *(({name: 0}, name) for name in ("encoder_layers", "decoder_layers", "d_model", "heads", "ffn")),
        *(({name: 0}, name) for name in ("max_positions", "decoder_ffn", "norm_epsilon")),
        ({"inner_dropout": -0.1}, "inner_dropout"),
        ({"pad_id": -1}, "pad_id"),
        ({"positions": "rotary"}, "positions"),
        ({"autoregression": "lstm"}, "autoregression"),
        ({"first_position": -1}, "first_position"),
        ({"bos_id": 20}, "bos_id"),
        *(({"suppressed_ids": ids}, "suppressed_ids") for ids in ((4, 20), (-1,), (3,))),  # 3 ends sentences
        ({"target_vocab_size": 30, "shared_vocab": False, "pad_id": 29}, "pad_id 29 is not .* of 20"),
        ({"positions": "learned", "first_position": 2}, "first_position must be 0 with learned positions"),
        (
            {"d_model": 2, "heads": 1, "positions": "tensor2tensor"},
            "d_model 2 has no tensor2tensor positions",
        ),
        ({"d_model": 9, "heads": 3}, "d_model 9 must be even"),
        *(
            (BAHDANAU_CONSTANTS | fields, problem)
            for fields, problem in (
                ({"heads": 8}, "heads must be 1 with architecture bahdanau, not 8"),
                ({"norm": "post"}, "norm must be 'pre' with architecture bahdanau, not 'post'"),
                ({"autoregression": "ssru"}, "autoregression must be 'gru' with architecture bahdanau"),
                ({"architecture": "transformer"}, "autoregression gru needs architecture bahdanau"),
                ({"architecture": "lstm"}, "architecture must be one of transformer, bahdanau"),
                ({"d_model": 9}, "d_model 9 must be even"),
            )
        ),
    ],
)
def test_a_field_that_is_impossible_is_rejected_by_name(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        ModelConfig(**{"source_vocab_size": 20, "target_vocab_size": 20, **fields})


def test_values_that_other_fields_allow_are_accepted() -> None:
    """A start that no source has may stand at the end of the larger vocabulary; JSON has lists alone."""
    assert ModelConfig(20, 30, shared_vocab=False, bos_id=29).bos_id == 29
    assert ModelConfig(20, 20, d_model=9, heads=3, positions="learned").head_size == 3
    assert ModelConfig(20, 20, suppressed_ids=[5, 6]).suppressed_ids == (5, 6)  # type: ignore[arg-type] # on purpose


SHARED = ModelConfig(
    20, 20, encoder_layers=1, decoder_layers=1, d_model=8, heads=2, ffn=12, max_positions=9, dropout=0.0
)
VARIANTS = (
    SHARED,
    dataclasses.replace(SHARED, shared_vocab=False, target_vocab_size=17),
    dataclasses.replace(SHARED, tied_output=False, positions="learned"),
    dataclasses.replace(SHARED, norm="post", share_kv=True, activation="swish"),
)


def write_checkpoint(folder: Path, config: ModelConfig) -> Transformer:
    torch.manual_seed(5)
    model = Transformer(config).eval()
    save_weights(folder, model, {"steps": 7, "note": "ä"})
    (folder / "source.spm").write_bytes(b"source")
    if not config.shared_vocab:
        (folder / "target.spm").write_bytes(b"target")
    return model


@pytest.mark.parametrize("config", VARIANTS, ids=["shared", "separate", "untied-learned", "post-share_kv"])
def test_a_loaded_checkpoint_equals_the_saved_model(tmp_path: Path, config: ModelConfig) -> None:
    model = write_checkpoint(tmp_path, config)

    checkpoint = load_checkpoint(tmp_path)

    assert checkpoint.model.config == config
    assert not checkpoint.model.training
    assert checkpoint.training == {"steps": 7, "note": "ä"}
    tokenizers = ["source.spm"] if config.shared_vocab else ["source.spm", "target.spm"]
    assert checkpoint.source_tokenizer == tmp_path / tokenizers[0]
    assert checkpoint.target_tokenizer == tmp_path / tokenizers[-1]
    files = {"model.json", "model.safetensors", "training.json", *tokenizers}
    assert {path.name for path in tmp_path.iterdir()} == files, "no half-written one is left"
    ids, mask = torch.randint(0, 17, (2, 5)), torch.ones(2, 5, dtype=torch.bool)
    expected = model.logits(model(ids, mask, ids))
    loaded = checkpoint.model.logits(checkpoint.model(ids, mask, ids))
    assert torch.equal(loaded, expected)


def test_tied_tables_are_stored_once(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, SHARED)

    weights = load_file(str(tmp_path / "model.safetensors"))

    tables = [name for name, tensor in weights.items() if tensor.shape == (20, 8)]
    assert tables == ["source_embedding.weight"]


def test_missing_extra_and_misshapen_weights_are_all_named(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, SHARED)
    weights = load_file(str(tmp_path / "model.safetensors"))
    del weights["output_bias"]
    weights["decoder.9.norm"] = torch.zeros(1)
    weights["source_embedding.weight"] = torch.zeros(20, 9)

    origin = "somewhere/model.safetensors"
    assert message_of(CheckpointError, load_weights, Transformer(SHARED), weights, origin) == (
        "somewhere/model.safetensors: output_bias is missing; decoder.9.norm is not a weight of this model; "
        "source_embedding.weight has shape [20, 9], expected [20, 8]"
    )


@pytest.mark.parametrize("name", ["model.safetensors", "model.json", "source.spm", "target.spm"])
def test_a_missing_or_damaged_checkpoint_file_is_named(tmp_path: Path, name: str) -> None:
    write_checkpoint(tmp_path, VARIANTS[1])
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    problem = "model.safetensors is not a readable safetensors file"
    assert problem in message_of(CheckpointError, load_checkpoint, tmp_path)

    (tmp_path / name).unlink()

    assert f"{name} not found" in message_of(CheckpointError, load_checkpoint, tmp_path)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "is not JSON"),
        ("[1]", "is not a JSON object"),
        ({"width": 3}, "width is not supported by this release"),
        ({"heads": 3}, "d_model 8 must be a multiple of heads 3"),
        ({"heads": "two"}, "model.json"),
    ],
)
def test_a_config_that_cannot_be_read_is_named_with_its_problem(
    tmp_path: Path, content: str | dict[str, Any], problem: str
) -> None:
    write_checkpoint(tmp_path, SHARED)
    path = tmp_path / "model.json"
    if isinstance(content, dict):
        content = json.dumps(json.loads(path.read_text()) | content)
    path.write_text(content)

    found = message_of(CheckpointError, load_checkpoint, tmp_path)

    assert "model.json" in found
    assert problem in found
