"""The whole model against PyTorch's own layers, and the recurrent one against its equations."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from export.model import Bahdanau, ModelConfig, Transformer
from export.model.generate import pad
from export.model.layers import Attention, DecoderLayer, EncoderLayer, FeedForward, Residual
from export.model_config import BAHDANAU_CONSTANTS
from tests.imports.model.numpy_bahdanau import NumpyBahdanau

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
