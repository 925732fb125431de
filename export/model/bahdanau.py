"""Recurrent encoder-decoder with additive attention: Bahdanau, Cho and Bengio 2015, "Neural Machine
Translation by Jointly Learning to Align and Translate", arXiv:1409.0473, appendix A.

Shapes: B sources, S source length, T target length, d model width, V target vocabulary.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from export.model.layers import KeyValue
from export.model.recurrence import GruCell, GruDirection
from export.model.translation_model import ModelState, TranslationModel
from export.model_config import ModelConfig


class BidirectionalEncoder(nn.Module):
    """Annotations h_j = [forward h_j; backward h_j] (section 3.2). Each direction has d / 2 numbers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.forwards = GruDirection(width, width // 2, is_backward=False)
        self.backwards = GruDirection(width, width // 2, is_backward=True)

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """Run token vectors [B, S, d] with their mask, bool [B, S]; return annotations [B, S, d]."""
        return torch.cat([self.forwards(inputs, mask), self.backwards(inputs, mask)], dim=2)


class AttentiveDecoder(nn.Module):
    """Decoder with state s_i (appendix A.2.2), one step for each target token y_i.

        s_0 = tanh(W_s backward h_1)
        e_ij = v_a^T tanh(W_a s_(i-1) + U_a h_j)
        c_i = sum_j softmax_j(e_ij) h_j
        s_i = GRU(s_(i-1), [E y_(i-1); c_i])
        t_i = maxout of pairs of U_o s_i + V_o E y_(i-1) + C_o c_i

    The output is softmax(W_o t_i). It reads s_i, as equation 4 does. All sizes are d: of embeddings,
    annotations, states, attention and t_i.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.start = nn.Linear(width // 2, width)
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width, bias=False)
        self.score = nn.Linear(width, 1, bias=False)
        self.embedding_gates = nn.Linear(width, 3 * width)
        self.context_gates = nn.Linear(width, 3 * width, bias=False)
        self.cell = GruCell(width)
        self.state_readout = nn.Linear(width, 2 * width)
        self.embedding_readout = nn.Linear(width, 2 * width, bias=False)
        self.context_readout = nn.Linear(width, 2 * width, bias=False)

    def first_state(self, annotations: Tensor) -> Tensor:
        """Return s_0 [B, d] of annotations [B, S, d]."""
        state: Tensor = self.start(annotations[:, 0, annotations.shape[2] // 2 :])
        return state.tanh()

    def attend(self, state: Tensor, keys: Tensor, mask: Tensor) -> Tensor:
        """Return the weights of the source's tokens, the alignment model of section 3.1.

        Args:
            state: s_(i-1), [B, d].
            keys: U_a h_j, [B, S, d].
            mask: bool [B, S], true on real tokens.

        Returns:
            [B, S], zero on padding.
        """
        scores: Tensor = self.score((self.query(state)[:, None] + keys).tanh())[:, :, 0]
        return scores.masked_fill(~mask, -torch.inf).softmax(dim=1)

    def readout(self, states: Tensor, embedded: Tensor, contexts: Tensor) -> Tensor:
        """Return t_i [B, T, d]; all arguments are [B, T, d]."""
        pairs: Tensor = self.state_readout(states) + self.embedding_readout(embedded)
        pairs = pairs + self.context_readout(contexts)
        return pairs.view(*pairs.shape[:2], -1, 2).amax(dim=3)


class Bahdanau(TranslationModel):
    """Recurrent model with additive attention; U_a h_j is computed once per source, as cross K/V are.

    Of the interface's `KeyValue`, the keys are U_a h_j and the values are the annotations, with one head.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config)
        self._add_tables()
        self.encoder = BidirectionalEncoder(config.d_model)
        self.decoder = AttentiveDecoder(config.d_model)
        self._initialise()

    def encode(self, source_ids: Tensor, source_mask: Tensor) -> Tensor:
        annotations: Tensor = self.encoder(self._embed(self.source_embedding, source_ids), source_mask)
        return annotations

    def cross_keys_values(self, memory: Tensor) -> list[KeyValue]:
        return [(self.decoder.key(memory)[:, None], memory[:, None])]

    def decode(
        self,
        target_ids: Tensor,
        cross: Sequence[KeyValue],
        source_mask: Tensor,
        past: ModelState | None = None,
    ) -> tuple[Tensor, ModelState]:
        past_len = 0 if past is None else past.positions
        decoder = self.decoder
        keys, annotations = (each[:, 0] for each in cross[0])
        embedded = self._embed(self.target_embedding, target_ids, past_len)
        gates = decoder.embedding_gates(embedded).unbind(1)
        state = decoder.first_state(annotations) if past is None else past.layers[0][0]
        states: list[Tensor] = []
        contexts: list[Tensor] = []
        for step_gates in gates:
            weights = decoder.attend(state, keys, source_mask)
            context = (weights[:, None] @ annotations)[:, 0]
            state = decoder.cell(step_gates + decoder.context_gates(context), state)
            states.append(state)
            contexts.append(context)
        read = decoder.readout(torch.stack(states, dim=1), embedded, torch.stack(contexts, dim=1))
        return self.dropout(read), ModelState(past_len + target_ids.shape[1], ((state,),))

    def _embed(self, embedding: nn.Embedding, ids: Tensor, first_position: int = 0) -> Tensor:
        embedded: Tensor = self.dropout(self._token_vectors(embedding, ids, first_position))
        return embedded.to(self.decoder.query.weight.dtype)
