"""Convert a checkpoint to a CTranslate2 model: `python -m bench.peers.ctranslate2_convert CHECKPOINT FOLDER`.

Tokens are the ids in decimal, so that no tokenizer is needed.
"""

import argparse
import sys
from pathlib import Path

from ctranslate2.specs import TransformerSpec
from ctranslate2.specs.attention_spec import MultiHeadAttentionSpec
from ctranslate2.specs.common_spec import Activation, LayerNormSpec, LinearSpec
from ctranslate2.specs.transformer_spec import FeedForwardSpec
from torch import Tensor, cat

from bench.peers.checkpoint import position_table, read_checkpoint
from bench.peers.names import Shape

ACTIVATIONS = {"relu": Activation.RELU, "gelu": Activation.GELU, "swish": Activation.SWISH}
LAYER_NORM_EPSILON = 1e-5
Weights = dict[str, Tensor]


def convert(checkpoint: Path, folder: Path, quantization: str) -> None:
    """Write the model's files; `quantization` is one of CTranslate2's names, such as `int8`."""
    shape, weights = read_checkpoint(checkpoint)
    spec = build_spec(shape, weights)
    tokens = [str(token) for token in range(shape["target_vocab_size"])]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    config = spec.config
    config.unk_token = str(shape["unk_id"])
    config.bos_token = config.decoder_start_token = str(shape["bos_id"])
    config.eos_token = str(shape["eos_id"])
    config.layer_norm_epsilon = LAYER_NORM_EPSILON
    spec.validate()
    spec.optimize(quantization=quantization)
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))


def build_spec(shape: Shape, weights: Weights) -> TransformerSpec:
    """Return the pre-norm Transformer with our weights, and our position table instead of CTranslate2's."""
    spec = TransformerSpec.from_config(
        (shape["encoder_layers"], shape["decoder_layers"]),
        shape["heads"],
        pre_norm=True,
        activation=ACTIVATIONS[shape["activation"]],
    )
    table = weights["source_embedding.weight"]
    positions = position_table(shape)
    for side, embeddings in (
        (spec.encoder, spec.encoder.embeddings[0]),
        (spec.decoder, spec.decoder.embeddings),
    ):
        embeddings.weight = table
        side.scale_embeddings = True  # by sqrt(d)
        side.position_encodings.encodings = positions
    spec.decoder.projection.weight = table
    spec.decoder.projection.bias = weights["output_bias"]
    _norm(spec.encoder.layer_norm, weights, "encoder_norm")
    _norm(spec.decoder.layer_norm, weights, "decoder_norm")
    for index, layer in enumerate(spec.encoder.layer):
        _self_attention(layer.self_attention, weights, f"encoder.{index}")
        _feed_forward(layer.ffn, weights, f"encoder.{index}")
    for index, layer in enumerate(spec.decoder.layer):
        _self_attention(layer.self_attention, weights, f"decoder.{index}")
        _cross_attention(layer.attention, weights, f"decoder.{index}")
        _feed_forward(layer.ffn, weights, f"decoder.{index}")
    return spec


def _self_attention(spec: MultiHeadAttentionSpec, weights: Weights, layer: str) -> None:
    _norm(spec.layer_norm, weights, f"{layer}.self_residual.norm")
    name = f"{layer}.self_attention"
    _linear(spec.linear[0], weights, f"{name}.query", f"{name}.key", f"{name}.value")
    _linear(spec.linear[1], weights, f"{name}.output")


def _cross_attention(spec: MultiHeadAttentionSpec, weights: Weights, layer: str) -> None:
    _norm(spec.layer_norm, weights, f"{layer}.cross_residual.norm")
    name = f"{layer}.cross_attention"
    _linear(spec.linear[0], weights, f"{name}.query")
    _linear(spec.linear[1], weights, f"{name}.key", f"{name}.value")
    _linear(spec.linear[2], weights, f"{name}.output")


def _feed_forward(spec: FeedForwardSpec, weights: Weights, layer: str) -> None:
    _norm(spec.layer_norm, weights, f"{layer}.feed_forward_residual.norm")
    _linear(spec.linear_0, weights, f"{layer}.feed_forward.inner")
    _linear(spec.linear_1, weights, f"{layer}.feed_forward.outer")


def _linear(spec: LinearSpec, weights: Weights, *names: str) -> None:
    """Set one linear layer, or several that are concatenated."""
    spec.weight = cat([weights[f"{name}.weight"] for name in names])
    spec.bias = cat([weights[f"{name}.bias"] for name in names])


def _norm(spec: LayerNormSpec, weights: Weights, name: str) -> None:
    spec.gamma = weights[f"{name}.weight"]
    spec.beta = weights[f"{name}.bias"]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.peers.ctranslate2_convert", description=__doc__)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quantization", default="float32")
    arguments = parser.parse_args()
    convert(arguments.checkpoint, arguments.folder, arguments.quantization)
    return 0


if __name__ == "__main__":
    sys.exit(main())
