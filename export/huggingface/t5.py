"""Reader of T5's config.json: T5 1.0 and 1.1, mT5, MADLAD-400, UL2, umT5."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from export.huggingface.architectures import Architecture
from export.huggingface.configuration import (
    ACTIVATIONS,
    HEAD_SIZE_MULTIPLE,
    MAX_LAYERS,
    MAX_POSITIONS,
    MAX_VOCABULARY,
    HuggingFaceShape,
    read_id,
    unsupported_features,
)
from export.huggingface.fields import ConfigFields
from export.huggingface.files import CONFIG_FILE
from export.model_config import MIN_RELATIVE_BUCKETS

DEFAULT_POSITIONS = 512
"""Maximum length if `n_positions` is missing; relative positions have no end, but training had this one."""
GATED = "gated-"


@dataclass(frozen=True, slots=True)
class T5Defaults:
    """Values of fields that config.json may leave out, as in the configuration class."""

    d_ff: int = 1024
    num_layers: int = 8
    num_heads: int = 6
    feed_forward_proj: str = "gated-gelu"


DEFAULTS_BY_TYPE: Mapping[str, T5Defaults] = {
    "t5": T5Defaults(d_ff=2048, num_layers=6, num_heads=8, feed_forward_proj="relu"),
    "mt5": T5Defaults(),
    "umt5": T5Defaults(),
}


def read_t5_shape(
    config: Mapping[str, Any], architecture: Architecture, problems: list[str]
) -> HuggingFaceShape:
    """Read the shape and add whatever cannot be imported to `problems`; then the shape is meaningless."""
    fields, defaults = ConfigFields(config, CONFIG_FILE, problems), DEFAULTS_BY_TYPE[architecture.model_type]
    vocab_size = fields.count("vocab_size", architecture.vocab_size, MAX_VOCABULARY)
    ffn = fields.count("d_ff", defaults.d_ff)
    layers = fields.count("num_layers", defaults.num_layers, MAX_LAYERS)
    projection = fields.text("feed_forward_proj") or defaults.feed_forward_proj
    activation = _activation_name(projection)
    if activation not in ACTIVATIONS:
        problems.append(f"{CONFIG_FILE}: feed_forward_proj {projection!r} is not supported")
    is_gated = projection.startswith(GATED)
    for field, value in (("dense_act_fn", activation), ("is_gated_act", is_gated)):
        if config.get(field) not in (None, value):
            problems.append(
                f"{CONFIG_FILE}: {field} {config[field]!r} contradicts feed_forward_proj {projection!r}"
            )
    shape = HuggingFaceShape(
        source_vocab_size=vocab_size,
        target_vocab_size=vocab_size,
        encoder_layers=layers,
        decoder_layers=fields.count("num_decoder_layers", layers, MAX_LAYERS),
        d_model=fields.count("d_model", 512),
        heads=fields.count("num_heads", defaults.num_heads),
        head_size=fields.count("d_kv", 64),
        ffn=ffn,
        decoder_ffn=ffn,
        activation=ACTIVATIONS.get(activation, "relu"),
        is_gated=is_gated,
        norm_epsilon=fields.number("layer_norm_epsilon", 1e-6),
        max_positions=fields.count("n_positions", DEFAULT_POSITIONS, MAX_POSITIONS),
        relative_buckets=fields.count("relative_attention_num_buckets", 32),
        relative_max_distance=fields.count("relative_attention_max_distance", 128),
        scaled_embeddings=False,
        scales_output=_scales_output(fields, architecture),
        has_shared_embeddings=True,
        has_tied_output=True,
        pad_id=read_id(fields, "pad_token_id", 0),
        eos_id=read_id(fields, "eos_token_id", 1),
    )
    problems += _problems(shape) + unsupported_features(config)
    return shape


def _activation_name(projection: str) -> str:
    """Return the activation that `feed_forward_proj` means: with a gate, GELU is its approximation."""
    return "gelu_new" if projection == "gated-gelu" else projection.removeprefix(GATED)


def _scales_output(fields: ConfigFields, architecture: Architecture) -> bool:
    """Return whether states are divided by the root of the width before the output projection.

    T5 1.0 does so. Its class takes that from `tie_word_embeddings`, or in newer folders from a field of its
    own; umT5's always from the former; mT5's never does.
    """
    is_tied = fields.flag("tie_word_embeddings", default=True)
    if architecture.model_type == "t5":
        return fields.flag("scale_decoder_outputs", default=is_tied)
    return architecture.model_type == "umt5" and is_tied


def _problems(shape: HuggingFaceShape) -> list[str]:
    problems: list[str] = []
    if shape.head_size is not None and shape.head_size % HEAD_SIZE_MULTIPLE:
        problems.append(f"{CONFIG_FILE}: d_kv {shape.head_size} is not a multiple of {HEAD_SIZE_MULTIPLE}")
    buckets, reach = shape.relative_buckets, shape.relative_max_distance
    if buckets < MIN_RELATIVE_BUCKETS or buckets % 2:
        problems.append(
            f"{CONFIG_FILE}: relative_attention_num_buckets {buckets} is not an even number from"
            f" {MIN_RELATIVE_BUCKETS}"
        )
    elif reach <= buckets // 2:
        problems.append(
            f"{CONFIG_FILE}: relative_attention_max_distance {reach} is not above half of {buckets} buckets"
        )
    if shape.norm_epsilon <= 0:
        problems.append(f"{CONFIG_FILE}: layer_norm_epsilon {shape.norm_epsilon} is not above 0")
    return problems
