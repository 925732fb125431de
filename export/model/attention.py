"""Multi-head attention, written out step by step.

Shapes: B sources, T query positions, S key positions, H heads, D head size, d model width, H x D if the model
does not set the head size.
"""

import math

from torch import Tensor, nn

from export.model_config import ModelConfig


class Attention(nn.Module):
    """Scaled dot-product attention with H heads (Vaswani et al. 2017, section 3.2.2).

    One linear layer each projects to the queries, keys and values of all heads at once. The results of the
    heads are concatenated and go through the output layer. Every instance owns its weights: a decoder layer's
    cross-attention has its own key and value layers over the encoder's output.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.heads = config.heads
        self.head_size = config.head_size
        width, inner = config.d_model, config.attention_size
        self.query = nn.Linear(width, inner, bias=config.biases)
        self.key = nn.Linear(width, inner, bias=config.biases)
        self.value = None if config.share_kv else nn.Linear(width, inner, bias=config.biases)
        self.output = nn.Linear(inner, width, bias=config.biases)
        self.dropout = nn.Dropout(config.inner_dropout)

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Project the sequence that is attended to.

        Args:
            memory: [B, S, d].

        Returns:
            Keys and values, each [B, H, S, D]; the same tensor twice with `share_kv`.
        """
        keys = self._split_heads(self.key(memory))
        values = keys if self.value is None else self._split_heads(self.value(memory))
        return keys, values

    def forward(self, states: Tensor, keys: Tensor, values: Tensor, bias: Tensor | None) -> Tensor:
        """Attend to keys and values.

        Args:
            states: [B, T, d], from which the queries are made.
            keys: [B, H, S, D].
            values: [B, H, S, D].
            bias: added to the scores, broadcast to [B, H, T, S]; -inf masks a position.

        Returns:
            [B, T, d].
        """
        queries = self._split_heads(self.query(states))
        scores = queries @ keys.transpose(2, 3) / math.sqrt(self.head_size)  # [B, H, T, S]
        if bias is not None:
            scores = scores + bias.to(scores.dtype)
        weights = self.dropout(scores.softmax(dim=-1))
        mixed = (weights @ values).transpose(1, 2)  # [B, T, H, D]
        result: Tensor = self.output(mixed.flatten(2))
        return result

    def _split_heads(self, projected: Tensor) -> Tensor:
        """Reshape [B, T, H x D] to [B, H, T, D]."""
        rows, positions, _ = projected.shape
        return projected.view(rows, positions, self.heads, self.head_size).transpose(1, 2)
