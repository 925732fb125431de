"""Conversion of a Hugging Face checkpoint's tensors to our weights; every tensor must be used."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from export.huggingface.architectures import Architecture
from export.huggingface.configuration import HuggingFaceShape
from export.huggingface.generation import GenerationSettings
from export.huggingface.weights import Weights, limit_problems
from export.model_config import ModelConfig
from export.model_weights import (
    OUTPUT_BIAS,
    OUTPUT_TABLE,
    POSITIONS,
    SOURCE_TABLE,
    TARGET_POSITIONS,
    TARGET_TABLE,
    Floats,
    ModelWeights,
    weight_shapes,
)
from export.original import ImportRejectedError
from export.positions import float32_table
from export.tensors.tensor import FLOATS, StoredTensor, StoredWeights
from export.weight_names import weight_sources

POSITION_TOLERANCE = 1e-3
"""Tolerance between a stored sinusoidal table and ours; in half precision they differ by 2e-4."""

SHARED, ENCODER_TABLE, DECODER_TABLE = (
    "shared.weight",
    "encoder.embed_tokens.weight",
    "decoder.embed_tokens.weight",
)
"""Tables, after the architecture's prefix."""
LM_HEAD = "lm_head.weight"
LOGITS_BIAS = "final_logits_bias"
POSITION_TABLES = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
COMPUTED_TABLES = ("model.encoder.embed_positions.weights", "model.decoder.embed_positions.weights")
"""Sinusoidal tables that older releases of M2M-100 stored; the class always computes its own."""

UNUSED_T5 = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
"""Biases of cross-attention that older releases stored; the class adds none."""


@dataclass(frozen=True, slots=True)
class ScaledTensor:
    """A tensor in a file, times a factor."""

    tensor: StoredTensor
    factor: float

    @property
    def shape(self) -> tuple[int, ...]:
        return self.tensor.shape

    def read(self) -> Floats:
        return self.tensor.read() * np.float32(self.factor)


Assigned = StoredTensor | ScaledTensor | Floats


@dataclass(frozen=True, slots=True)
class AssemblyOptions:
    """Everything about a model except its tensors."""

    architecture: Architecture
    shape: HuggingFaceShape
    generation: GenerationSettings
    """Search settings; the ids that they forbid become part of the model."""
    start_id: int
    """Id that begins a target, unless the target language has its own start."""
    unk_id: int


def assemble(weights: Weights, plan: AssemblyOptions, origin: str) -> ModelWeights:
    """Return the model; its weights stay in their files.

    Raises:
        ImportRejectedError: tensors are missing, left over, of another shape, or not 16- or 32-bit floats.
    """
    tensors = {theirs: tensor for theirs, tensor in weights.tensors.items() if not _is_unused(theirs, plan)}
    tables = _find_tables(tensors, plan)
    source, target, output = tables.values()
    config = _make_config(
        plan, is_shared=_are_equal(source, target), is_tied=_are_equal(target, output), origin=origin
    )
    file_format, variant = "t5" if plan.architecture.is_t5 else "transformers", "gated" * plan.shape.is_gated
    ours = {each.theirs: each.ours for each in weight_sources(file_format, weight_shapes(config), variant)}
    problems = [f"{table} is missing" for table, tensor in tables.items() if tensor is None]
    problems += [f"{theirs} is missing" for theirs in ours if theirs not in tensors]
    problems += [
        f"{theirs} is not a weight of {plan.architecture.name}"
        for theirs in tensors.keys() - ours.keys() - _tables_of(plan) - {LOGITS_BIAS}
    ]
    problems += [
        f"{theirs} is {tensor.dtype}; only 16-bit and 32-bit floats are supported"
        for theirs, tensor in tensors.items()
        if tensor.dtype not in FLOATS
    ]
    if problems or source is None or target is None or output is None:
        raise ImportRejectedError(origin, tuple(limit_problems(sorted(problems))))
    assigned: dict[str, Assigned] = {
        SOURCE_TABLE: source,
        TARGET_TABLE: target,
        OUTPUT_TABLE: output,
        OUTPUT_BIAS: _output_bias(tensors.get(LOGITS_BIAS), plan),
    }
    assigned |= {name: tensors[theirs] for theirs, name in ours.items()}
    assigned |= _scaled_weights(assigned, plan, config)
    assigned |= _learned_positions(tensors, plan)
    model = ModelWeights(config, StoredWeights(_expected_weights(config, assigned, origin)))
    _check_positions(tensors, model, plan, origin)
    return model


def _is_unused(name: str, plan: AssemblyOptions) -> bool:
    """Return whether older releases stored this tensor, which nothing reads."""
    if plan.architecture.is_t5:
        return name == UNUSED_T5
    is_m2m = plan.architecture.positions == "tensor2tensor"
    return is_m2m and (name in COMPUTED_TABLES or name.endswith(("._float_tensor", "coder.version")))


def _tables_of(plan: AssemblyOptions) -> set[str]:
    """Return the names that a table of this class may have."""
    prefix = plan.architecture.prefix
    names = {prefix + ENCODER_TABLE, prefix + DECODER_TABLE, LM_HEAD}
    if plan.shape.has_shared_embeddings:
        names.add(prefix + SHARED)
    if plan.architecture.positions not in ("tensor2tensor", "relative"):
        names.update(POSITION_TABLES)
    return names


def _find_tables(
    tensors: Mapping[str, StoredTensor], plan: AssemblyOptions
) -> dict[str, StoredTensor | None]:
    """Return the source, target and output tables, by the names that they have if stored separately.

    A table that the file lacks is the one that it is shared or tied with. If the file has two tables that the
    settings call one, both are used.
    """
    shape, prefix = plan.shape, plan.architecture.prefix
    encoder, decoder = prefix + ENCODER_TABLE, prefix + DECODER_TABLE
    shared = [prefix + SHARED] if shape.has_shared_embeddings else []
    source, target, output = [encoder, *shared], [decoder, *shared], [LM_HEAD]
    if shape.has_tied_output:
        output += [decoder, *shared]
        target += [LM_HEAD]
    if shape.has_tied_output and shape.has_shared_embeddings:
        source += [decoder, LM_HEAD]
        target += [encoder]
        output += [encoder]
    return {
        names[0]: next((tensors[name] for name in names if name in tensors), None)
        for names in (source, target, output)
    }


def _are_equal(one: StoredTensor | None, other: StoredTensor | None) -> bool:
    """Return whether two tables are one tensor in the file, or have the same content."""
    if one is None or other is None or one == other:
        return one == other
    is_like = one.shape == other.shape and one.dtype == other.dtype and one.is_float
    return is_like and np.array_equal(one.read(), other.read())


def _make_config(plan: AssemblyOptions, *, is_shared: bool, is_tied: bool, origin: str) -> ModelConfig:
    shape, architecture, generation = plan.shape, plan.architecture, plan.generation
    try:
        return ModelConfig(
            source_vocab_size=shape.source_vocab_size,
            target_vocab_size=shape.target_vocab_size,
            encoder_layers=shape.encoder_layers,
            decoder_layers=shape.decoder_layers,
            d_model=shape.d_model,
            heads=shape.heads,
            ffn=shape.ffn,
            decoder_ffn=shape.decoder_ffn,
            activation=shape.activation,
            norm=architecture.norm,
            d_head=_own_head_size(shape),
            gated_ffn=shape.is_gated,
            biases=not architecture.is_t5,
            norm_kind="rms" if architecture.is_t5 else "layer",
            norm_epsilon=shape.norm_epsilon,
            relative_buckets=shape.relative_buckets,
            relative_max_distance=shape.relative_max_distance,
            shared_relative=architecture.shares_relative,
            embedding_norm=architecture.has_embedding_norm,
            scaled_embeddings=shape.scaled_embeddings,
            positions=architecture.positions,
            first_position=shape.pad_id + 1 if architecture.has_positions_after_padding else 0,
            shared_positions=architecture.positions != "learned",
            max_positions=shape.max_positions,
            shared_vocab=is_shared,
            tied_output=is_tied,
            dropout=0.0,
            pad_id=generation.pad_id,
            unk_id=plan.unk_id,
            bos_id=plan.start_id,
            eos_id=generation.eos_id,
            suppressed_ids=() if generation.is_renormalised else generation.forbidden,
        )
    except ValueError as error:
        raise ImportRejectedError(origin, (str(error),)) from error


def _own_head_size(shape: HuggingFaceShape) -> int | None:
    """Return the size of a head if it does not follow from width and number of heads."""
    is_usual = shape.head_size is None or shape.head_size * shape.heads == shape.d_model
    return None if is_usual else shape.head_size


def _scaled_weights(
    assigned: Mapping[str, Assigned], plan: AssemblyOptions, config: ModelConfig
) -> dict[str, ScaledTensor]:
    """Return weights with factors that T5 has elsewhere: none on scores, and one on states before the output.

    Our attention divides scores by the root of the head size, so queries are multiplied by it.
    """
    if not plan.architecture.is_t5:
        return {}
    factors = {name: math.sqrt(config.head_size) for name in assigned if name.endswith(".query.weight")}
    if plan.shape.scales_output:
        factors["decoder_norm.weight"] = config.d_model**-0.5
    return {
        name: ScaledTensor(stored, factors[name])
        for name, stored in assigned.items()
        if name in factors and isinstance(stored, StoredTensor)
    }


def _output_bias(stored: StoredTensor | None, plan: AssemblyOptions) -> Floats:
    """Convert [1, V] or None to [V]; ids whose probability is redistributed to the others have -inf."""
    bias = np.zeros(plan.shape.target_vocab_size, np.float32)
    if stored is not None:
        bias = stored.read().flatten()
    if plan.generation.is_renormalised and plan.generation.forbidden:
        bias[list(plan.generation.forbidden)] = -math.inf
    return bias


def _learned_positions(tensors: Mapping[str, StoredTensor], plan: AssemblyOptions) -> dict[str, Floats]:
    """Return the encoder's and decoder's learned positions, without the rows that no token uses."""
    architecture = plan.architecture
    if architecture.positions != "learned":
        return {}
    pairs = zip((POSITIONS, TARGET_POSITIONS), POSITION_TABLES, strict=True)
    return {
        ours: tensors[theirs].read()[architecture.position_offset :]
        for ours, theirs in pairs
        if theirs in tensors
    }


def _expected_weights(
    config: ModelConfig, assigned: Mapping[str, Assigned], origin: str
) -> dict[str, Assigned]:
    """Return the weights that the model stores, after a check of their shapes."""
    expected = weight_shapes(config)
    problems = [f"{name} is missing" for name in sorted(expected.keys() - assigned.keys())]
    problems += [
        f"{name} has shape {list(assigned[name].shape)}, config.json says {list(shape)}"
        for name, shape in expected.items()
        if name in assigned and assigned[name].shape != shape
    ]
    if problems:
        raise ImportRejectedError(origin, tuple(limit_problems(problems)))
    weights = {name: assigned[name] for name in expected}
    if config.positions == "tensor2tensor":
        weights[POSITIONS] = float32_table(config)
    return weights


def _check_positions(
    tensors: Mapping[str, StoredTensor], model: ModelWeights, plan: AssemblyOptions, origin: str
) -> None:
    """Reject a stored sinusoidal table that differs from ours; the class would read it instead of its own."""
    if plan.architecture.positions != "sinusoidal":
        return
    for name in POSITION_TABLES:
        stored = tensors.get(name)
        if stored is None:
            continue
        computed = model.source_positions
        if stored.shape != computed.shape or not np.allclose(
            stored.read(), computed, rtol=0.0, atol=POSITION_TOLERANCE
        ):
            raise ImportRejectedError(
                origin, (f"{name} differs from the sinusoidal positions of {plan.architecture.name}",)
            )
