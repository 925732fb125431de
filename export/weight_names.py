"""Names of our weights in the files of other libraries, by the table of names in weight_names.toml."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FORMATS: Mapping[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf8"))
_OURS = re.compile(r"(encoder|decoder)[._](?:([0-9]+)\.)?(.+?)(?:\.(?:weight|bias))?")


@dataclass(frozen=True, slots=True)
class WeightSource:
    """The tensor of a file, or the part of one, that is one of our weights."""

    ours: str
    theirs: str
    shape: tuple[int, ...]
    """Shape of our weight."""
    is_transposed: bool = False
    """Whether the tensor is [in, out]; our matrices are [out, in]."""
    part: int = 0
    num_parts: int = 1
    """Number of weights of this shape that the tensor joins on its first axis; 0 is the first `part`."""


def weight_sources(
    file_format: str,
    shapes: Mapping[str, tuple[int, ...]],
    variant: str = "",
    numbers: Mapping[str, Sequence[int]] | None = None,
) -> Iterator[WeightSource]:
    """Yield the sources of all weights of encoder and decoder, in their order.

    Args:
        file_format: format in weight_names.toml.
        shapes: shapes of our weights by name; tables, which each format shares in its own way, are ignored.
        variant: variant of the format that has other names for some modules; empty: none.
        numbers: by stack, the format's number of each of our layers; None: the same as ours.
    """
    style = FORMATS[file_format]
    names = {**style["modules"], **style.get(variant, {})}
    for ours, shape in shapes.items():
        if (match := _OURS.fullmatch(ours)) is None:
            continue
        stack, layer, module = match.groups()
        key = f"{stack}.{module}" if f"{stack}.{module}" in names else module
        joined = [each for each, name in names.items() if name == names[key]]
        name = names[key] if "{}" in names[key] else names[key] + style["suffix"]
        kind = style["norm" if module.endswith("norm") else "linear"][ours.endswith(".bias")]
        number = layer if numbers is None or layer is None else numbers[stack][int(layer)]
        begin = style["stack" if layer is None else "layer"].format(stack=stack, layer=number)
        yield WeightSource(
            ours,
            begin + name.format(kind, last=("encoder", "decoder").index(stack) + 1),
            shape,
            is_transposed=len(shape) > 1 and style.get("transposed", False),
            part=joined.index(key),
            num_parts=len(joined),
        )
