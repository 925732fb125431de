"""The encoder-decoder Transformer (Vaswani et al. 2017) and its variants.

Shapes: B sources, S source length, T target length, t target positions already decoded, H heads,
D head size, d model width, V target vocabulary.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from export.model.layers import DecoderLayer, EncoderLayer, KeyValue, LayerState, layer_norm
from export.model_config import ModelConfig
from export.model_weights import POSITIONS, TARGET_TABLE, ModelWeights
from export.positions import position_table
from export.tensors.stored import StoredWeights


@dataclass(frozen=True, slots=True)
class DecoderState:
    """State of a decoder after the target positions that it has run."""

    positions: int
    """Number of positions run: t."""
    layers: tuple[LayerState, ...]

    def take(self, rows: Tensor) -> "DecoderState":
        """Return the state of some rows; `rows` are indices or a mask."""
        layers = tuple(tuple(tensor[rows] for tensor in layer) for layer in self.layers)
        return DecoderState(self.positions, layers)


class Transformer(nn.Module):
    """Transformer from source ids to target logits; cross K/V are computed once per source."""

    position_table: Tensor
    target_position_table: nn.Parameter | None
    """The decoder's position table, unless it shares `position_table`."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.source_embedding = nn.Embedding(config.source_vocab_size, config.d_model)
        self.target_embedding = (
            self.source_embedding
            if config.shared_vocab
            else nn.Embedding(config.target_vocab_size, config.d_model)
        )
        self.register_parameter("target_position_table", None)
        if config.positions == "learned":
            self.position_table = nn.Parameter(torch.empty(config.max_positions, config.d_model))
            if not config.shared_positions:
                self.target_position_table = nn.Parameter(torch.empty_like(self.position_table))
        else:
            table = torch.from_numpy(position_table(config))
            self.register_buffer("position_table", table, persistent=False)
        self.encoder_embedding_norm = _optional_norm(config.embedding_norm, config)
        self.decoder_embedding_norm = _optional_norm(config.embedding_norm, config)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.encoder_layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.decoder_layers))
        self.encoder_norm = _optional_norm(config.has_final_norm, config)
        self.decoder_norm = _optional_norm(config.has_final_norm, config)
        self.output_weight = (
            None
            if config.tied_output
            else nn.Parameter(torch.empty(config.target_vocab_size, config.d_model))
        )
        self.output_bias = nn.Parameter(torch.zeros(config.target_vocab_size))
        self.dropout = nn.Dropout(config.dropout)
        self._initialise()

    @classmethod
    def without_weights(cls, config: ModelConfig) -> Self:
        """Return a model whose weights take no memory yet: they are on PyTorch's meta device.

        `load_state_dict(weights, assign=True)` then assigns tensors as they are, without copying.
        """
        with torch.device("meta"):
            return cls(config)

    @classmethod
    def from_weights(cls, stored: ModelWeights) -> Self:
        """Return a stored model in eval mode."""
        model = cls.without_weights(stored.config)
        tensors = {name: torch.from_numpy(stored.weights[name]) for name in stored.weights}
        if stored.config.shared_vocab:
            tensors[TARGET_TABLE] = tensors["source_embedding.weight"]
        if stored.config.positions != "learned" and POSITIONS in tensors:
            model.position_table = tensors.pop(POSITIONS)
        model.load_state_dict(tensors, assign=True)
        return model.eval()

    def to_weights(self) -> ModelWeights:
        """Return the model as it is stored; float32 weights share its memory."""
        state = {name: tensor.float().cpu().numpy() for name, tensor in self.state_dict().items()}
        if self.config.shared_vocab:
            del state[TARGET_TABLE]
        return ModelWeights(self.config, StoredWeights(state))

    def encoder_layers(self) -> list[EncoderLayer]:
        """Return the layers, first to last."""
        return cast("list[EncoderLayer]", list(self.encoder))

    def decoder_layers(self) -> list[DecoderLayer]:
        """Return the layers, first to last."""
        return cast("list[DecoderLayer]", list(self.decoder))

    @property
    def output_projection(self) -> Tensor:
        """Output projection, [V, d]."""
        return self.target_embedding.weight if self.output_weight is None else self.output_weight

    @property
    def target_positions(self) -> Tensor:
        """Position vectors of the decoder, [max_positions, d]."""
        return self.position_table if self.target_position_table is None else self.target_position_table

    @property
    def embedding_factor(self) -> float:
        """Factor of token vectors: sqrt(d) (section 3.4 of the paper), or 1."""
        return math.sqrt(self.config.d_model) if self.config.scaled_embeddings else 1.0

    def encode(self, source_ids: Tensor, source_mask: Tensor) -> Tensor:
        """Encode the source.

        Args:
            source_ids: int64 [B, S], ending in the end-of-sentence id, padded on the right.
            source_mask: bool [B, S], true on real tokens.

        Returns:
            The encoder's output, [B, S, d].
        """
        states = self._embed(self.source_embedding, source_ids, self.position_table)
        states = self.dropout(self.encoder_embedding_norm(states))
        bias = mask_to_bias(source_mask)
        for layer in self.encoder:
            states = layer(states, bias)
        memory: Tensor = self.encoder_norm(states)
        return memory

    def cross_keys_values(self, memory: Tensor) -> list[KeyValue]:
        """Return each decoder layer's own keys and values of the source, each [B, H, S, D]."""
        return [layer.cross_attention.keys_values(memory) for layer in self.decoder_layers()]

    def decode(
        self,
        target_ids: Tensor,
        cross: Sequence[KeyValue],
        source_mask: Tensor,
        past: DecoderState | None = None,
    ) -> tuple[Tensor, DecoderState]:
        """Run target positions t .. t + T - 1, after the t positions in `past`.

        Args:
            target_ids: int64 [B, T].
            cross: per layer, from `cross_keys_values`.
            source_mask: bool [B, S].
            past: state returned for the t positions before.

        Returns:
            States before the output projection [B, T, d], and the state for the next call.
        """
        past_len = 0 if past is None else past.positions
        states = self._embed(self.target_embedding, target_ids, self.target_positions, past_len)
        states = self.dropout(self.decoder_embedding_norm(states))
        self_bias = causal_bias(target_ids.shape[1], past_len, states.device)
        cross_bias = mask_to_bias(source_mask)
        present: list[LayerState] = []
        for index, layer in enumerate(self.decoder):
            layer_past = None if past is None else past.layers[index]
            states, layer_present = layer(states, layer_past, cross[index], self_bias, cross_bias)
            present.append(layer_present)
        return self.decoder_norm(states), DecoderState(past_len + target_ids.shape[1], tuple(present))

    def logits(self, states: Tensor) -> Tensor:
        """Project states [..., d] to logits [..., V]."""
        return functional.linear(states, self.output_projection, self.output_bias)

    def log_probabilities(self, states: Tensor) -> Tensor:
        """Return log-probabilities [..., d] -> [..., V]; -inf for suppressed ids, whose share is lost."""
        logprobs = self.logits(states).log_softmax(dim=-1)
        if self.config.suppressed_ids:
            logprobs[..., list(self.config.suppressed_ids)] = -math.inf
        return logprobs

    def forward(self, source_ids: Tensor, source_mask: Tensor, target_ids: Tensor) -> Tensor:
        """Run all target positions at once, as training does, and return states [B, T, d]."""
        memory = self.encode(source_ids, source_mask)
        states, _ = self.decode(target_ids, self.cross_keys_values(memory), source_mask)
        return states

    def _embed(
        self, embedding: nn.Embedding, ids: Tensor, positions: Tensor, first_position: int = 0
    ) -> Tensor:
        """Return token vectors plus those of their positions: [B, T] -> [B, T, d].

        Raises:
            ValueError: a token is beyond the position table.
        """
        end = first_position + ids.shape[1]
        if end > self.config.max_positions:
            raise ValueError(f"{end} positions exceed max_positions {self.config.max_positions}")
        embedded: Tensor = embedding(ids) * self.embedding_factor + positions[first_position:end]
        return embedded.to(self.encoder_layers()[0].self_attention.query.weight.dtype)

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=self.config.d_model**-0.5)
        if self.output_weight is not None:
            nn.init.normal_(self.output_weight, std=self.config.d_model**-0.5)
        for table in (self.position_table, self.target_position_table):
            if isinstance(table, nn.Parameter):
                nn.init.normal_(table, std=self.config.d_model**-0.5)


def _optional_norm(is_present: bool, config: ModelConfig) -> nn.Module:  # noqa: FBT001 -- clear from its name
    return layer_norm(config) if is_present else nn.Identity()


def mask_to_bias(mask: Tensor) -> Tensor:
    """Convert bool [B, S], true on real tokens, to float32 [B, 1, 1, S], 0 there and -inf on padding."""
    bias = torch.zeros(mask.shape, device=mask.device).masked_fill(~mask, -math.inf)
    return bias[:, None, None, :]


def causal_bias(new_len: int, past_len: int, device: torch.device) -> Tensor | None:
    """Return a mask [T, t + T] with -inf on positions later than the row's own; None if T is 1."""
    if new_len == 1:
        return None
    bias = torch.full((new_len, past_len + new_len), -math.inf, device=device)
    return bias.triu(past_len + 1)
