"""CTranslate2's own converters, run by the Python of the other engines: `python ct2_converters.py`.

Reads a JSON object from standard input: `kind`, `original`, `folder`, `quantization`; and for OpenNMT-py,
whose checkpoint is made here, its vocabularies `source` and `target`.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import ctranslate2
import torch

WIDTH, HEADS, FFN, LAYERS, POSITIONS = 32, 4, 48, 2, 64


def convert(request: dict[str, Any]) -> None:
    original = Path(request["original"])
    if request["kind"] == "marian":
        vocabularies = sorted(map(str, original.glob("*vocab.yml")))  # src before trg
        converter = ctranslate2.converters.MarianConverter(
            str(original / "opus.npz"), [vocabularies[0], vocabularies[-1]]
        )
    elif request["kind"] == "opennmt-py":
        path = original / "model.pt"
        torch.save(make_opennmt_py(request["source"], request["target"]), path)
        converter = ctranslate2.converters.OpenNMTPyConverter(str(path), unsafe_deserialization=True)
    else:
        converter = ctranslate2.converters.TransformersConverter(str(original))
    converter.convert(request["folder"], quantization=request["quantization"])


def make_opennmt_py(source: list[str], target: list[str]) -> dict[str, Any]:
    """A checkpoint with random weights, by OpenNMT-py's names."""
    torch.manual_seed(5)
    weights: dict[str, torch.Tensor] = {}

    def linear(name: str, outputs: int, inputs: int) -> None:
        weights[f"{name}.weight"] = torch.randn(outputs, inputs) * 2 * inputs**-0.5
        weights[f"{name}.bias"] = torch.randn(outputs) * 0.1

    def norm(name: str) -> None:
        weights[f"{name}.weight"] = 1 + torch.randn(WIDTH) * 0.1
        weights[f"{name}.bias"] = torch.randn(WIDTH) * 0.1

    def attention(name: str) -> None:
        for layer in ("linear_query", "linear_keys", "linear_values", "final_linear"):
            linear(f"{name}.{layer}", WIDTH, WIDTH)

    for stack, tokens in (("encoder", source), ("decoder", target)):
        embedding = f"{stack}.embeddings.make_embedding"
        weights[f"{embedding}.emb_luts.0.weight"] = torch.randn(len(tokens), WIDTH) * WIDTH**-0.5
        weights[f"{embedding}.pe.pe"] = _interleaved_sines()[:, None]
        norm(f"{stack}.layer_norm")
        for index in range(LAYERS):
            layer = f"{stack}.transformer{'_layers' * (stack == 'decoder')}.{index}"
            attention(f"{layer}.self_attn")
            if stack == "decoder":
                attention(f"{layer}.context_attn")
                norm(f"{layer}.layer_norm_1")
                norm(f"{layer}.layer_norm_2")
            else:
                norm(f"{layer}.layer_norm")
            linear(f"{layer}.feed_forward.w_1", FFN, WIDTH)
            linear(f"{layer}.feed_forward.w_2", WIDTH, FFN)
            norm(f"{layer}.feed_forward.layer_norm")
    options = argparse.Namespace(
        encoder_type="transformer",
        decoder_type="transformer",
        position_encoding=True,
        enc_layers=LAYERS,
        dec_layers=LAYERS,
        heads=HEADS,
        pos_ffn_activation_fn="relu",
    )
    generator = {
        "weight": torch.randn(len(target), WIDTH) * 1.5 * WIDTH**-0.5,
        "bias": torch.randn(len(target)) * 0.1,
    }
    return {"model": weights, "generator": generator, "opt": options, "vocab": {"src": source, "tgt": target}}


def _interleaved_sines() -> torch.Tensor:
    rates = 10_000 ** (-torch.arange(0, WIDTH, 2) / WIDTH)
    angles = torch.arange(POSITIONS)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)


if __name__ == "__main__":
    convert(json.load(sys.stdin))
