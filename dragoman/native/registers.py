"""Assigns registers to the vectors of a program; a register is free again after its vector's last use."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dragoman.native.instructions import Instruction, InstructionKind

WRITES_BYTES = frozenset({InstructionKind.QUANTISE, InstructionKind.LINEAR_QUANTISE})
WORKS_IN_PLACE = frozenset({InstructionKind.ADD, InstructionKind.LINEAR_ADD, InstructionKind.ACTIVATE})
"""Kinds that may write where they read, except where a linear layer reads bytes."""


@dataclass(slots=True)
class RegisterFile:
    """Registers of one type."""

    widths: list[int] = field(default_factory=list)
    free: list[int] = field(default_factory=list)

    def take(self, width: int) -> int:
        """Return a free register of a width, or a new one."""
        for register in self.free:
            if self.widths[register] == width:
                self.free.remove(register)
                return register
        self.widths.append(width)
        return len(self.widths) - 1


@dataclass(slots=True)
class Assignment:
    """Registers by vector, and the widths of all registers."""

    registers: dict[str, int] = field(default_factory=dict)
    floats: RegisterFile = field(default_factory=RegisterFile)
    bytes: RegisterFile = field(default_factory=RegisterFile)


def assign(
    instructions: Sequence[Instruction], widths: Mapping[str, int], results: Sequence[str]
) -> Assignment:
    """Assign a register to every vector.

    Args:
        instructions: in order.
        widths: of each vector.
        results: vectors that are read after the last instruction.
    """
    last_use = {name: index for index, each in enumerate(instructions) for name in _read(each)}
    last_use.update(dict.fromkeys(results, len(instructions)))
    assignment = Assignment()
    in_bytes = {each.target for each in instructions if each.kind in WRITES_BYTES}

    def release(index: int, names: Sequence[str]) -> None:
        for name in dict.fromkeys(names):
            if last_use[name] == index:
                file = assignment.bytes if name in in_bytes else assignment.floats
                file.free.append(assignment.registers[name])

    for index, each in enumerate(instructions):
        early = _read(each) if each.kind in WORKS_IN_PLACE else ()
        release(index, early)
        if each.target:
            file = assignment.bytes if each.target in in_bytes else assignment.floats
            assignment.registers[each.target] = file.take(widths[each.target])
        release(index, () if early else _read(each))
    return assignment


def _read(instruction: Instruction) -> tuple[str, ...]:
    return tuple(name for name in (instruction.source, instruction.other) if name)
