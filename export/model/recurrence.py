"""Simpler simple recurrent unit (SSRU), which replaces a decoder's self-attention.

Shapes: B sources, T new positions, d model width.
"""

import torch
from torch import Tensor, nn


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
