"""Small models written as CTranslate2 writes them: the binary file, its settings, its vocabularies.

Names, shapes and bytes are set down here once more and by hand, so that an import that misreads them cannot
be right by chance.
"""

import json
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.pieces import real_text, train_sentencepiece

WIDTH, HEADS, FFN, DECODER_FFN = 32, 4, 48, 40
ENCODER_LAYERS, DECODER_LAYERS = 2, 2
NUM_PIECES = 150
GAIN = 2.0
"""Of layers that write to the residual stream, and of what they read: else it is the last token's vector."""
SPECIAL = ("<blank>", "<unk>", "<s>", "</s>")
TYPE_NUMBERS = {"float32": 0, "int8": 1, "int16": 2, "int32": 3, "float16": 4, "bfloat16": 5}

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Ct2Variant:
    """What makes a model different from others."""

    pre_norm: bool = True
    has_final_norm: bool = True
    has_embedding_norm: bool = False
    activation: int = 0
    scale: bool | float = True
    """Of embeddings: a flag, or the factor."""
    stored_positions: int = 0
    """Number of positions that the file has; 0: computed ones."""
    has_positions_of_each_side: bool = False
    starts_from_zero: bool = False
    is_shared: bool = True
    is_tied: bool = False
    has_biases: bool = True
    dtype: str = "float32"
    """Of the weights: a float, int8 or int16."""
    version: int = 6
    revision: int = 7
    layout: str = "TransformerSpec"
    is_text: bool = False
    """Whether vocabularies are lines of text, not JSON."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Changes to config.json; in old versions, attributes in the file."""
    languages: tuple[str, ...] = ()
    """Tokens of languages at the end of the vocabulary."""
    seed: int = 0


@cache
def sentencepiece_model(language: str) -> bytes:
    return train_sentencepiece(real_text(language), 200, hard_vocab_limit=False)


@cache
def pieces_of(language: str) -> tuple[str, ...]:
    import sentencepiece  # noqa: PLC0415 -- only here

    processor = sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_model(language))
    return tuple(processor.id_to_piece(index) for index in range(3, processor.vocab_size()))[:NUM_PIECES]


def vocabularies_of(variant: Ct2Variant) -> tuple[list[str], list[str]]:
    """Tokens of source and target: four special ones, pieces, languages."""
    source = [*SPECIAL, *pieces_of("de"), *variant.languages]
    target = source if variant.is_shared else [*SPECIAL, *pieces_of("en")[:-10], *variant.languages]
    return source, target


def write_ct2_folder(folder: Path, variant: Ct2Variant, *, has_tokenizers: bool = True) -> Path:
    """Write a whole folder, and the SentencePiece models beside it."""
    folder.mkdir(parents=True, exist_ok=True)
    source, target = vocabularies_of(variant)
    names = {"shared_vocabulary": source}
    if not variant.is_shared:
        names = {"source_vocabulary": source, "target_vocabulary": target}
    for name, tokens in names.items():
        if variant.is_text:
            (folder / f"{name}.txt").write_text("".join(f"{token}\n" for token in tokens), encoding="utf8")
        else:
            (folder / f"{name}.json").write_text(json.dumps(tokens), encoding="utf8")
    arrays = arrays_of(variant)
    aliases: dict[str, str] = {}
    if variant.is_shared:
        aliases[f"decoder/embeddings{_first(variant, is_source=False)}/weight"] = source_table(variant)
    if variant.is_tied:
        aliases["decoder/projection/weight"] = (
            source_table(variant) if variant.is_shared else "decoder/embeddings/weight"
        )
    save_binary(folder / "model.bin", arrays, aliases, variant)
    if variant.version >= 6:
        (folder / "config.json").write_text(json.dumps(config_of(variant)), encoding="utf8")
    if has_tokenizers:
        write_sentencepiece(folder, variant)
    return folder


def write_sentencepiece(folder: Path, variant: Ct2Variant) -> None:
    if variant.is_shared:
        (folder / "sentencepiece.model").write_bytes(sentencepiece_model("de"))
    else:
        (folder / "source.spm").write_bytes(sentencepiece_model("de"))
        (folder / "target.spm").write_bytes(sentencepiece_model("en"))


def config_of(variant: Ct2Variant) -> dict[str, Any]:
    """Settings as CTranslate2 4.8 writes them."""
    return {
        "add_source_bos": False,
        "add_source_eos": False,
        "bos_token": "<s>",
        "decoder_start_token": "<s>",
        "eos_token": "</s>",
        "layer_norm_epsilon": None,
        "multi_query_attention": False,
        "unk_token": "<unk>",
        **variant.settings,
    }


def source_table(variant: Ct2Variant) -> str:
    return f"encoder/embeddings{_first(variant, is_source=True)}/weight"


def _first(variant: Ct2Variant, *, is_source: bool) -> str:
    return "_0" if is_source and variant.revision >= 4 else ""


class _RandomWeights:
    """Draws the weights of a model, by CTranslate2's names."""

    def __init__(self, variant: Ct2Variant) -> None:
        # Numbers of this old generator never change, so that golden files stay valid.
        self._rng = np.random.RandomState(variant.seed)
        self._has_biases = variant.has_biases
        self.arrays: Arrays = {}

    def draw(self, *shape: int, scale: float = 1.0) -> NDArray[np.float32]:
        return (self._rng.standard_normal(shape) * scale).astype(np.float32)

    def linear(self, name: str, outputs: int, inputs: int, gain: float = 1.0) -> None:
        self.arrays[f"{name}/weight"] = self.draw(outputs, inputs, scale=gain * inputs**-0.5)
        if self._has_biases:
            self.arrays[f"{name}/bias"] = self.draw(outputs, scale=0.1)

    def norm(self, name: str) -> None:
        self.arrays[f"{name}/gamma"] = 1 + self.draw(WIDTH, scale=0.1)
        self.arrays[f"{name}/beta"] = self.draw(WIDTH, scale=0.1)

    def layer(self, name: str, ffn: int, *, is_decoder: bool) -> None:
        self.linear(f"{name}/self_attention/linear_0", 3 * WIDTH, WIDTH)
        self.linear(f"{name}/self_attention/linear_1", WIDTH, WIDTH, GAIN)
        self.norm(f"{name}/self_attention/layer_norm")
        if is_decoder:
            self.linear(f"{name}/attention/linear_0", WIDTH, WIDTH, GAIN)
            self.linear(f"{name}/attention/linear_1", 2 * WIDTH, WIDTH, GAIN)
            self.linear(f"{name}/attention/linear_2", WIDTH, WIDTH, GAIN)
            self.norm(f"{name}/attention/layer_norm")
        self.linear(f"{name}/ffn/linear_0", ffn, WIDTH, GAIN)
        self.linear(f"{name}/ffn/linear_1", WIDTH, ffn, GAIN)
        self.norm(f"{name}/ffn/layer_norm")


def arrays_of(variant: Ct2Variant) -> Arrays:
    """Variables by name: attributes, and weights in float32."""
    sizes = [len(tokens) for tokens in vocabularies_of(variant)]
    weights = _RandomWeights(variant)
    arrays = weights.arrays
    is_multiplied = variant.scale is True or variant.scale > 1
    table_scale = WIDTH**-0.5 if is_multiplied else 1.0
    arrays[source_table(variant)] = weights.draw(sizes[0], WIDTH, scale=table_scale)
    if not variant.is_shared:
        arrays["decoder/embeddings/weight"] = weights.draw(sizes[1], WIDTH, scale=table_scale)
    if not variant.is_tied:
        arrays["decoder/projection/weight"] = weights.draw(sizes[1], WIDTH, scale=1.5 * WIDTH**-0.5)
    if variant.has_biases:
        arrays["decoder/projection/bias"] = weights.draw(sizes[1], scale=0.1)
    positions = weights.draw(variant.stored_positions, WIDTH, scale=0.5)
    for stack, num_layers, ffn in (
        ("encoder", ENCODER_LAYERS, FFN),
        ("decoder", DECODER_LAYERS, DECODER_FFN),
    ):
        if variant.stored_positions:
            arrays[f"{stack}/position_encodings/encodings"] = positions
            if variant.has_positions_of_each_side:
                positions = weights.draw(variant.stored_positions, WIDTH, scale=0.5)
        if variant.has_final_norm:
            weights.norm(f"{stack}/layer_norm")
        if variant.has_embedding_norm:
            weights.norm(f"{stack}/layernorm_embedding")
        for index in range(num_layers):
            weights.layer(f"{stack}/layer_{index}", ffn, is_decoder=stack == "decoder")
    return _attributes(variant) | arrays


def _attributes(variant: Ct2Variant) -> Arrays:
    older = _bytes(num_heads=HEADS, with_relative_position=0)
    if variant.revision < 4:  # only the number of heads, in a byte
        return older | _flags(variant)
    scale = np.array(variant.scale, np.int8 if isinstance(variant.scale, bool) else np.float32)
    both: Arrays = {f"{stack}/scale_embeddings": scale for stack in ("encoder", "decoder")}
    both |= _bytes("decoder/", start_from_zero_embedding=variant.starts_from_zero)
    shape = _bytes(pre_norm=variant.pre_norm, activation=variant.activation)
    alignment = {"alignment_layer": np.array(-1, np.int16), "alignment_heads": np.array(1, np.int16)}
    if variant.revision < 7:
        older |= _bytes(embeddings_merge=0, layernorm_embedding=variant.has_embedding_norm)
        return older | shape | alignment | both | _flags(variant)
    shape["num_heads"] = np.array(HEADS, np.int16)
    both |= {f"{stack}/{name}": value for stack in ("encoder", "decoder") for name, value in shape.items()}
    both |= {f"decoder/{name}": value for name, value in alignment.items()}
    both |= _bytes("encoder/", embeddings_merge=0, multi_query_attention=0)
    both |= _bytes("decoder/", alibi=0, alibi_use_positive_positions=1, scale_alibi=0)
    return both | _flags(variant)


def _bytes(prefix: str = "", **values: int) -> Arrays:
    return {f"{prefix}{name}": np.array(value, np.int8) for name, value in values.items()}


def _flags(variant: Ct2Variant) -> Arrays:
    """Settings of versions before 6."""
    if variant.version >= 6:
        return {}
    return {
        name: np.frombuffer(value.encode(), np.int8) if isinstance(value, str) else np.array(value, np.int8)
        for name, value in variant.settings.items()
    }


def stored(name: str, array: NDArray[Any], dtype: str) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    """Return a variable as type, shape and bytes; that of a quantised weight, and its scale."""
    if array.dtype != np.float32 or not array.ndim:
        return {name: (array.dtype.name, array.shape, array.tobytes())}
    if dtype == "float16":
        return {name: (dtype, array.shape, array.astype(np.float16).tobytes())}
    if dtype == "bfloat16":
        return {name: (dtype, array.shape, (array.view(np.uint32) >> 16).astype(np.uint16).tobytes())}
    if dtype == "float32" or not name.endswith("/weight"):
        return {name: ("float32", array.shape, array.tobytes())}
    if dtype == "int8":
        scale = (np.float32(127) / np.abs(array).max(axis=1)).astype(np.float32)
        integers: NDArray[Any] = np.rint(array * scale[:, None]).astype(np.int8)
    else:
        scale = np.float32(2**10 / np.abs(array).max()).reshape(())
        integers = np.rint(array * scale).astype(np.int16)
    return {
        name: (dtype, array.shape, integers.tobytes()),
        f"{name}_scale": ("float32", scale.shape, scale.tobytes()),
    }


def save_binary(path: Path, arrays: Arrays, aliases: Mapping[str, str], variant: Ct2Variant) -> None:
    """Write `model.bin` of a version."""
    parts: dict[str, tuple[str, tuple[int, ...], bytes]] = {}
    for name in sorted(arrays):
        parts |= stored(name, arrays[name], variant.dtype)
    if variant.version < 3:  # no aliases: everything twice
        for alias, name in aliases.items():
            parts[alias] = parts[name]
            if f"{name}_scale" in parts:
                parts[f"{alias}_scale"] = parts[f"{name}_scale"]
    encoded = [struct.pack("<I", variant.version), text(variant.layout), struct.pack("<I", variant.revision)]
    encoded.append(struct.pack("<I", len(parts)))
    for name, (dtype, shape, content) in parts.items():
        encoded += [text(name), struct.pack("<B", len(shape)), struct.pack(f"<{len(shape)}I", *shape)]
        item_bytes = {"float32": 4, "int32": 4, "int8": 1}.get(dtype, 2)
        kind, size = (TYPE_NUMBERS[dtype], len(content))
        if variant.version < 4:
            kind, size = item_bytes, len(content) // item_bytes
        encoded += [struct.pack("<BI", kind, size), content]
    if variant.version >= 3:
        encoded.append(struct.pack("<I", len(aliases)))
        encoded += [text(each) for pair in aliases.items() for each in pair]
    path.write_bytes(b"".join(encoded))


def text(value: str) -> bytes:
    return struct.pack("<H", len(value.encode()) + 1) + value.encode() + b"\0"


M2M_LANGUAGES = ("__de__", "__en__", "__fr__")
NLLB_LANGUAGES = ("deu_Latn", "eng_Latn", "zho_Hans")

VARIANTS: Mapping[str, Ct2Variant] = {
    "opennmt-py": Ct2Variant(activation=3, stored_positions=64, is_shared=False, seed=1),
    "opennmt-tf": Ct2Variant(
        activation=1, is_shared=False, settings={"add_source_bos": True, "add_source_eos": True}, seed=2
    ),
    "marian": Ct2Variant(
        pre_norm=False,
        has_final_norm=False,
        activation=2,
        stored_positions=64,
        starts_from_zero=True,
        is_tied=True,
        settings={"add_source_eos": True},
        seed=3,
    ),
    "fairseq": Ct2Variant(
        has_embedding_norm=True,
        scale=float(np.float32(WIDTH**0.5)),
        stored_positions=64,
        has_positions_of_each_side=True,
        settings={"add_source_eos": True, "decoder_start_token": "</s>"},
        seed=4,
    ),
    "m2m": Ct2Variant(
        scale=float(np.float32(WIDTH**0.5)),
        stored_positions=64,
        is_tied=True,
        settings={"decoder_start_token": "</s>"},
        languages=M2M_LANGUAGES,
        seed=5,
    ),
    "nllb": Ct2Variant(
        stored_positions=64,
        is_tied=True,
        settings={"decoder_start_token": "</s>"},
        languages=NLLB_LANGUAGES,
        seed=6,
    ),
    "plain": Ct2Variant(
        scale=1.0, activation=4, has_biases=False, pre_norm=False, has_final_norm=False, seed=7
    ),
    "int8": Ct2Variant(dtype="int8", is_tied=True, seed=8),
    "int16": Ct2Variant(dtype="int16", is_shared=False, seed=9),
    "float16": Ct2Variant(dtype="float16", stored_positions=64, seed=10),
    "bfloat16": Ct2Variant(dtype="bfloat16", seed=11),
    "version-5": Ct2Variant(
        version=5, revision=4, is_text=True, dtype="int8", settings={"with_source_eos": 1}, seed=12
    ),
    "version-4": Ct2Variant(version=4, revision=3, is_text=True, dtype="int8", is_shared=False, seed=13),
    "version-2": Ct2Variant(version=2, revision=3, is_text=True, is_tied=True, seed=14),
}
"""One of each kind that is imported."""


def sources_of(variant: Ct2Variant, count: int) -> list[list[int]]:
    """Ids of pieces alone, in random sources of 1 to 12 pieces."""
    rng = np.random.RandomState(100 + variant.seed)
    first, last = len(SPECIAL), len(SPECIAL) + NUM_PIECES - 10
    return [rng.randint(first, last, rng.randint(1, 13)).tolist() for _ in range(count)]


def languages_of(variant: Ct2Variant) -> tuple[Sequence[str], Sequence[str]]:
    """Tokens of the source's and the target's language, German to English; none if the model has none."""
    return variant.languages[:1], variant.languages[1:2]
