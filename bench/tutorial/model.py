"""The tutorial's Transformer (Vaswani et al. 2017), with the switches of a recipe."""

import math

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from bench.tutorial.data import BOS, EOS, PAD
from bench.tutorial.recipes import MAX_OUTPUT, MAX_POSITIONS, Recipe

RANDOM_BITS = 16


class Dropout(nn.Module):
    """Dropout that draws 16 random bits for each number; on a CPU it is faster than PyTorch's."""

    def __init__(self, rate: float, bits: np.random.SFC64) -> None:
        super().__init__()
        self.threshold = round(rate * 2**RANDOM_BITS)
        self.bits = bits

    def forward(self, values: Tensor) -> Tensor:
        """Set a share of the values to zero and scale up the others, in training only."""
        if not self.training or not self.threshold:
            return values
        per_draw = 64 // RANDOM_BITS
        drawn = self.bits.random_raw(-(-values.numel() // per_draw)).view(np.int16)[: values.numel()]
        is_kept = torch.from_numpy(drawn).view(values.shape) >= self.threshold - 2 ** (RANDOM_BITS - 1)
        result: Tensor = values * is_kept.to(values.dtype).mul_(1 / (1 - self.threshold / 2**RANDOM_BITS))
        return result


class TutorialAttention(nn.Module):
    """Multi-head attention, with dropout of its weights."""

    def __init__(self, recipe: Recipe, bits: np.random.SFC64) -> None:
        super().__init__()
        self.heads = recipe.heads
        self.query, self.key, self.value, self.output = (
            nn.Linear(recipe.width, recipe.width) for _ in range(4)
        )
        self.dropout = Dropout(recipe.dropout, bits)

    def forward(self, queries: Tensor, keys: Tensor, bias: Tensor) -> Tensor:
        """Attend from [B, T, d] to [B, S, d] with bias [B, 1, 1 or T, S], -inf where nothing is read."""
        query, key, value = (
            layer(states).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for layer, states in ((self.query, queries), (self.key, keys), (self.value, keys))
        )
        scores = query @ key.transpose(2, 3) / math.sqrt(query.shape[-1])
        weights = self.dropout(torch.softmax(scores + bias, dim=-1))
        result: Tensor = self.output((weights.to(value.dtype) @ value).transpose(1, 2).flatten(2))
        return result


class Layer(nn.Module):
    """Self-attention, attention to the source in a decoder, feed-forward; each with a residual and a norm."""

    def __init__(self, recipe: Recipe, bits: np.random.SFC64, *, is_decoder: bool) -> None:
        super().__init__()
        self.is_pre = recipe.norm == "pre"
        self.self_attention = TutorialAttention(recipe, bits)
        self.source_attention = TutorialAttention(recipe, bits) if is_decoder else None
        self.inner = nn.Linear(recipe.width, recipe.feed_forward)
        self.outer = nn.Linear(recipe.feed_forward, recipe.width)
        self.norms = nn.ModuleList(nn.LayerNorm(recipe.width) for _ in range(3 if is_decoder else 2))
        self.dropout = Dropout(recipe.dropout, bits)

    def forward(
        self, states: Tensor, bias: Tensor, source: Tensor | None = None, source_bias: Tensor | None = None
    ) -> Tensor:
        """Run the layer on [B, T, d]."""
        normed = self._begin(states, 0)
        states = self._end(states, self.self_attention(normed, normed, bias), 0)
        if self.source_attention is not None:
            read = self.source_attention(self._begin(states, 1), source, source_bias)
            states = self._end(states, read, 1)
        inner = self.dropout(functional.relu(self.inner(self._begin(states, -1))))
        return self._end(states, self.outer(inner), -1)

    def _begin(self, states: Tensor, index: int) -> Tensor:
        result: Tensor = self.norms[index](states) if self.is_pre else states
        return result

    def _end(self, states: Tensor, change: Tensor, index: int) -> Tensor:
        result: Tensor = states + self.dropout(change)
        return result if self.is_pre else self.norms[index](result)


class Side(nn.Module):
    """Embeddings, positions and layers of the encoder or of the decoder."""

    def __init__(self, recipe: Recipe, size: int, bits: np.random.SFC64, *, is_decoder: bool) -> None:
        super().__init__()
        self.embeddings = nn.Embedding(size, recipe.width)
        self.positions = nn.Embedding(MAX_POSITIONS, recipe.width)
        self.layers = nn.ModuleList(Layer(recipe, bits, is_decoder=is_decoder) for _ in range(recipe.layers))
        self.last_norm = nn.LayerNorm(recipe.width) if recipe.norm == "pre" else nn.Identity()
        self.dropout = Dropout(recipe.dropout, bits)

    def forward(
        self, ids: Tensor, bias: Tensor, source: Tensor | None = None, source_bias: Tensor | None = None
    ) -> Tensor:
        """Return the states of ids [B, T]: [B, T, d]."""
        scaled = self.embeddings(ids) * math.sqrt(self.embeddings.embedding_dim)
        states = self.dropout(scaled + self.positions.weight[: ids.shape[1]])
        for layer in self.layers:
            states = layer(states, bias, source, source_bias)
        result: Tensor = self.last_norm(states)
        return result


class TutorialTransformer(nn.Module):
    """Encoder, decoder and output layer."""

    def __init__(self, recipe: Recipe, source_size: int, target_size: int) -> None:
        super().__init__()
        self.bits = np.random.SFC64(0)
        self.encoder = Side(recipe, source_size, self.bits, is_decoder=False)
        self.decoder = Side(recipe, target_size, self.bits, is_decoder=True)
        self.output = nn.Linear(recipe.width, target_size)
        self._initialise(recipe)

    def seed_dropout(self, *seed: int) -> None:
        """Begin the random numbers of dropout anew."""
        self.bits.state = np.random.SFC64(seed).state

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Return the decoder's states of target [B, T] after source [B, S]: [B, T, d]."""
        source_bias = _padding_bias(source)
        return self.decode(target, self.encoder(source, source_bias), source_bias)

    def decode(self, target: Tensor, source: Tensor, source_bias: Tensor) -> Tensor:
        """Return the states of target [B, T], with encoded source [B, S, d] and its bias [B, 1, 1, S]."""
        length = target.shape[1]
        later = torch.full((length, length), -math.inf).triu(1)
        result: Tensor = self.decoder(target, _padding_bias(target) + later, source, source_bias)
        return result

    @torch.no_grad()
    def translate(self, source: Tensor, max_length: int = MAX_OUTPUT) -> list[list[int]]:
        """Return the ids that a greedy search finds for source [B, S], without EOS."""
        outputs: list[list[int]] = [[] for _ in source]
        rows, target = torch.arange(len(source)), torch.full((len(source), 1), BOS)
        source_bias = _padding_bias(source)
        encoded = self.encoder(source, source_bias)
        for _ in range(max_length):
            states = self.decode(target, encoded[rows], source_bias[rows])
            ids = self.output(states[:, -1]).argmax(dim=1)
            for row, number in zip(rows.tolist(), ids.tolist(), strict=True):
                if number != EOS:
                    outputs[row].append(number)
            is_open = ids != EOS
            rows, target = rows[is_open], torch.cat([target, ids[:, None]], dim=1)[is_open]
            if not len(rows):
                break
        return outputs

    def _initialise(self, recipe: Recipe) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.xavier_uniform_(module.weight)
        for side in (self.encoder, self.decoder):
            if recipe.embeddings == "normal":
                nn.init.normal_(side.embeddings.weight, std=recipe.width**-0.5)
            if recipe.positions == "sinusoidal":
                side.positions.weight.requires_grad = False
                side.positions.weight.data.copy_(sinusoids(MAX_POSITIONS, recipe.width))
        if recipe.tied_output:
            self.output.weight = self.decoder.embeddings.weight


def sinusoids(length: int, width: int) -> Tensor:
    """Return the fixed positions of Vaswani et al. 2017, section 3.5: [length, width]."""
    rates = torch.exp(torch.arange(0, width, 2) * (-math.log(10_000) / width))
    angles = torch.arange(length)[:, None] * rates
    return torch.stack([angles.sin(), angles.cos()], dim=2).flatten(1)


def _padding_bias(ids: Tensor) -> Tensor:
    """Return [B, 1, 1, T], -inf on PAD."""
    return torch.zeros(ids.shape).masked_fill_(ids == PAD, -math.inf)[:, None, None]
