"""Tables, output projection and storage, which the models of all architectures have in common.

Shapes: B sources, S source length, T target length, t target positions already decoded, H heads,
D head size, d model width, V target vocabulary.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from export.model.layers import KeyValue, LayerState
from export.model_config import ModelConfig
from export.model_weights import TARGET_TABLE, ModelWeights
from export.tensors.tensor import StoredWeights


@dataclass(frozen=True, slots=True)
class ModelState:
    """State of a decoder after the target positions that it has run."""

    positions: int
    """Number of positions run: t."""
    layers: tuple[LayerState, ...]

    def take(self, rows: Tensor) -> "ModelState":
        """Return the state of some rows; `rows` are indices or a mask."""
        layers = tuple(tuple(tensor[rows] for tensor in layer) for layer in self.layers)
        return ModelState(self.positions, layers)


class TranslationModel(nn.Module):
    """Model from source ids to target logits; what it reads of a source is computed once per source."""

    config: ModelConfig
    source_embedding: nn.Embedding
    target_embedding: nn.Embedding
    output_weight: nn.Parameter | None
    """Output projection, [V, d], unless it is the target embedding table."""
    output_bias: nn.Parameter

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config

    def _add_tables(self) -> None:
        """Create the tables of tokens and the output projection, whose weights are not drawn yet."""
        config = self.config
        self.source_embedding = nn.Embedding(config.source_vocab_size, config.d_model)
        self.target_embedding = (
            self.source_embedding
            if config.shared_vocab
            else nn.Embedding(config.target_vocab_size, config.d_model)
        )
        self.output_weight = (
            None
            if config.tied_output
            else nn.Parameter(torch.empty(config.target_vocab_size, config.d_model))
        )
        self.output_bias = nn.Parameter(torch.zeros(config.target_vocab_size))
        self.dropout = nn.Dropout(config.dropout)

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
        model.assign(tensors)
        return model.eval()

    def _initialise(self) -> None:
        """Draw the weights that all architectures have: maps by Xavier, tables from a normal distribution."""
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=self.config.d_model**-0.5)
        if self.output_weight is not None:
            nn.init.normal_(self.output_weight, std=self.config.d_model**-0.5)

    def assign(self, tensors: dict[str, Tensor]) -> None:
        """Take stored tensors as weights, without copying them."""
        self.load_state_dict(tensors, assign=True)

    def to_weights(self) -> ModelWeights:
        """Return the model as it is stored; float32 weights share its memory."""
        state = {name: tensor.float().cpu().numpy() for name, tensor in self.state_dict().items()}
        if self.config.shared_vocab:
            del state[TARGET_TABLE]
        return ModelWeights(self.config, StoredWeights(state))

    @property
    def output_projection(self) -> Tensor:
        """Output projection, [V, d]."""
        return self.target_embedding.weight if self.output_weight is None else self.output_weight

    @property
    def embedding_factor(self) -> float:
        """Factor of token vectors: sqrt(d) (Vaswani et al. 2017, section 3.4), or 1."""
        return math.sqrt(self.config.d_model) if self.config.scaled_embeddings else 1.0

    def _token_vectors(self, embedding: nn.Embedding, ids: Tensor, first_position: int) -> Tensor:
        """Return scaled token vectors: [B, T] -> [B, T, d].

        Raises:
            ValueError: a token is beyond the maximum length.
        """
        end = first_position + ids.shape[1]
        if end > self.config.max_positions:
            raise ValueError(f"{end} positions exceed max_positions {self.config.max_positions}")
        embedded: Tensor = embedding(ids) * self.embedding_factor
        return embedded

    def encode(self, source_ids: Tensor, source_mask: Tensor) -> Tensor:
        """Encode the source.

        Args:
            source_ids: int64 [B, S], ending in the end-of-sentence id, padded on the right.
            source_mask: bool [B, S], true on real tokens.

        Returns:
            The encoder's output, [B, S, d].
        """
        raise NotImplementedError

    def cross_keys_values(self, memory: Tensor) -> list[KeyValue]:
        """Return each decoder layer's own keys and values of the source, each [B, H, S, D]."""
        raise NotImplementedError

    def decode(
        self,
        target_ids: Tensor,
        cross: Sequence[KeyValue],
        source_mask: Tensor,
        past: ModelState | None = None,
    ) -> tuple[Tensor, ModelState]:
        """Run target positions t .. t + T - 1, after the t positions in `past`.

        Args:
            target_ids: int64 [B, T].
            cross: per layer, from `cross_keys_values`.
            source_mask: bool [B, S].
            past: state returned for the t positions before.

        Returns:
            States before the output projection [B, T, d], and the state for the next call.
        """
        raise NotImplementedError

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
