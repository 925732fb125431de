"""What cannot be imported is rejected by file and item, and a damaged file before anything is allocated."""

import os
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from export.bergamot.binary import MAX_ITEMS, read_items
from export.bergamot.lexicon import MAX_BYTES, read_lexicon
from export.bergamot.weights import read_weights
from export.sources import load_original
from export.tensors.tensor import TensorFileError
from tests.imports.bergamot.student_files import (
    FLOAT32,
    INTGEMM8,
    WrittenItem,
    binary_lexicon,
    binary_model,
    boost_hash,
    items_of,
)
from tests.imports.bergamot.students import Student
from tests.imports.export.rejections import ANY, message_of, rejection_of

MODEL = "model.deen.intgemm.alphas.bin"
LEXICON = "lex.50.50.deen.s2t.bin"
QUERY = "encoder_l1_self_Wq"
ONE = WrittenItem("a_W", INTGEMM8, (2, 4), bytes(8) + struct.pack("<f", 2.0))
BIAS = WrittenItem("a_b", FLOAT32, (1, 2), bytes(8))


def patched(content: bytes, place: int, number: int, kind: str = "<Q") -> bytes:
    changed = bytearray(content)
    struct.pack_into(kind, changed, place, number)
    return bytes(changed)


def one_item(name: str = ONE.name, shape: tuple[int, ...] = ONE.shape, content: bytes = ONE.content) -> bytes:
    return binary_model([WrittenItem(name, INTGEMM8, shape, content)])


def read_both(path: Path) -> Mapping[str, NDArray[Any]]:
    """Return the weights in a file."""
    return read_weights(read_items(path))[0]


GOOD = binary_model([ONE, BIAS])
HEADER, NAMES = 16, 16 + 2 * 32
SHAPES = NAMES + 8


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "ends at byte 0, inside the version"),
        (patched(GOOD, 0, 2), "version 2 is not supported, only 1 is"),
        (patched(GOOD, 8, MAX_ITEMS + 1), f"has {MAX_ITEMS + 1} items; the limit is {MAX_ITEMS}"),
        (patched(GOOD, 8, 2**64 - 1), "has 18446744073709551615 items"),
        (patched(GOOD, 8, 60_000), "inside the headers of the items: 1920000 bytes are needed at 16"),
        (patched(GOOD, HEADER, 1), "the name of item 0 has 1 bytes, not between 2 and 512"),
        (patched(GOOD, HEADER, 2**63), "the name of item 0 has 9223372036854775808 bytes"),
        (patched(GOOD, HEADER, 3), r"the name of item 0, b'a_W', is not a text with a final zero byte"),
        (patched(GOOD, NAMES + 1, 0, "<B"), "the name of item 0, b'a\\x00W\\x00', is not a text"),
        (patched(GOOD, NAMES, 0xFF, "<B"), "the name of item 0 is not UTF-8"),
        (patched(GOOD, NAMES + 6, ord("W"), "<B"), "a_W occurs twice"),
        (patched(GOOD, HEADER + 8, 0x2801), "a_W is packed8avx512; supported are int8, float32"),
        (patched(GOOD, HEADER + 8, 0x4102), "a_W is intgemm16; supported are"),
        (patched(GOOD, HEADER + 8, 0x9999), "a_W is of unknown type 0x9999"),
        (patched(GOOD, HEADER + 16, 5), "a_W has 5 axes; the limit is 4"),
        (patched(GOOD, HEADER + 16, 2**62), "a_W has 4611686018427387904 axes"),
        (patched(GOOD, SHAPES, -2, "<i"), "a_W has shape [-2, 4]; sizes must be above 0"),
        (patched(GOOD, SHAPES, 2**31 - 1, "<i"), "a_W declares 12 bytes, but intgemm8 [2147483647, 4] needs"),
        (patched(GOOD, HEADER + 24, 2**60), "a_W declares 1152921504606846976 bytes"),
        (patched(GOOD, HEADER + 24, 200), "inside the content of a_W: 200 bytes are needed"),
        (patched(GOOD, SHAPES + 16, 2**40), "skips 1099511627776 bytes before the contents"),
        (GOOD[:-1], "inside the content of a_b: 8 bytes are needed"),
        (GOOD + b"\0", "1 bytes follow after the last item"),
        (one_item(content=bytes(8) + struct.pack("<f", 0)), "a_W has the multiplier 0.0, not a number above"),
        (one_item(content=bytes(8) + struct.pack("<f", float("nan"))), "a_W has the multiplier nan"),
        (one_item(shape=(8,)), "a_W of shape [8] is intgemm8; only tables and the matrices of linear"),
        (one_item(name="a_b"), "a_b of shape [2, 4] is intgemm8; only tables and the matrices of linear"),
        (one_item(name="decoder_ff_logit_out_Wt"), "decoder_ff_logit_out_Wt is intgemm8; only an output"),
    ],
)
def test_a_damaged_index_or_weight_is_rejected_by_item(content: bytes, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(content)

    problem = message_of(TensorFileError, read_both, path)

    assert problem.startswith("model.bin: ")
    assert expected in problem


@given(place=st.integers(0, len(GOOD) - 1), byte=st.integers(0, 255), length=st.integers(0, len(GOOD)))
def test_any_changed_byte_gives_a_clear_error_or_a_model(
    place: int, byte: int, length: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("changed") / "model.bin"
    path.write_bytes(patched(GOOD, place, byte, "<B")[: max(length, place)])
    with suppress(TensorFileError):  # any other error is one of ours
        assert sum(array.size for array in read_both(path).values()) <= len(GOOD)


def rehashed(content: bytes) -> bytes:
    return patched(content, 8, boost_hash(content[16:]))


LISTS = binary_lexicon([[1, 2], [], [5]], 4)
OFFSETS = 48


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"short", "has 5 bytes, fewer than the 48 of its header"),
        (patched(LISTS, 0, 1), "is not a binary shortlist of Marian's"),
        (patched(LISTS, 24, 49), "has another checksum than its header says"),
        (rehashed(patched(LISTS, 32, 2**61)), "but its header needs"),
        (rehashed(patched(LISTS, 40, 2**62)), "but its header needs"),
        (LISTS[:-1], "but its header needs"),
        (rehashed(patched(LISTS, OFFSETS, 1)), "offsets that do not run from 0 to its 3 listed ids"),
        (rehashed(patched(LISTS, OFFSETS + 24, 2)), "offsets that do not run from 0 to its 3 listed ids"),
        (rehashed(patched(LISTS, OFFSETS + 8, 2**63)), "has offsets that do not ascend"),
    ],
)
def test_a_damaged_lexicon_is_rejected(content: bytes, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "lex.bin"
    path.write_bytes(content)

    problem = message_of(ValueError, read_lexicon, path)

    assert problem.startswith(("has ", "is "))
    assert expected in problem


@given(place=st.integers(8, len(LISTS) - 1), byte=st.integers(0, 255))
def test_any_changed_byte_of_a_lexicon_is_noticed(
    place: int, byte: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("changed") / "lex.bin"
    changed = patched(LISTS, place, byte, "<B")
    path.write_bytes(changed)
    is_covered = place < 16 + (len(LISTS) - 16) // 8 * 8  # the hash is of whole words
    if is_covered and changed != LISTS:
        with pytest.raises(ValueError, match="has "):
            read_lexicon(path)
    else:
        read_lexicon(path)


Change = Callable[[Student], object]


def _with_items(
    arrays: Callable[[str], str] = str, options: Mapping[str, object] | None = None, query_range: float = 1.0
) -> Change:
    """Other names of arrays, other options, or another range of the query; that of 0 is left out."""

    def change(student: Student) -> None:
        ranges = {**student.ranges, f"{QUERY}_QuantMultA": query_range}
        kept = {name: number for name, number in ranges.items() if number}
        named = {arrays(name): array for name, array in student.arrays.items()}
        items = items_of(named, {**student.options, **(options or {})}, kept)
        (student.folder / MODEL).write_bytes(binary_model(items))

    return change


def _norms_before(name: str) -> str:
    return f"{name}_pre".replace("rnn_ffn_ln", "rnn_ln") if "_ln_" in name else name


def _with_file(name: str, content: bytes, settings: str | None = "") -> Change:
    """One more file or another one, and lines more of settings; None: no settings."""

    def change(student: Student) -> None:
        (student.folder / name).write_bytes(content)
        path = student.folder / "config.yml"
        if settings is None:
            path.unlink()
        else:
            path.write_text(path.read_text(encoding="utf8") + settings, encoding="utf8")

    return change


_with_config = partial(_with_file, "other.bin", GOOD)
_with_lexicon = partial(_with_file, LEXICON)


def _with_two_configs(student: Student) -> None:
    (student.folder / "decoder.yml").write_bytes((student.folder / "config.yml").read_bytes())


def _with_model_outside(student: Student) -> None:
    (student.folder / MODEL).rename(student.folder.parent / "secret.bin")
    _with_config("\nmodels: [../secret.bin]\n")(student)


def _with_size(name: str, size_bytes: int) -> Change:
    return lambda student: os.truncate(student.folder / name, size_bytes)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (_with_items(query_range=0.0), f"{MODEL}: item {QUERY}_QuantMultA is missing"),
        (
            _with_items(query_range=-1.0),
            f"{MODEL}: item {QUERY}_QuantMultA is float32 [1, 1], not a float32 above 0",
        ),
        (_with_items(options={"dec-cell": "gru"}), "dec-cell 'gru' is not supported, only 'ssru' is"),
        (
            _with_items(_norms_before, {"transformer-preprocess": "n", "transformer-postprocess": "da"}),
            "transformer-preprocess 'n' with transformer-postprocess 'a' is not supported",
        ),
        (_with_size(MODEL, 5000), f"{MODEL}: ends at byte"),
        (_with_config(None), f"{MODEL}, other.bin are all models; keep one"),
        (_with_two_configs, "config.yml, decoder.yml are all settings; keep one"),
        (
            _with_config(f"\nmodels: [{MODEL}, other.bin]\n"),
            f"{MODEL}, other.bin are an ensemble, which is not supported",
        ),
        (
            _with_file("other.bin", b"another kind", "\nmodels: [other.bin]\n"),
            "other.bin is not a binary model of Marian's, version 1",
        ),
        (_with_file("lex.bin", LISTS, None), f"{LEXICON}, lex.bin are all shortlists; keep one"),
        (_with_size(LEXICON, MAX_BYTES + 1), f"{LEXICON} has 1073741825 bytes; the limit is 1073741824"),
        (
            _with_config("\nvocabs: [vocab.deen.spm, a.spm, b.spm]\n"),
            "3 vocabularies found; only models with 2",
        ),
        (_with_config(f"\n# {'x' * 2**20}\n"), "config.yml has more than 1048576 bytes"),
        (_with_config("\nbeam-size: 4\n"), "skip-cost True is not supported"),
        (_with_config("\nmodels: [gone.bin]\n"), "config.yml: no file in models exists"),
        (_with_config("\nmodels: [a.bin, b.bin]\n"), "config.yml: no file in models exists"),
        (_with_config("\nvocabs: [vocab.yml, vocab.yml]\n"), "vocabulary vocab.yml: only .spm is supported"),
        (_with_config("\nvocabs: [gone.spm]\n"), "vocabulary gone.spm not found"),
        (_with_config("\nshortlist: [gone.bin]\n"), "shortlist gone.bin not found"),
        (_with_config("\nmodels: [*a]\n"), "config.yml"),
        (_with_lexicon(LISTS[:-1]), f"{LEXICON} has 91 bytes, but its header needs 92"),
        (_with_lexicon(binary_lexicon([[256]], 4)), f"{LEXICON} lists ids 256 to 256"),
        (_with_lexicon(binary_lexicon([[]] * 300, 4)), f"{LEXICON} has lists of 300 pieces"),
        (_with_model_outside, "config.yml: no file in models exists"),
    ],
)
def test_a_student_that_cannot_be_imported_names_file_and_item(
    change: Change, expected: str, student: Student
) -> None:
    change(student)

    assert expected in rejection_of(student.folder, ANY)


def test_a_shortlist_in_text_is_not_used_and_recorded(student: Student) -> None:
    (student.folder / LEXICON).write_text("Haus house 0.9\n", encoding="utf8")

    original = load_original(student.folder, ANY)

    assert original.shortlist is None
    assert "shortlist" in original.origin["decoder_options_not_used"]
