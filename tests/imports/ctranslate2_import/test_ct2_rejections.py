"""What cannot be imported is rejected by file and name, and a damaged file before anything is allocated."""

import json
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from export.ctranslate2 import vocabulary
from export.ctranslate2.binary import MAX_ATTRIBUTE_BYTES, MAX_VARIABLES, read_model_file
from export.original import RequestedLanguages
from export.sources import load_original
from export.tensors.tensor import TensorFileError
from tests.imports.ctranslate2_import.ct2_written import (
    NLLB_LANGUAGES,
    SPECIAL,
    WIDTH,
    Arrays,
    Ct2Variant,
    arrays_of,
    save_binary,
    sentencepiece_model,
    source_table,
    text,
    write_ct2_folder,
)
from tests.imports.export.rejections import ANY, GERMAN_TO_ENGLISH, message_of, rejection_of

Write = Callable[[Path], object]
PLAIN = Ct2Variant(is_shared=False)
QUERY = "encoder/layer_0/self_attention"
OUTPUT = f"{QUERY}/linear_1"
NO_SCALE = f"{OUTPUT}/weight has a scale that is not a number above 0"


def scaled(count: int, scale: float) -> dict[str, Any]:
    """A quantised weight with so many scales."""
    integers = np.zeros((WIDTH, WIDTH), np.int8)
    return {f"{OUTPUT}/weight": integers, f"{OUTPUT}/weight_scale": np.full(count, scale, np.float32)}


ZEROS = np.zeros((4, WIDTH), np.float32)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({f"{QUERY}/relative_position_keys": ZEROS}, "relative_position_keys: relative positions are not"),
        ({f"{QUERY}/relative_attention_bias": ZEROS}, "relative_attention_bias: relative positions are not"),
        ({f"{QUERY}/rotary_dim": np.int32(8)}, "rotary_dim: rotary positions are not supported"),
        ({"encoder/layer_0/ffn/linear_0_noact/weight": ZEROS}, "gated feed-forward layers are not supported"),
        ({"encoder/embeddings_1/weight": ZEROS}, "embeddings_1/weight: source features are not supported"),
        ({f"{QUERY}/num_heads_kv": np.int32(1)}, "attention with fewer keys than queries is not supported"),
        ({"decoder/extra": ZEROS}, "decoder/extra is not supported"),
        ({"decoder/alibi": np.int8(1)}, "alibi is on, which is not supported"),
        ({"decoder/activation": np.int8(2)}, "encoder/activation is 0, decoder/activation is 2"),
        ({"encoder/activation": np.int8(5), "decoder/activation": np.int8(5)}, "activation 5 is not"),
        ({"encoder/num_heads": np.int16(5), "decoder/num_heads": np.int16(5)}, "num_heads 5 does not divide"),
        ({"encoder/num_heads": ZEROS}, "encoder/num_heads has shape [4, 32], not one number"),
        ({"encoder/num_heads": np.float32(np.nan)}, "encoder/num_heads is nan, not a number"),
        ({"encoder/num_heads": np.float32(4.5)}, "encoder/num_heads is 4.5, not a whole number"),
        ({"decoder/alignment_layer": np.float32(np.inf)}, "decoder/alignment_layer is inf, not a number"),
        ({f"encoder/layer_{'9' * 400}/a": ZEROS}, "99/a is not supported"),
        ({"encoder/scale_embeddings": np.float32(3)}, "encoder/scale_embeddings is 3; only 1 and the root"),
        ({"encoder/scale_embeddings": np.int8(0)}, "scale_embeddings differ; they must be equal"),
        ({"decoder/alignment_layer": np.int16(2)}, "alignment_layer is 2, but the decoder has 2 layers"),
        ({"decoder/alignment_layer": np.int16(-3)}, "alignment_layer is -3, but the decoder has 2 layers"),
        ({"decoder/alignment_heads": np.int16(5)}, "alignment_heads is 5, but the model has 4 heads"),
        ({f"{QUERY}/queries_scale": np.float32(1)}, "queries_scale is 1; only 0.353553, for heads of 8"),
        ({"encoder/layer_norm/gamma": None}, "only the decoder has layer_norm/gamma"),
        ({"encoder/layer_norm/beta": None}, "encoder/layer_norm/beta is missing"),
        ({f"{QUERY}/linear_0/weight": ZEROS}, "linear_0/weight has shape [4, 32], the other sizes need [96"),
        ({f"{QUERY}/linear_1/weight": ZEROS.astype(np.int32)}, "linear_1/weight has shape"),
        ({f"{QUERY}/linear_1/weight": np.zeros((WIDTH, WIDTH), np.int8)}, "is int8, but has no scales"),
        ({f"{QUERY}/linear_1/weight": np.zeros((WIDTH, WIDTH), np.int32)}, "is int32; weights are floats"),
        ({"encoder/layer_1/ffn/linear_1/weight": None}, "encoder/layer_1/ffn/linear_1/weight is missing"),
        ({"decoder/projection/weight": None}, "decoder/projection/weight is missing"),
        ({"decoder/projection/weight": ZEROS}, "decoder/projection/weight [4, 32] do not fit: one width"),
        ({"encoder/embeddings_0/weight": ZEROS[:, :8]}, "encoder/embeddings_0/weight [4, 8], decoder/emb"),
        ({"decoder/embeddings/weight": ZEROS[0]}, "decoder/embeddings/weight has shape [32]; a table has"),
        ({"decoder/projection/bias": ZEROS[0]}, "decoder/projection/bias is float32 [32]; 144 floats are"),
        (
            {"encoder/position_encodings/encodings": ZEROS},
            "only the encoder has position_encodings/encodings",
        ),
        (
            {f"{stack}/position_encodings/encodings": ZEROS[:, :4] for stack in ("encoder", "decoder")},
            "encodings is float32 [4, 4]; floats for a width of 32 are needed",
        ),
        ({"encoder/layer_3/ffn/linear_0/weight": ZEROS}, "encoder layers are numbered [0, 1, 3]"),
        *((scaled(WIDTH, scale), NO_SCALE) for scale in (0.0, -1.0, np.nan, np.inf)),
        (scaled(3, 1.0), f"{OUTPUT}/weight has 3 scales of type float32; 32 floats"),
    ],
)
def test_an_unsupported_variable_is_rejected_by_name(
    changes: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    """None stands for one that is missing."""
    write_ct2_folder(tmp_path, PLAIN)
    arrays: dict[str, Any] = {**arrays_of(PLAIN), **changes}
    kept: Arrays = {name: np.asarray(array) for name, array in arrays.items() if array is not None}
    save_binary(tmp_path / "model.bin", kept, {}, PLAIN)

    problem = rejection_of(tmp_path)

    assert "model.bin: " in problem
    assert expected in problem


def _variant(variant: Ct2Variant) -> Write:
    return lambda folder: write_ct2_folder(folder, variant)


def _settings(changes: dict[str, object]) -> Write:
    return _variant(replace(PLAIN, settings=changes))


def _with(name: str, content: str | None) -> Write:
    """A file of that content; None: without it."""

    def write(folder: Path) -> None:
        write_ct2_folder(folder, PLAIN)
        if content is None:
            (folder / name).unlink()
        else:
            (folder / name).write_text(content, encoding="utf8")

    return write


def _with_tokenizers(*names: str) -> Write:
    def write(folder: Path) -> None:
        write_ct2_folder(folder, Ct2Variant(), has_tokenizers=False)
        for name in names:
            (folder / name).write_bytes(sentencepiece_model("de"))

    return write


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (
            _variant(replace(PLAIN, layout="WhisperSpec")),
            "'WhisperSpec' of revision 7 is not supported, only Transformer",
        ),
        (_variant(replace(PLAIN, revision=8)), "'TransformerSpec' of revision 8 is not supported"),
        (_variant(replace(PLAIN, version=7)), "model.bin: version 7 is not supported, only 2 to 6"),
        (_settings({"multi_query_attention": True}), "config.json: multi_query_attention is on"),
        (_settings({"layer_norm_epsilon": -1}), "config.json: layer_norm_epsilon is -1"),
        (_settings({"add_source_eos": "yes"}), "config.json: add_source_eos is 'yes', not true"),
        (_settings({"eos_token": "</end>"}), "does not have '</end>', the eos_token"),
        (_settings({"decoder_start_token": "<x>"}), "target_vocabulary.json does not have '<x>'"),
        (_settings({"decoder_start_token": None}), "no decoder_start_token is set"),
        (
            _settings({"add_source_bos": True, "bos_token": "<x>"}),
            "source_vocabulary.json does not have '<x>', the bos_token",
        ),
        (
            _variant(replace(PLAIN, version=5, settings={"eos_token": "e" * (MAX_ATTRIBUTE_BYTES + 1)})),
            "model.bin: eos_token is not a text of at most 4096 bytes",
        ),
        (
            _variant(replace(PLAIN, version=5, settings={"eos_token": -1})),
            "model.bin: eos_token is not UTF-8",
        ),
        (
            _with("target_vocabulary.json", None),
            "neither shared_vocabulary nor target_vocabulary (.json or .txt)",
        ),
        (_with("source_vocabulary.json", "{"), "source_vocabulary.json is not JSON in UTF-8"),
        (_with("source_vocabulary.json", '{"a": 0}'), "source_vocabulary.json is not a list of texts"),
        (
            _with("target_vocabulary.json", '["<unk>"]'),
            "target_vocabulary.json has 1 tokens, but its table 144",
        ),
        (_with("config.json", None), "config.json cannot be read"),
        (_with("source.spm", None), "source.spm is missing; of source.spm and target.spm, both are needed"),
        (_with("source.spm", "x"), "source.spm is not a SentencePiece model"),
        (_with("bpe.model", "x"), "bpe.model: subwords of Moses' tokenizer are not supported"),
        (
            _with("model.safetensors", ""),
            "contains a Hugging Face folder (config.json) and a CTranslate2 model",
        ),
        (
            _with("target_vocabulary.json", json.dumps([*SPECIAL, *("#" * n for n in range(1, 141))])),
            "target.spm has no piece of target_vocabulary.json",
        ),
        (_with_tokenizers(), "has no SentencePiece model; put one there as sentencepiece.model"),
        (
            _with_tokenizers("second.model", "sentencepiece.model"),
            "second.model, sentencepiece.model are all SentencePiece models; put one there as",
        ),
    ],
)
def test_unsupported_settings_and_damaged_files_are_rejected_by_name(
    write: Write, expected: str, tmp_path: Path
) -> None:
    write(tmp_path)

    assert expected in rejection_of(tmp_path)


@pytest.mark.parametrize(
    ("variant", "wanted", "expected"),
    [
        (PLAIN, ANY, "no file names its source language; give --source-lang"),
        (
            Ct2Variant(languages=NLLB_LANGUAGES),
            RequestedLanguages(("de",), ("fr",)),
            "fr is not one of its target languages",
        ),
    ],
)
def test_languages_that_are_missing_or_that_the_model_lacks_are_rejected(
    variant: Ct2Variant, wanted: RequestedLanguages, expected: str, tmp_path: Path
) -> None:
    assert expected in rejection_of(write_ct2_folder(tmp_path, variant), wanted)


def test_a_vocabulary_beyond_the_limit_is_rejected_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vocabulary, "MAX_VOCABULARY_BYTES", 100)

    assert "source_vocabulary.json has more than 100 bytes" in rejection_of(write_ct2_folder(tmp_path, PLAIN))


SMALL = b"".join(
    [
        struct.pack("<I", 6) + text("TransformerSpec") + struct.pack("<II", 7, 2),
        text("a") + struct.pack("<BIIBI", 2, 2, 3, 0, 24) + bytes(24),
        text("b") + struct.pack("<BBI", 0, 1, 1) + b"\x01",
        struct.pack("<I", 1) + text("c") + text("a"),
    ]
)
"""A file with two variables and an alias."""


def written(folder: Path, content: bytes) -> Path:
    path = folder / "model.bin"
    path.write_bytes(content)
    return path


def test_a_small_file_is_read(tmp_path: Path) -> None:
    file = read_model_file(written(tmp_path, SMALL))

    assert {name: tensor.shape for name, tensor in file.variables.items()} == {
        "a": (2, 3),
        "b": (),
        "c": (2, 3),
    }
    assert file.number("b") == 1


def test_a_file_that_ends_too_early_is_rejected(tmp_path: Path) -> None:
    for length in range(len(SMALL)):
        path = written(tmp_path, SMALL[:length])
        assert message_of(TensorFileError, read_model_file, path).startswith("model.bin: ")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(position=st.integers(0, len(SMALL) - 1), value=st.integers(0, 255))
def test_a_file_with_a_wrong_byte_is_read_or_rejected(position: int, value: int, tmp_path: Path) -> None:
    content = bytearray(SMALL)
    content[position] = value
    try:
        file = read_model_file(written(tmp_path, bytes(content)))
    except TensorFileError:
        return
    assert all(tensor.offset_bytes + tensor.size_bytes <= len(SMALL) for tensor in file.variables.values())


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            struct.pack("<II", 7, 2),
            struct.pack("<II", 7, MAX_VARIABLES + 1),
            "variables; the limit is 131072",
        ),
        (struct.pack("<BII", 2, 2, 3), struct.pack("<BII", 5, 2, 3), "a has 5 axes; the limit is 4"),
        (
            struct.pack("<BI", 0, 24),
            struct.pack("<BI", 0, 28),
            "a declares 28 bytes, but float32 [2, 3] has 24",
        ),
        (struct.pack("<IIB", 2, 3, 0), struct.pack("<IIB", 2, 3, 9), "a has elements of unknown type 9"),
        (
            struct.pack("<IIB", 2, 3, 0),
            struct.pack("<IIB", 2**31, 2**31, 0),
            "a declares 24 bytes, but float32",
        ),
        (text("b"), text("a"), "variable 'a' occurs twice"),
        (text("c") + text("a"), text("c") + text("d"), "alias 'c' names 'd', which is missing"),
        (text("c") + text("a"), text("b") + text("a"), "alias 'b' is the name of a variable, too"),
        (text("c") + text("a"), text("c") + text("a") + b"12", "2 bytes follow after the last alias"),
        (text("b"), struct.pack("<H", 2) + b"\xff\0", "the name of variable 1 is not UTF-8"),
        (text("b"), text("\x1b[31mb"), "the name of variable 1, '\\x1b[31mb', has control characters"),
        (text("b"), text("b" * 512), "the name of variable 1 has 513 bytes; the limit is 512"),
        (
            struct.pack("<BIIBI", 2, 2, 3, 0, 24),
            struct.pack("<BIIBI", 2, 2**15, 2**15, 1, 2**30),  # which is not allocated
            "inside the content of a: 1073741824 bytes are needed at",
        ),
    ],
)
def test_wrong_numbers_in_a_file_are_rejected_by_name(
    old: bytes, new: bytes, expected: str, tmp_path: Path
) -> None:
    assert SMALL.count(old) == 1

    problem = message_of(TensorFileError, read_model_file, written(tmp_path, SMALL.replace(old, new)))

    assert problem.startswith("model.bin: ")
    assert expected in problem


def test_the_table_of_an_older_layout_is_found(tmp_path: Path) -> None:
    variant = Ct2Variant(version=4, revision=3)

    assert source_table(variant) == "encoder/embeddings/weight"
    assert load_original(write_ct2_folder(tmp_path, variant), GERMAN_TO_ENGLISH).model.config.heads == 4
