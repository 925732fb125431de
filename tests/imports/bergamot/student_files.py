"""Students written as Marian writes them: binary models, lexical shortlists and settings.

Set down by hand from marian-dev (src/common/binary.cpp, src/tensors/cpu/expression_graph_packable.h,
src/data/shortlist.cpp), so that an import that misreads them cannot be right by chance.
"""

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.imports.marian.written import Arrays, Options, yaml_text

INT8, INTGEMM8, FLOAT32 = 0x0101, 0x4101, 0x0404
ALIGNMENT = 256
OPTIONS_ITEM = "special:model.yml"
OUTPUT_RANGE = "none_QuantMultA"
FIREFOX_SETTINGS: Mapping[str, Any] = {
    "beam-size": 1,
    "normalize": 1.0,
    "word-penalty": 0,
    "max-length-break": 128,
    "mini-batch-words": 1024,
    "workspace": 128,
    "max-length-factor": 2.0,
    "skip-cost": True,
    "cpu-threads": 0,
    "quiet": True,
    "quiet-translation": True,
    "alignment": "soft",
    "ssplit-mode": "sentence",
}
"""As Firefox gives them to the engine; but each line is one sentence."""
NUM_ALWAYS = 20
"""Number of first ids that are candidates of every source."""


@dataclass(frozen=True, slots=True)
class QuantisedWeight:
    """A weight as intgemm has it: the integers of [rows, columns], and what they were multiplied with."""

    integers: NDArray[np.int8]
    multiplier: np.float32


@dataclass(frozen=True, slots=True)
class WrittenItem:
    """An item as it goes to the file."""

    name: str
    type_number: int
    shape: tuple[int, ...]
    content: bytes


def is_rounded(name: str) -> bool:
    """Return whether Marian's converter rounds an array: by its name."""
    return "_W" in name[-3:] or "Wemb" in name


def round_weight(weight: NDArray[np.float32]) -> QuantisedWeight:
    multiplier = np.float32(127) / np.abs(weight).max()
    return QuantisedWeight(np.clip(np.rint(weight * multiplier), -127, 127).astype(np.int8), multiplier)


def items_of(
    arrays: Arrays, options: Options, ranges: Mapping[str, float] | None, *, has_integers: bool = True
) -> list[WrittenItem]:
    """Return the items of a model: rounded if `has_integers`; with multipliers of inputs if given."""
    items: list[WrittenItem] = []
    for name, array in sorted(arrays.items()):
        if has_integers and is_rounded(name):
            rounded = round_weight(array)
            integers = rounded.integers if "Wemb" in name else rounded.integers.T
            content = integers.tobytes() + struct.pack("<f", rounded.multiplier)
            items.append(WrittenItem(name, INTGEMM8, array.shape, padded(content)))
        else:
            items.append(WrittenItem(name, FLOAT32, array.shape, padded(array.astype("<f4").tobytes())))
    numbers = dict(ranges or {})
    if OUTPUT_RANGE in numbers:  # Marian reads another name without a shortlist
        table = next(name for name in ("Wemb", "decoder_Wemb") if name in arrays)
        numbers[f"{table}_QuantMultA"] = numbers[OUTPUT_RANGE]
    for name, number in numbers.items():
        items.append(WrittenItem(name, FLOAT32, (1, 1), padded(struct.pack("<f", number))))
    text = yaml_text(options).encode() + b"\0"
    return [*items, WrittenItem(OPTIONS_ITEM, INT8, (1, len(text)), text)]


def padded(content: bytes) -> bytes:
    """Add zeros up to the next multiple of Marian's alignment."""
    return content + bytes(-len(content) % ALIGNMENT)


def binary_model(items: Sequence[WrittenItem], version: int = 1) -> bytes:
    """Return a file of version 1."""
    parts = [struct.pack("<2Q", version, len(items))]
    names = [item.name.encode() + b"\0" for item in items]
    parts += [
        struct.pack("<4Q", len(name), item.type_number, len(item.shape), len(item.content))
        for name, item in zip(names, items, strict=True)
    ]
    parts += names
    parts += [struct.pack(f"<{len(item.shape)}i", *item.shape) for item in items]
    written = sum(map(len, parts)) + 8
    skipped = (written // ALIGNMENT + 1) * ALIGNMENT - written
    return b"".join([*parts, struct.pack("<Q", skipped), bytes(skipped), *(item.content for item in items)])


def binary_lexicon(lists: Sequence[Iterable[int]], num_always: int, most_listed: int = 50) -> bytes:
    """Return a binary shortlist with the list of each source piece."""
    ordered = [sorted(each) for each in lists]
    offsets = np.cumsum([0, *map(len, ordered)])
    listed = [index for each in ordered for index in each]
    body = struct.pack("<4Q", num_always, most_listed, len(offsets), len(listed))
    body += struct.pack(f"<{len(offsets)}Q", *offsets) + struct.pack(f"<{len(listed)}I", *listed)
    return struct.pack("<2Q", 0xF11A48D5013417F5, boost_hash(body)) + body


def boost_hash(content: bytes) -> int:
    """Return the hash of the whole 64-bit words, as `boost::hash_combine` with the identity."""
    seed = 0
    for (word,) in struct.iter_unpack("<Q", content[: len(content) // 8 * 8]):
        seed ^= (word + 0x9E3779B9 + (seed << 6) + (seed >> 2)) % 2**64
    return seed


def settings_text(model: str, vocabularies: Sequence[str], lexicon: str | None, precision: str) -> str:
    """Return a `config.yml` with the settings that Firefox uses."""
    settings: dict[str, Any] = {"relative-paths": True, "models": [model], "vocabs": list(vocabularies)}
    if lexicon is not None:
        settings["shortlist"] = [lexicon, False]
    return yaml_text({**settings, **FIREFOX_SETTINGS, "gemm-precision": precision})


def write_student(
    folder: Path,
    arrays: Arrays,
    options: Options,
    vocabularies: Mapping[str, bytes],
    ranges: Mapping[str, float] | None,
    lists: Sequence[Iterable[int]] | None = None,
    *,
    has_integers: bool = True,
) -> Path:
    """Write a folder as Firefox has it, and a `config.yml` for other engines next to it."""
    folder.mkdir(parents=True, exist_ok=True)
    model = "model.deen.intgemm.alphas.bin"
    items = items_of(arrays, options, ranges, has_integers=has_integers)
    (folder / model).write_bytes(binary_model(items))
    for name, content in vocabularies.items():
        (folder / name).write_bytes(content)
    lexicon = None if lists is None else "lex.50.50.deen.s2t.bin"
    if lists is not None and lexicon is not None:
        (folder / lexicon).write_bytes(binary_lexicon(lists, NUM_ALWAYS))
    names = [*vocabularies] * (3 - len(vocabularies))
    precision = "int8shiftAlphaAll" if ranges else "int8shiftAll" if has_integers else "float32"
    text = settings_text(model, names, lexicon, precision)
    (folder / "config.yml").write_text(text, encoding="utf8")
    return folder
