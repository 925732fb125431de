"""Shape of a model by the attributes of its `model.bin`; what the engine has no counterpart for is rejected.

Newer layouts have attributes of encoder and decoder (`decoder/num_heads`), older ones of the model.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from dragoman.manifest import AlignmentHeads
from export.ctranslate2.binary import SCALE_SUFFIX, ModelFile
from export.model_config import Activation, NormPosition
from export.tensors.tensor import TensorFileError

LAYOUTS: Mapping[str, int] = {"TransformerSpec": 8, "TransformerBase": 8, "TransformerBig": 16}
"""Supported layouts, and the number of heads of files that do not have it."""
REVISIONS = range(2, 8)
ACTIVATIONS: Mapping[int, Activation] = {0: "relu", 1: "gelu_tanh", 2: "swish", 3: "gelu", 4: "quick_gelu"}
STACKS = ("encoder", "decoder")
IGNORED = frozenset(
    {"embeddings_merge", "layernorm_embedding", "scale_alibi"}
    | {"alibi_use_positive_positions", "multiply_by_sqrt_depth"}
)
"""Attributes that change nothing in a supported model, or that its variables show as well."""
LAST_LAYER = -1
HEADS_OF_UNTRAINED = (0, 1)
"""Numbers of heads that converters write, with the last layer, for a model that was not trained to align."""
MUST_BE_OFF = ("with_relative_position", "alibi", "multi_query_attention")
UNSUPPORTED: Mapping[str, str] = {
    "relative_": "relative positions are not supported",
    "rotary_": "rotary positions are not supported",
    "sliding_window": "attention in a window is not supported",
    "linear_0_noact": "gated feed-forward layers are not supported",
    "embeddings_1": "source features are not supported",
    "project_in": "projections around the decoder are not supported",
    "project_out": "projections around the decoder are not supported",
    "weight_zero": "weights with zero points are not supported",
    "num_heads_kv": "attention with fewer keys than queries is not supported",
    "head_dim": "heads of another size are not supported",
    "scale_outputs": "scaled outputs are not supported",
    "softcapping": "soft limits of outputs are not supported",
    "q_norm": "norms of queries and keys are not supported",
    "k_norm": "norms of queries and keys are not supported",
    "layer_scalar": "scaled layers are not supported",
    "merged_encoder_attention": "merged attention is not supported",
}
"""Reasons by a part of a variable's name."""
SCALE_TOLERANCE = 1e-5

_LAYER = re.compile(r"(encoder|decoder)/layer_([0-9]{1,4})/")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ModelLayout:
    """Choices that shape a model. Sizes are those of its variables."""

    encoder_layers: int
    decoder_layers: int
    heads: int
    activation: Activation
    norm: NormPosition
    scaled_embeddings: bool
    has_final_norm: bool
    has_embedding_norm: bool
    has_stored_positions: bool
    starts_from_zero: bool
    """Whether a vector of zeros starts a target, whatever the start token."""
    alignment: AlignmentHeads | None
    """Attention that the model was trained to align with; None if its attributes do not say."""


class Attributes:
    """Attributes of a model; remembers which variables were looked at."""

    def __init__(self, file: ModelFile, problems: list[str]) -> None:
        self._file = file
        self._problems = problems
        self.used: set[str] = set()

    def number(self, name: str, default: float) -> float:
        """Return a number, or the default if there is none."""
        return self._read(name, default, self._file.number)

    def text(self, name: str, default: str) -> str:
        """Return a text, or the default if there is none."""
        return self._read(name, default, self._file.text)

    def whole(self, name: str, default: int) -> int:
        """Return a whole number, or the default if there is none."""
        found = float(self.number(name, default))
        if not found.is_integer():
            self._problems.append(f"{name} is {found:g}, not a whole number")
            return default
        return int(found)

    def shared(self, name: str, default: int) -> int:
        """Return a whole number that encoder and decoder have in common."""
        of_model = self.whole(name, default)
        found = [self.whole(f"{stack}/{name}", of_model) for stack in STACKS]
        if found[0] != found[1]:
            self._problems.append(
                f"encoder/{name} is {found[0]}, decoder/{name} is {found[1]}; they must be equal"
            )
        return found[0]

    def _read(self, name: str, default: T, read: Callable[[str], T]) -> T:
        if name not in self._file.variables:
            return default
        self.used.add(name)
        try:
            return read(name)
        except TensorFileError as error:
            self._problems.append(str(error))
            return default


def read_layout(
    file: ModelFile, width: int, attributes: Attributes, problems: list[str]
) -> ModelLayout | None:
    """Return the shape of a model of this width; None, with problems added, if it is not supported."""
    if file.layout not in LAYOUTS or file.revision not in REVISIONS:
        problems.append(
            f"{file.layout!r} of revision {file.revision} is not supported, only {', '.join(LAYOUTS)} of "
            f"revisions {REVISIONS[0]} to {REVISIONS[-1]}"
        )
        return None
    found: list[str] = []
    heads = attributes.shared("num_heads", LAYOUTS[file.layout])
    activation = attributes.shared("activation", 0)
    if activation not in ACTIVATIONS:
        found.append(f"activation {activation} is not supported, only {', '.join(map(str, ACTIVATIONS))}")
    switches = [name for part in MUST_BE_OFF for name in (part, *(f"{stack}/{part}" for stack in STACKS))]
    found += [f"{name} is on, which is not supported" for name in switches if attributes.number(name, 0)]
    if heads < 1 or width % heads:
        found.append(f"num_heads {heads} does not divide the width {width}")
    else:
        _check_query_scales(file, width // heads, attributes, found)
    counts = [_count_layers(file, stack, found) for stack in STACKS]
    layout = ModelLayout(
        encoder_layers=counts[0],
        decoder_layers=counts[1],
        heads=heads,
        activation=ACTIVATIONS.get(activation, "relu"),
        norm="pre" if attributes.shared("pre_norm", 1) else "post",
        scaled_embeddings=_is_scaled(file, width, attributes, found),
        has_final_norm=_has_both(file, "layer_norm/gamma", found),
        has_embedding_norm=_has_both(file, "layernorm_embedding/gamma", found),
        has_stored_positions=_has_both(file, "position_encodings/encodings", found),
        starts_from_zero=bool(attributes.number("decoder/start_from_zero_embedding", 0)),
        alignment=_read_alignment(attributes, counts[1], heads, found),
    )
    problems += found
    return None if found else layout


def left_over_problems(file: ModelFile, used: set[str]) -> list[str]:
    """Return a problem for every variable that the model lacks."""
    left = [
        name
        for name in file.variables
        if name not in used and name.rpartition("/")[2] not in IGNORED and not _is_scale(name, used)
    ]
    problems = [
        next(
            (f"{name}: {why}" for part, why in UNSUPPORTED.items() if part in name),
            f"{name} is not supported",
        )
        for name in left
    ]
    return sorted(problems)


def _is_scale(name: str, used: set[str]) -> bool:
    return name.endswith(SCALE_SUFFIX) and name.removesuffix(SCALE_SUFFIX) in used


def _count_layers(file: ModelFile, stack: str, problems: list[str]) -> int:
    found = (_LAYER.match(name) for name in file.variables)
    numbers = {int(match[2]) for match in found if match is not None and match[1] == stack}
    if not numbers or numbers != set(range(len(numbers))):
        problems.append(f"{stack} layers are numbered {sorted(numbers)[:8]}, not 0, 1, 2, ...")
    return len(numbers)


def _has_both(file: ModelFile, name: str, problems: list[str]) -> bool:
    has = [f"{stack}/{name}" in file.variables for stack in STACKS]
    if has[0] != has[1]:
        problems.append(f"only the {STACKS[has.index(True)]} has {name}; encoder and decoder must be alike")
    return has[0]


def _read_alignment(
    attributes: Attributes, num_layers: int, num_heads: int, problems: list[str]
) -> AlignmentHeads | None:
    """Return the attention of the attributes; None if they are those of models not trained to align.

    A negative layer is counted from the last one. The number of heads is that of the first ones; 0 is all.
    """
    layer, count = (
        attributes.whole(f"decoder/{name}", attributes.whole(name, default))
        for name, default in (("alignment_layer", LAST_LAYER), ("alignment_heads", 1))
    )
    if not -num_layers <= layer < num_layers:
        problems.append(f"alignment_layer is {layer}, but the decoder has {num_layers} layers")
        return None
    if not 0 <= count <= num_heads:
        problems.append(f"alignment_heads is {count}, but the model has {num_heads} heads")
        return None
    if layer == LAST_LAYER and count in HEADS_OF_UNTRAINED:
        return None
    return AlignmentHeads(layer % num_layers, tuple(range(count or num_heads)), reads_token=False)


def _is_scaled(file: ModelFile, width: int, attributes: Attributes, problems: list[str]) -> bool:
    """Return whether token vectors are multiplied by the root of the width: a flag, or the factor itself."""
    root, found = math.sqrt(width), []
    for stack in STACKS:
        older = attributes.number(f"{stack}/embeddings/multiply_by_sqrt_depth", 1)
        name = f"{stack}/scale_embeddings"
        value = attributes.number(name, older)
        variable = file.variables.get(name)
        factor = value if variable is not None and variable.is_float else (root if value else 1.0)
        is_root, is_one = (math.isclose(factor, each, rel_tol=SCALE_TOLERANCE) for each in (root, 1.0))
        if not is_root and not is_one:
            problems.append(
                f"{name} is {factor:g}; only 1 and the root of the width, {root:g}, are supported"
            )
        found.append(is_root and not is_one)
    if found[0] != found[1]:
        problems.append("encoder/scale_embeddings and decoder/scale_embeddings differ; they must be equal")
    return found[0]


def _check_query_scales(file: ModelFile, head_size: int, attributes: Attributes, problems: list[str]) -> None:
    usual = head_size**-0.5
    for name in file.variables:
        if not name.endswith("/queries_scale"):
            continue
        scale = attributes.number(name, usual)
        if not math.isclose(scale, usual, rel_tol=SCALE_TOLERANCE):
            problems.append(f"{name} is {scale:g}; only {usual:g}, for heads of {head_size}, is supported")
