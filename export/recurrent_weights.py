"""Layers of the recurrent model with additive attention, and what int8 graphs know about their inputs.

Shapes: d model width.
"""

from collections.abc import Iterator

from export.activation_ranges import ActivationRange
from export.model_config import ModelConfig

DIRECTIONS = ("encoder.forwards", "encoder.backwards")
CELL = "decoder.cell.state_gates"
QUERY, KEY = "decoder.query", "decoder.key"
START = "decoder.start"
SCORE = "decoder.score.weight"
GATES = ("decoder.embedding_gates", "decoder.context_gates")
READOUTS = ("decoder.embedding_readout", "decoder.context_readout", "decoder.state_readout")
KEY_STEPS = "decoder.key_steps"
"""Factors of the cross keys, [d]; only in a model whose keys are in quantisation steps."""
STATE_RANGE = ActivationRange(1.0, is_signed=True)
"""Range of the states of a GRU that begins with zeros: they are means of values of tanh."""


def recurrent_shapes(config: ModelConfig) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield name and shape of every weight of a recurrent model but those of its tables and its output."""
    width, half = config.d_model, config.d_model // 2
    for direction in DIRECTIONS:
        yield from linear_shapes(f"{direction}.embedding_gates", 3 * half, width)
        yield from linear_shapes(f"{direction}.cell.state_gates", 3 * half, half)
    yield from linear_shapes(START, width, half)
    yield from linear_shapes(QUERY, width, width)
    yield from linear_shapes(KEY, width, width, has_bias=False)
    yield SCORE, (1, width)
    yield from linear_shapes(GATES[0], 3 * width, width)
    yield from linear_shapes(GATES[1], 3 * width, width, has_bias=False)
    yield from linear_shapes(CELL, 3 * width, width)
    for name in READOUTS:
        yield from linear_shapes(name, 2 * width, width, has_bias=name == READOUTS[-1])


def state_ranges(config: ModelConfig) -> dict[str, ActivationRange]:
    """Return the ranges of the encoder's states, which are bounded and need no measurement."""
    if config.architecture != "bahdanau":
        return {}
    return {f"{direction}.cell.state_gates": STATE_RANGE for direction in DIRECTIONS}


def linear_shapes(
    name: str, outputs: int, inputs: int, *, has_bias: bool = True
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield name and shape of the weights of a linear layer."""
    yield f"{name}.weight", (outputs, inputs)
    if has_bias:
        yield f"{name}.bias", (outputs,)
