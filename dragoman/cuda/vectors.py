"""Memory of the vectors between instructions."""

import torch
from torch import Tensor

from dragoman.native.instructions import InstructionKind, Program

TILE_ROWS = 64
"""Rows of a tile of a product; memory is whole tiles."""
SUMS = frozenset({InstructionKind.EMBED, InstructionKind.LINEAR_ADD, InstructionKind.ADD})
"""Instructions whose results, sums over layers, stay in float32."""


class Vectors:
    """Memory of a program's vectors by name, [rows, width]; vectors that are not needed at once share it."""

    def __init__(self, program: Program, num_rows: int, device: torch.device) -> None:
        self.num_rows = num_rows
        self.of: dict[str, Tensor] = {}
        last_uses = {
            name: index
            for index, each in enumerate(program.instructions)
            for name in (each.source, each.other, each.target)
        }
        free: dict[tuple[int, torch.dtype], list[Tensor]] = {}
        padded = -(-num_rows // TILE_ROWS) * TILE_ROWS
        for index, each in enumerate(program.instructions):
            if each.target:
                dtype = torch.float32 if each.kind in SUMS else torch.float16
                key = (program.widths[each.target], dtype)
                spare = free.setdefault(key, [])
                self.of[each.target] = (
                    spare.pop() if spare else torch.zeros(padded, key[0], dtype=dtype, device=device)
                )
            for name in {each.source, each.other} - {""}:
                if last_uses[name] == index:
                    tensor = self.of[name]
                    free.setdefault((tensor.shape[1], tensor.dtype), []).append(tensor)
