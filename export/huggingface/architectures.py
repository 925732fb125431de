"""Model classes that can be imported, and what each of them fixes of a model's shape."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from export.model_config import NormPosition, Positions
from export.original import ImportRejectedError


@dataclass(frozen=True, slots=True)
class Architecture:
    """A class of `transformers`, as its source code defines it.

    Defaults are those of its configuration class, which leaves them out of config.json.
    """

    name: str
    model_type: str
    norm: NormPosition
    positions: Positions
    activation: str
    """Default activation."""
    vocab_size: int
    """Default vocabulary size."""
    scales_embeddings: bool = False
    """Default of whether token vectors are scaled."""
    has_embedding_norm: bool = False
    """Whether a norm follows the sum of token and position, in encoder and decoder."""
    can_split_vocabulary: bool = False
    """Whether encoder and decoder may have separate vocabularies."""
    position_offset: int = 0
    """Rows of a table of learned positions before the row of the first token."""
    has_positions_after_padding: bool = False
    """Whether the first token's position in a sinusoidal table is the padding id plus one."""
    prefix: str = "model."
    """Beginning of the names of tensors, but for that of a separate output projection."""
    is_t5: bool = False
    """Whether it is of T5's family, whose configuration and tensors have names of their own."""
    shares_relative: bool = True
    """Whether all layers of a stack add the relative position biases of the first one."""


MARIAN = Architecture(
    name="MarianMTModel",
    model_type="marian",
    norm="post",
    positions="sinusoidal",
    activation="gelu",
    vocab_size=58101,
    can_split_vocabulary=True,
)
M2M_100 = Architecture(
    name="M2M100ForConditionalGeneration",
    model_type="m2m_100",
    norm="pre",
    positions="tensor2tensor",
    activation="relu",
    vocab_size=128112,
    scales_embeddings=True,
    has_positions_after_padding=True,
)
MBART = Architecture(
    name="MBartForConditionalGeneration",
    model_type="mbart",
    norm="pre",
    positions="learned",
    activation="gelu",
    vocab_size=50265,
    has_embedding_norm=True,
    position_offset=2,
)
T5 = Architecture(
    name="T5ForConditionalGeneration",
    model_type="t5",
    norm="pre",
    positions="relative",
    activation="relu",
    vocab_size=32128,
    prefix="",
    is_t5=True,
)
MT5 = replace(
    T5, name="MT5ForConditionalGeneration", model_type="mt5", activation="gelu_new", vocab_size=250112
)
UMT5 = replace(MT5, name="UMT5ForConditionalGeneration", model_type="umt5", shares_relative=False)
ARCHITECTURES: tuple[Architecture, ...] = (MARIAN, M2M_100, MBART, T5, MT5, UMT5)
EXPERT_FIELDS = ("num_experts", "num_local_experts")
EXPERT_TYPES = ("nllb-moe", "switch_transformers")
"""Values of `model_type` of encoder-decoders that are a mixture of experts, whatever the other fields say."""


def find_architecture(config: Mapping[str, Any], origin: str) -> Architecture:
    """Return the class that config.json names; `architectures` takes precedence over `model_type`.

    Raises:
        ImportRejectedError: it names a class that is not imported, or none.
    """
    if problem := _experts_problem(config):
        raise ImportRejectedError(origin, (problem,))
    named = config.get("architectures")
    if isinstance(named, list) and named:
        requested, by = str(named[0]), {architecture.name: architecture for architecture in ARCHITECTURES}
        what = f"architecture {requested} is not supported"
    else:
        requested = str(config.get("model_type"))
        by = {architecture.model_type: architecture for architecture in ARCHITECTURES}
        what = (
            f"model_type {requested} is not supported"
            if "model_type" in config
            else "config.json names no architecture"
        )
    if requested not in by:
        raise ImportRejectedError(origin, (f"{what}; supported are {', '.join(by)}",))
    return by[requested]


def _experts_problem(config: Mapping[str, Any]) -> str | None:
    """Return why a mixture of experts is not imported; None if it is none."""
    fields = {name: config[name] for name in EXPERT_FIELDS if config.get(name)}
    if config.get("model_type") in EXPERT_TYPES:
        fields["model_type"] = config["model_type"]
    if not fields:
        return None
    listed = ", ".join(f"{name} {value!r}" for name, value in fields.items())
    return f"config.json: {listed}: a mixture of experts is not supported, only models with dense layers"
