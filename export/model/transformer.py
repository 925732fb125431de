"""The encoder-decoder Transformer (Vaswani et al. 2017), whole.

Shapes: B sources, S source length, T target length, t target positions already decoded, H heads,
D head size, d model width, V target vocabulary.
"""

import math
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from export.model.config import ModelConfig
from export.model.layers import DecoderLayer, EncoderLayer, KeyValue
from export.model.positions import sinusoidal_table


class Transformer(nn.Module):
    """Source ids in, target logits out; cross K/V are computed once per source."""

    position_table: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.source_embedding = nn.Embedding(config.source_vocab_size, config.d_model)
        self.target_embedding = (
            self.source_embedding
            if config.shared_vocab
            else nn.Embedding(config.target_vocab_size, config.d_model)
        )
        if config.positions == "learned":
            self.position_table = nn.Parameter(torch.empty(config.max_positions, config.d_model))
        else:
            table = sinusoidal_table(config.max_positions, config.d_model)
            self.register_buffer("position_table", table, persistent=False)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.encoder_norm = nn.LayerNorm(config.d_model) if config.norm == "pre" else nn.Identity()
        self.decoder_norm = nn.LayerNorm(config.d_model) if config.norm == "pre" else nn.Identity()
        self.output_weight = (
            None
            if config.tied_output
            else nn.Parameter(torch.empty(config.target_vocab_size, config.d_model))
        )
        self.output_bias = nn.Parameter(torch.zeros(config.target_vocab_size))
        self.dropout = nn.Dropout(config.dropout)
        self._initialise()

    def encoder_layers(self) -> list[EncoderLayer]:
        """First to last."""
        return cast("list[EncoderLayer]", list(self.encoder))

    def decoder_layers(self) -> list[DecoderLayer]:
        """First to last."""
        return cast("list[DecoderLayer]", list(self.decoder))

    @property
    def output_projection(self) -> Tensor:
        """[V, d]."""
        return self.target_embedding.weight if self.output_weight is None else self.output_weight

    def encode(self, source_ids: Tensor, source_mask: Tensor) -> Tensor:
        """Read the source.

        Args:
            source_ids: int64 [B, S], ending in the end-of-sentence id, padded on the right.
            source_mask: bool [B, S], true on real tokens.

        Returns:
            The encoder's output, [B, S, d].
        """
        states = self._embed(self.source_embedding, source_ids, 0)
        bias = mask_to_bias(source_mask)
        for layer in self.encoder:
            states = layer(states, bias)
        memory: Tensor = self.encoder_norm(states)
        return memory

    def cross_keys_values(self, memory: Tensor) -> list[KeyValue]:
        """Per decoder layer, that layer's own keys and values of the source, each [B, H, S, D]."""
        return [layer.cross_attention.keys_values(memory) for layer in self.decoder_layers()]

    def decode(
        self,
        target_ids: Tensor,
        cross: Sequence[KeyValue],
        source_mask: Tensor,
        past: Sequence[KeyValue] | None = None,
    ) -> tuple[Tensor, list[KeyValue]]:
        """Run target positions t .. t + T - 1, where t positions are in `past`.

        Args:
            target_ids: int64 [B, T].
            cross: per layer, from `cross_keys_values`.
            source_mask: bool [B, S].
            past: per layer self K/V, each [B, H, t, D].

        Returns:
            States before the output projection [B, T, d], and self K/V with t + T positions.
        """
        past_len = past[0][0].shape[2] if past is not None else 0
        states = self._embed(self.target_embedding, target_ids, past_len)
        self_bias = causal_bias(target_ids.shape[1], past_len, states.device)
        cross_bias = mask_to_bias(source_mask)
        present: list[KeyValue] = []
        for index, layer in enumerate(self.decoder):
            layer_past = past[index] if past is not None else None
            states, layer_present = layer(states, layer_past, cross[index], self_bias, cross_bias)
            present.append(layer_present)
        return self.decoder_norm(states), present

    def logits(self, states: Tensor) -> Tensor:
        """[..., d] -> [..., V]."""
        return functional.linear(states, self.output_projection, self.output_bias)

    def forward(self, source_ids: Tensor, source_mask: Tensor, target_ids: Tensor) -> Tensor:
        """All target positions at once, as training reads them: states [B, T, d]."""
        memory = self.encode(source_ids, source_mask)
        states, _ = self.decode(target_ids, self.cross_keys_values(memory), source_mask)
        return states

    def _embed(self, embedding: nn.Embedding, ids: Tensor, first_position: int) -> Tensor:
        """[B, T] -> [B, T, d]; token vectors are scaled by sqrt(d) (section 3.4 of the paper).

        Raises:
            ValueError: a token stands beyond the position table.
        """
        end = first_position + ids.shape[1]
        if end > self.config.max_positions:
            raise ValueError(f"{end} positions are more than max_positions {self.config.max_positions}")
        positions = self.position_table[first_position:end]
        embedded: Tensor = self.dropout(embedding(ids) * math.sqrt(self.config.d_model) + positions)
        return embedded

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=self.config.d_model**-0.5)
        if self.output_weight is not None:
            nn.init.normal_(self.output_weight, std=self.config.d_model**-0.5)
        if isinstance(self.position_table, nn.Parameter):
            nn.init.normal_(self.position_table, std=self.config.d_model**-0.5)


def mask_to_bias(mask: Tensor) -> Tensor:
    """From bool [B, S], true on real tokens, to float32 [B, 1, 1, S], 0 there and -inf on padding."""
    bias = torch.zeros(mask.shape, device=mask.device).masked_fill(~mask, -math.inf)
    return bias[:, None, None, :]


def causal_bias(new_len: int, past_len: int, device: torch.device) -> Tensor | None:
    """[T, t + T] with -inf on positions later than the row's own; None when T is 1."""
    if new_len == 1:
        return None
    bias = torch.full((new_len, past_len + new_len), -math.inf, device=device)
    return bias.triu(past_len + 1)
