"""The whole model against one made of PyTorch's own layers."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from export.model import ModelConfig, Transformer
from export.model.attention import Attention
from export.model.layers import DecoderLayer, EncoderLayer, FeedForward, Residual

ACTIVATIONS: dict[str, Any] = {
    "relu": functional.relu,
    "gelu": lambda x: x * (1 + torch.erf(x / math.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    "quick_gelu": lambda x: x / (1 + torch.exp(-1.702 * x)),
    "swish": functional.silu,
}


class Reference:
    """Logits from `torch.nn.Transformer*Layer` with the model's weights copied in."""

    def __init__(self, model: Transformer) -> None:
        self.model = model
        config = model.config
        shape: dict[str, Any] = {
            "d_model": config.d_model,
            "nhead": config.heads,
            "layer_norm_eps": config.norm_epsilon,
            "dropout": 0.0,
            "activation": ACTIVATIONS[config.activation],
            "batch_first": True,
            "norm_first": config.norm == "pre",
        }
        self.encoder = [
            copy_encoder_layer(layer, nn.TransformerEncoderLayer(dim_feedforward=config.ffn, **shape))
            for layer in model.encoder
            if isinstance(layer, EncoderLayer)
        ]
        self.decoder = [
            copy_decoder_layer(
                layer, nn.TransformerDecoderLayer(dim_feedforward=config.decoder_ffn or config.ffn, **shape)
            )
            for layer in model.decoder
            if isinstance(layer, DecoderLayer)
        ]

    def logits(self, source_ids: Tensor, source_mask: Tensor, target_ids: Tensor) -> Tensor:
        model = self.model
        states = self.embed(model.source_embedding.weight, source_ids, model.encoder_embedding_norm)
        for encoder_layer in self.encoder:
            states = encoder_layer(states, src_key_padding_mask=~source_mask)
        memory = self.final_norm(states, model.encoder_norm)
        states = self.embed(model.target_embedding.weight, target_ids, model.decoder_embedding_norm)
        later = torch.ones(target_ids.shape[1], target_ids.shape[1], dtype=torch.bool).triu(1)
        for decoder_layer in self.decoder:
            states = decoder_layer(states, memory, tgt_mask=later, memory_key_padding_mask=~source_mask)
        states = self.final_norm(states, model.decoder_norm)
        weight = model.target_embedding.weight if model.output_weight is None else model.output_weight
        return functional.linear(states, weight, model.output_bias)

    def embed(self, table: Tensor, ids: Tensor, norm: nn.Module) -> Tensor:
        config, half = self.model.config, table.shape[1] // 2
        steps = half - 1 if config.positions == "tensor2tensor" else half
        places = range(config.first_position, config.first_position + ids.shape[1])
        angles = [[place / 10_000 ** (i / steps) for i in range(half)] for place in places]
        positions = [[*map(math.sin, row), *map(math.cos, row)] for row in angles]
        factor = math.sqrt(table.shape[1]) if config.scaled_embeddings else 1.0
        states = table[ids] * factor + torch.tensor(positions)
        return self.norm(states, norm) if config.embedding_norm else states

    def final_norm(self, states: Tensor, norm: nn.Module) -> Tensor:
        config = self.model.config
        has_norm = config.norm == "pre" if config.final_norm is None else config.final_norm
        return self.norm(states, norm) if has_norm else states

    def norm(self, states: Tensor, norm: nn.Module) -> Tensor:
        assert isinstance(norm, nn.LayerNorm)
        variance, mean = torch.var_mean(states, dim=2, correction=0, keepdim=True)
        result: Tensor = (states - mean) / torch.sqrt(variance + self.model.config.norm_epsilon)
        return result * norm.weight + norm.bias


def copy_encoder_layer(
    ours: EncoderLayer, reference: nn.TransformerEncoderLayer
) -> nn.TransformerEncoderLayer:
    copy_attention(ours.self_attention, reference.self_attn)
    copy_feed_forward(ours.feed_forward, reference.linear1, reference.linear2)
    copy_norms((ours.self_residual, ours.feed_forward_residual), (reference.norm1, reference.norm2))
    return reference


def copy_decoder_layer(
    ours: DecoderLayer, reference: nn.TransformerDecoderLayer
) -> nn.TransformerDecoderLayer:
    copy_attention(ours.self_attention, reference.self_attn)
    copy_attention(ours.cross_attention, reference.multihead_attn)
    copy_feed_forward(ours.feed_forward, reference.linear1, reference.linear2)
    residuals = (ours.self_residual, ours.cross_residual, ours.feed_forward_residual)
    copy_norms(residuals, (reference.norm1, reference.norm2, reference.norm3))
    return reference


@torch.no_grad()
def copy_attention(ours: Attention, reference: nn.MultiheadAttention) -> None:
    value = ours.value or ours.key
    reference.in_proj_weight.copy_(torch.cat([ours.query.weight, ours.key.weight, value.weight]))
    reference.in_proj_bias.copy_(torch.cat([ours.query.bias, ours.key.bias, value.bias]))
    reference.out_proj.load_state_dict(ours.output.state_dict())


def copy_feed_forward(ours: FeedForward, inner: nn.Linear, outer: nn.Linear) -> None:
    inner.load_state_dict(ours.inner.state_dict())
    outer.load_state_dict(ours.outer.state_dict())


def copy_norms(ours: tuple[Residual, ...], reference: tuple[nn.LayerNorm, ...]) -> None:
    for residual, norm in zip(ours, reference, strict=True):
        norm.load_state_dict(residual.norm.state_dict())


SHAPES: list[dict[str, Any]] = [
    *({"activation": activation} for activation in ACTIVATIONS),
    {"share_kv": True},
    {"tied_output": False},
    {"shared_vocab": False},
    {"scaled_embeddings": False, "embedding_norm": True, "final_norm": True, "norm_epsilon": 0.1},
    {"final_norm": False, "decoder_ffn": 32},
    {"positions": "tensor2tensor", "first_position": 2},
]


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_logits_equal_those_of_pytorchs_transformer_with_the_same_weights(
    norm: str, shape: dict[str, Any]
) -> None:
    torch.manual_seed(1)
    sizes: dict[str, Any] = {"encoder_layers": 3, "decoder_layers": 2, "d_model": 24, "heads": 4, "ffn": 40}
    config = ModelConfig(31, 31, max_positions=12, **sizes, **{"norm": norm, **shape})
    model = Transformer(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    source_ids = torch.randint(0, 31, (3, 9))
    source_mask = torch.arange(9) < torch.tensor([9, 2, 6])[:, None]
    target_ids = torch.randint(0, 31, (3, 7))

    logits = model.logits(model(source_ids, source_mask, target_ids))

    expected = Reference(model).logits(source_ids, source_mask, target_ids)
    torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)
