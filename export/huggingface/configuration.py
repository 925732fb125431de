"""Reader of config.json: the model's shape, or every reason why it cannot be imported."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from export.huggingface.architectures import Architecture
from export.huggingface.fields import ConfigFields
from export.huggingface.files import CONFIG_FILE
from export.model_config import Activation

HEAD_SIZE_MULTIPLE = 8
"""Divisor of the head size that the decoder's in-place attention requires."""
MAX_VOCABULARY = 2**22
MAX_LAYERS = 1000
MAX_POSITIONS = 2**16
"""Settings beyond these limits count as damaged, before anything of that size is allocated."""

ACTIVATIONS: Mapping[str, Activation] = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu_accurate": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_python_tanh": "gelu_tanh",
    "quick_gelu": "quick_gelu",
    "swish": "swish",
    "silu": "swish",
}
"""Activations by their names in `transformers`; names of one function differ in operation order at most."""


@dataclass(frozen=True, slots=True)
class HuggingFaceShape:
    """Sizes and choices of an encoder-decoder, before its weights and vocabulary are read."""

    source_vocab_size: int
    target_vocab_size: int
    encoder_layers: int
    decoder_layers: int
    d_model: int
    heads: int
    ffn: int
    decoder_ffn: int
    activation: Activation
    max_positions: int
    scaled_embeddings: bool
    has_shared_embeddings: bool
    """Whether encoder and decoder share one table, unless the weights have two."""
    has_tied_output: bool
    """Whether the output projection is an embedding table, unless the weights have a separate one."""
    pad_id: int
    eos_id: int
    head_size: int | None = None
    """None: `d_model` / `heads`."""
    is_gated: bool = False
    """Whether the feed-forward has a gate."""
    norm_epsilon: float = 1e-5
    scales_output: bool = False
    """Whether states are divided by the root of `d_model` before the output projection."""
    relative_buckets: int = 32
    relative_max_distance: int = 128
    """Of relative positions: number of buckets, and distance from which all share the last one."""


def read_shape(
    config: Mapping[str, Any], architecture: Architecture, problems: list[str]
) -> HuggingFaceShape:
    """Read the shape and add whatever cannot be imported to `problems`; then the shape is meaningless."""
    fields = ConfigFields(config, CONFIG_FILE, problems)
    vocab_size = fields.count("vocab_size", architecture.vocab_size, MAX_VOCABULARY)
    shares = True
    target_vocab_size = vocab_size
    if architecture.can_split_vocabulary:
        shares = fields.flag("share_encoder_decoder_embeddings", default=True)
        target_vocab_size = (
            vocab_size if shares else fields.count("decoder_vocab_size", vocab_size, MAX_VOCABULARY)
        )
    d_model, heads = fields.count("d_model", 1024), fields.count("encoder_attention_heads", 16)
    shape = HuggingFaceShape(
        source_vocab_size=vocab_size,
        target_vocab_size=target_vocab_size,
        encoder_layers=fields.count("encoder_layers", 12, MAX_LAYERS),
        decoder_layers=fields.count("decoder_layers", 12, MAX_LAYERS),
        d_model=d_model,
        heads=heads,
        ffn=fields.count("encoder_ffn_dim", 4096),
        decoder_ffn=fields.count("decoder_ffn_dim", 4096),
        activation=_read_activation(fields, architecture, problems),
        max_positions=fields.count("max_position_embeddings", 1024, MAX_POSITIONS),
        scaled_embeddings=fields.flag("scale_embedding", default=architecture.scales_embeddings),
        has_shared_embeddings=shares,
        has_tied_output=fields.flag("tie_word_embeddings", default=True),
        pad_id=read_id(fields, "pad_token_id", 58100 if architecture.model_type == "marian" else 1),
        eos_id=read_id(fields, "eos_token_id", 0 if architecture.model_type == "marian" else 2),
    )
    _check_heads(shape, fields.count("decoder_attention_heads", 16), problems)
    problems += unsupported_features(config) + _contradicting_fields(config, architecture)
    return shape


def _read_activation(fields: ConfigFields, architecture: Architecture, problems: list[str]) -> Activation:
    name = fields.text("activation_function") or architecture.activation
    if name not in ACTIVATIONS:
        problems.append(f"activation {name} is not supported")
    return ACTIVATIONS.get(name, "relu")


def read_id(fields: ConfigFields, field: str, default: int) -> int:
    """Return the id in a field, or the default."""
    found = fields.index(field)
    return default if found is None else found


def _check_heads(shape: HuggingFaceShape, decoder_heads: int, problems: list[str]) -> None:
    if decoder_heads != shape.heads:
        problems.append(f"the encoder has {shape.heads} attention heads, but the decoder has {decoder_heads}")
    if shape.d_model % shape.heads:
        problems.append(f"width {shape.d_model} is not a multiple of its {shape.heads} heads")
    elif (shape.d_model // shape.heads) % HEAD_SIZE_MULTIPLE:
        problems.append(f"head size {shape.d_model // shape.heads} is not a multiple of {HEAD_SIZE_MULTIPLE}")


def unsupported_features(config: Mapping[str, Any]) -> list[str]:
    """Return features of some models that none of the imported classes has."""
    problems: list[str] = []
    if config.get("quantization_config"):
        problems.append("quantised weights (quantization_config) are not supported")
    if config.get("pruned_heads"):
        problems.append("pruned heads are not supported")
    if config.get("position_embedding_type") not in (None, "absolute"):
        problems.append(
            f"{config['position_embedding_type']} positions (position_embedding_type) are not supported"
        )
    problems += [
        f"rotary positions ({name}) are not supported"
        for name, value in config.items()
        if ("rope" in name or "rotary" in name) and value
    ]
    if config.get("is_encoder_decoder") is False:
        problems.append("only encoder-decoder models are supported (is_encoder_decoder)")
    return problems


def _contradicting_fields(config: Mapping[str, Any], architecture: Architecture) -> list[str]:
    """Return fields of older releases that contradict the class; they chose what are classes now."""
    is_pre = architecture.norm == "pre"
    expected = {
        "normalize_before": is_pre,
        "add_final_layer_norm": is_pre,
        "normalize_embedding": architecture.has_embedding_norm,
        "static_position_embeddings": architecture.positions != "learned",
        "do_blenderbot_90_layernorm": False,
    }
    return [
        f"{field} {str(config[field]).lower()} is not supported by {architecture.name}"
        for field, value in expected.items()
        if config.get(field) not in (None, value)
    ]
