"""Recurrent layers: GRU, and the simpler simple recurrent unit (SSRU) in place of self-attention.

Shapes: B sources, T new positions, d model width, n size of the state.
"""

import torch
from torch import Tensor, nn


class GruCell(nn.Module):
    """GRU (Cho et al. 2014, "Learning Phrase Representations using RNN Encoder-Decoder", section 2.3).

        r = sigmoid(W_r x + U_r h)
        z = sigmoid(W_z x + U_z h)
        n = tanh(W x + r (U h))
        h' = (1 - z) n + z h

    Vectors are multiplied element by element; every product has a bias. As in cuDNN and `torch.nn.GRU`, the
    reset gate r multiplies the product U h, not h, so that one product of the state serves all gates; and z
    is the share that is kept, as in the paper of Cho et al. Bahdanau et al. 2015 (appendix A.1.1) write 1 - z
    for it. The gates' order in the layers is r, z, n.
    """

    def __init__(self, size: int) -> None:
        super().__init__()
        self.state_gates = nn.Linear(size, 3 * size)

    def forward(self, inputs: Tensor, state: Tensor) -> Tensor:
        """Return the next state.

        Args:
            inputs: W x with its bias, for r, z and n, [B, 3n].
            state: h, [B, n].

        Returns:
            [B, n].
        """
        size = state.shape[1]
        from_state = self.state_gates(state)
        reset, keep = (inputs[:, : 2 * size] + from_state[:, : 2 * size]).sigmoid().chunk(2, dim=1)
        new = torch.addcmul(inputs[:, 2 * size :], reset, from_state[:, 2 * size :]).tanh()
        return torch.lerp(new, state, keep)


class GruDirection(nn.Module):
    """One direction of a GRU over a sequence; the states of padding are zero."""

    def __init__(self, input_size: int, size: int, *, is_backward: bool) -> None:
        super().__init__()
        self.embedding_gates = nn.Linear(input_size, 3 * size)
        self.cell = GruCell(size)
        self.is_backward = is_backward

    def forward(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """Run a sequence.

        The state stays zero until a backward direction reaches a source's last token, so padding has no
        effect.

        Args:
            inputs: [B, S, d].
            mask: bool [B, S], true on real tokens.

        Returns:
            [B, S, n].
        """
        gates = self.embedding_gates(inputs)
        is_token = mask[:, :, None].to(gates.dtype)
        state = gates.new_zeros(len(gates), gates.shape[2] // 3)
        steps = list(zip(gates.unbind(1), is_token.unbind(1), strict=True))
        states: list[Tensor] = []
        for step_gates, step_mask in reversed(steps) if self.is_backward else steps:
            state = self.cell(step_gates, state) * step_mask
            states.append(state)
        return torch.stack(states[::-1] if self.is_backward else states, dim=1)


class Ssru(nn.Module):
    """SSRU: a cell with a learned forget rate (Kim et al. 2019, "From Research to Production and Back:
    Ludicrously Fast Neural Machine Translation", section 3.1, after the SRU of Lei et al. 2018).

        f_t = sigmoid(W_f x_t + b_f)
        c_t = f_t c_(t-1) + (1 - f_t) W x_t
        y_t = relu(c_t)

    Vectors are multiplied element by element, and c is zero before the first position.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.cell = nn.Linear(d_model, d_model, bias=False)
        self.forget = nn.Linear(d_model, d_model)

    def forward(self, inputs: Tensor, past: Tensor | None) -> tuple[Tensor, Tensor]:
        """Run T positions.

        Args:
            inputs: [B, T, d].
            past: the cell [B, d] after all previous positions; None if there are none.

        Returns:
            [B, T, d], and the cell after the last position, [B, d].
        """
        new, forget = self.cell(inputs), self.forget(inputs).sigmoid()
        cell = torch.zeros_like(new[:, 0]) if past is None else past
        cells: list[Tensor] = []
        for position in range(inputs.shape[1]):
            gate = forget[:, position]
            cell = gate * cell + (1 - gate) * new[:, position]
            cells.append(cell)
        return torch.stack(cells, dim=1).relu(), cell
