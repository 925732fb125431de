"""Join neighbouring instructions, so that vectors in between are never written."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from dragoman.native.instructions import Instruction, InstructionKind


def fuse(instructions: Sequence[Instruction], results: Sequence[str]) -> list[Instruction]:
    """Join a linear layer with the sum, or the activation and rounding, that alone reads its output.

    Args:
        instructions: in order.
        results: vectors that are read after the last instruction.
    """
    uses = Counter(name for each in instructions for name in (each.source, each.other) if name)
    uses.update(results)
    fused: list[Instruction] = []
    for each in instructions:
        last = fused[-1] if fused else None
        if (
            last is None
            or last.kind not in {InstructionKind.LINEAR, InstructionKind.ACTIVATE}
            or uses[last.target] != 1
        ):
            fused.append(each)
        elif (
            last.kind == InstructionKind.LINEAR
            and each.kind == InstructionKind.ADD
            and last.target in {each.source, each.other}
        ):
            other = each.other if each.source == last.target else each.source
            fused[-1] = replace(last, kind=InstructionKind.LINEAR_ADD, other=other, target=each.target)
        elif each.kind == InstructionKind.QUANTISE and each.source == last.target:
            fused.append(each)
            _join_rounding(fused, uses)
        else:
            fused.append(each)
    return fused


def _join_rounding(fused: list[Instruction], uses: Mapping[str, int]) -> None:
    """Join the last instructions, if they are a linear layer, perhaps an activation, and a rounding."""
    linear, rounding = fused[-2], fused[-1]
    activation, num_joined = linear, 2
    if linear.kind == InstructionKind.ACTIVATE:
        if fused[-3].kind != InstructionKind.LINEAR or fused[-3].target != linear.source:
            return
        if uses[linear.source] != 1:
            return
        linear, num_joined = fused[-3], num_joined + 1
    fused[-num_joined:] = [
        replace(
            rounding,
            kind=InstructionKind.LINEAR_QUANTISE,
            source=linear.source,
            index=linear.index,
            activation=activation.activation,
            alpha=activation.alpha,
        )
    ]
