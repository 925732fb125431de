"""A checkpoint as a Pegasus model of Transformers, without the project's own code."""

import json
from pathlib import Path

import torch
from safetensors.torch import load_file
from transformers import PegasusConfig, PegasusForConditionalGeneration

from bench.peers.names import Shape, check_convertible, pegasus_name

TIED = ("lm_head.weight", "embed_tokens.weight", "embed_positions.weight")
"""Ends of the names that a checkpoint lacks: tied tables, and positions, which are computed."""


def load_pegasus(checkpoint: Path) -> PegasusForConditionalGeneration:
    """Load every weight of a checkpoint.

    Raises:
        ValueError: the model has another architecture, or a weight is missing or unknown.
    """
    shape: Shape = json.loads((checkpoint / "model.json").read_text(encoding="utf8"))
    check_convertible(shape)
    model = PegasusForConditionalGeneration(_config(shape))
    weights = {
        pegasus_name(name): weight for name, weight in load_file(checkpoint / "model.safetensors").items()
    }
    weights["final_logits_bias"] = weights["final_logits_bias"].reshape(1, -1)
    found = model.load_state_dict(weights, strict=False)
    missing = [name for name in found.missing_keys if not name.endswith(TIED)]
    if missing or found.unexpected_keys:
        raise ValueError(f"{checkpoint}: missing {missing}, unknown {found.unexpected_keys}")
    model.tie_weights()
    with torch.no_grad():
        for side in (model.model.encoder, model.model.decoder):
            side.embed_positions.weight.copy_(position_table(shape))
    return model.eval()


def position_table(shape: Shape) -> torch.Tensor:
    """Compute sinusoidal position vectors (Vaswani et al. 2017, section 3.5), sines before cosines.

    Returns:
        float32 [max_positions, d].
    """
    half = shape["d_model"] // 2
    rates = 10_000.0 ** -(torch.arange(half, dtype=torch.float64) / half)
    angles = torch.outer(torch.arange(shape["max_positions"], dtype=torch.float64), rates)
    return torch.cat([angles.sin(), angles.cos()], dim=1).to(torch.float32)


def _config(shape: Shape) -> PegasusConfig:
    sides = {
        f"{side}_{theirs}": shape[ours.format(side)]
        for side in ("encoder", "decoder")
        for theirs, ours in (("layers", "{}_layers"), ("attention_heads", "heads"), ("ffn_dim", "ffn"))
    }
    return PegasusConfig(
        vocab_size=shape["target_vocab_size"],
        max_position_embeddings=shape["max_positions"],
        d_model=shape["d_model"],
        **sides,
        activation_function={"swish": "silu"}.get(shape["activation"], shape["activation"]),
        scale_embedding=True,
        pad_token_id=shape["pad_id"],
        unk_token_id=shape["unk_id"],
        bos_token_id=shape["bos_id"],
        decoder_start_token_id=shape["bos_id"],
        eos_token_id=shape["eos_id"],
        forced_eos_token_id=None,
        # CTranslate2's converter reads these.
        normalize_before=True,
        normalize_embedding=False,
    )
