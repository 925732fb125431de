"""Instructions for the kernels, over named vectors, and the layers that they name by number."""

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from numpy.typing import NDArray

Weights = NDArray[Any]


class NotSupported(Exception):  # noqa: N818 -- clear without the suffix
    """The kernels cannot run the bundle; the message says why."""


class InstructionKind(IntEnum):
    """Kinds of instructions, numbered as in `src/model.h`."""

    EMBED = 0
    NORM = 1
    QUANTISE = 2
    LINEAR = 3
    LINEAR_ADD = 4
    LINEAR_QUANTISE = 5
    ADD = 6
    ACTIVATE = 7
    SELF_ATTENTION = 8
    CROSS_ATTENTION = 9
    RECUR = 10
    WRITE_CROSS = 11


class Activation(IntEnum):
    """Activations, numbered as in `src/kernels.h`."""

    NONE = 0
    RELU = 1
    GELU = 2
    GELU_TANH = 3
    QUICK_GELU = 4
    SWISH = 5


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction over vectors by name."""

    kind: InstructionKind
    source: str = ""
    target: str = ""
    other: str = ""
    index: int = 0
    """Number of the norm, linear layer or attention."""
    zero: int = 0
    activation: Activation = Activation.NONE
    step: float = 1.0
    alpha: float = 1.0


@dataclass(frozen=True, slots=True)
class Linear:
    """A linear layer: int8 weight [K, N], scales [N] or [1], bias [N], and its input's step and zero."""

    weight: Weights
    scales: Weights
    bias: Weights
    step: float
    zero: int


@dataclass(frozen=True, slots=True)
class Norm:
    """A layer norm."""

    gain: Weights
    bias: Weights
    epsilon: float


@dataclass(frozen=True, slots=True)
class Embedding:
    """A table [V, d] with a step per row, [V], or one factor, [1], and positions, [T, d]."""

    table: Weights
    steps: Weights
    positions: Weights


@dataclass(frozen=True, slots=True)
class OutputLayer:
    """The output projection: a table int8 [V, d], and per token a scale and a bias, [V]."""

    table: Weights
    scales: Weights
    bias: Weights
    zero: int
    suppressed: tuple[int, ...]


@dataclass(slots=True)
class Program:
    """Instructions of one graph, and the width of every vector by name."""

    embedding: Embedding
    instructions: list[Instruction]
    widths: dict[str, int]


@dataclass(slots=True)
class Layers:
    """Layers that instructions name by their number."""

    linears: list[Linear] = field(default_factory=list)
    norms: list[Norm] = field(default_factory=list)
