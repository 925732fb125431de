"""The encoder-decoder Transformer (Vaswani et al. 2017) and its variants.

Shapes: B sources, S source length, T target length, t target positions already decoded, H heads,
D head size, d model width, V target vocabulary.
"""

import math
from collections.abc import Sequence
from typing import cast

import torch
from torch import Tensor, nn

from export.model.layers import DecoderLayer, EncoderLayer, KeyValue, LayerState, make_norm
from export.model.translation_model import ModelState, TranslationModel
from export.model_config import ModelConfig
from export.model_weights import POSITIONS
from export.positions import position_table
from export.relative_positions import distance_buckets


class Transformer(TranslationModel):
    """Transformer from source ids to target logits; cross K/V are computed once per source."""

    position_table: Tensor | None
    """None with relative positions."""
    target_position_table: nn.Parameter | None
    """The decoder's position table, unless it shares `position_table`."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self.register_parameter("target_position_table", None)
        if config.positions == "relative":
            self.register_buffer("position_table", None)
        elif config.positions == "learned":
            self.position_table = nn.Parameter(torch.empty(config.max_positions, config.d_model))
            if not config.shared_positions:
                self.target_position_table = nn.Parameter(torch.empty(config.max_positions, config.d_model))
        else:
            table = torch.from_numpy(position_table(config))
            self.register_buffer("position_table", table, persistent=False)
        self._add_tables()
        self.encoder_embedding_norm = _optional_norm(config.embedding_norm, config)
        self.decoder_embedding_norm = _optional_norm(config.embedding_norm, config)
        self.encoder = nn.ModuleList(EncoderLayer(config, index) for index in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config, index) for index in range(config.decoder_layers))
        self.encoder_norm = _optional_norm(config.has_final_norm, config)
        self.decoder_norm = _optional_norm(config.has_final_norm, config)
        self._initialise()

    def assign(self, tensors: dict[str, Tensor]) -> None:
        if self.config.positions != "learned" and POSITIONS in tensors:
            self.position_table = tensors.pop(POSITIONS)
        super().assign(tensors)

    def encoder_layers(self) -> list[EncoderLayer]:
        """Return the layers, first to last."""
        return cast("list[EncoderLayer]", list(self.encoder))

    def decoder_layers(self) -> list[DecoderLayer]:
        """Return the layers, first to last."""
        return cast("list[DecoderLayer]", list(self.decoder))

    @property
    def target_positions(self) -> Tensor | None:
        """Position vectors of the decoder, [max_positions, d]; None with relative positions."""
        return self.position_table if self.target_position_table is None else self.target_position_table

    def encode(self, source_ids: Tensor, source_mask: Tensor) -> Tensor:
        states = self._embed(self.source_embedding, source_ids, self.position_table)
        states = self.dropout(self.encoder_embedding_norm(states))
        mask, num_tokens = mask_to_bias(source_mask), source_ids.shape[1]
        relative = self._relative_biases(self.encoder_layers(), num_tokens, 0)
        for layer, bias in zip(self.encoder, relative, strict=True):
            states = layer(states, add_biases(mask, bias))
        memory: Tensor = self.encoder_norm(states)
        return memory

    def cross_keys_values(self, memory: Tensor) -> list[KeyValue]:
        return [layer.cross_attention.keys_values(memory) for layer in self.decoder_layers()]

    def decode(
        self,
        target_ids: Tensor,
        cross: Sequence[KeyValue],
        source_mask: Tensor,
        past: ModelState | None = None,
    ) -> tuple[Tensor, ModelState]:
        past_len = 0 if past is None else past.positions
        states = self._embed(self.target_embedding, target_ids, self.target_positions, past_len)
        states = self.dropout(self.decoder_embedding_norm(states))
        mask = causal_bias(target_ids.shape[1], past_len, states.device)
        relative = self._relative_biases(self.decoder_layers(), target_ids.shape[1], past_len)
        cross_bias = mask_to_bias(source_mask)
        present: list[LayerState] = []
        for index, layer in enumerate(self.decoder):
            layer_past = None if past is None else past.layers[index]
            self_bias = add_biases(mask, relative[index])
            states, layer_present = layer(states, layer_past, cross[index], self_bias, cross_bias)
            present.append(layer_present)
        return self.decoder_norm(states), ModelState(past_len + target_ids.shape[1], tuple(present))

    def _embed(
        self, embedding: nn.Embedding, ids: Tensor, positions: Tensor | None, first_position: int = 0
    ) -> Tensor:
        """Return token vectors plus those of their positions, if any: [B, T] -> [B, T, d]."""
        embedded = self._token_vectors(embedding, ids, first_position)
        if positions is not None:
            embedded = embedded + positions[first_position : first_position + ids.shape[1]]
        return embedded.to(self.encoder_layers()[0].self_attention.query.weight.dtype)

    def _relative_biases(
        self, layers: Sequence[EncoderLayer | DecoderLayer], num_queries: int, past_len: int
    ) -> list[Tensor | None]:
        """Return what each layer of a stack adds to its scores, [1, H, T, t + T]; None if it adds nothing."""
        config, reach = self.config, self.config.relative_max_distance
        if config.positions != "relative":
            return [None] * len(layers)
        device = self.source_embedding.weight.device
        is_encoder = isinstance(layers[0], EncoderLayer)
        indices = torch.arange(past_len + num_queries, device=device)
        behind = indices[past_len:, None] - indices  # query minus key
        entries = reach - behind.clamp(-reach, reach) if is_encoder else behind.clamp(0, reach)
        buckets = torch.from_numpy(distance_buckets(config, is_bidirectional=is_encoder)).to(device)
        owners = [layers[0]] * len(layers) if config.shared_relative else layers
        tables = [cast("Tensor", layer.relative_bias) for layer in owners]
        return [biases[buckets[entries]].permute(2, 0, 1)[None] for biases in tables]

    def _initialise(self) -> None:
        super()._initialise()
        relative = [layer.relative_bias for layer in (*self.encoder_layers(), *self.decoder_layers())]
        for table in (self.position_table, self.target_position_table, *relative):
            if isinstance(table, nn.Parameter):
                nn.init.normal_(table, std=self.config.d_model**-0.5)


def _optional_norm(is_present: bool, config: ModelConfig) -> nn.Module:  # noqa: FBT001 -- clear from its name
    return make_norm(config) if is_present else nn.Identity()


def mask_to_bias(mask: Tensor) -> Tensor:
    """Convert bool [B, S], true on real tokens, to float32 [B, 1, 1, S], 0 there and -inf on padding."""
    bias = torch.zeros(mask.shape, device=mask.device).masked_fill(~mask, -math.inf)
    return bias[:, None, None, :]


def add_biases(mask: Tensor | None, bias: Tensor | None) -> Tensor | None:
    """Return the sum of two biases of attention scores, each of which may be None."""
    return mask if bias is None else bias if mask is None else mask + bias


def causal_bias(new_len: int, past_len: int, device: torch.device) -> Tensor | None:
    """Return a mask [T, t + T] with -inf on positions later than the row's own; None if T is 1."""
    if new_len == 1:
        return None
    bias = torch.full((new_len, past_len + new_len), -math.inf, device=device)
    return bias.triu(past_len + 1)
