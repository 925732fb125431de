"""A bundle folder made by hand: any bytes will do for its files, the manifest vouches for them."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from dragoman.contract import FORMAT_VERSION
from dragoman.errors import BundleError
from dragoman.manifest_json import parse_manifest

FILES = {
    "encoder.onnx": b"encoder",
    "decoder.onnx": b"decoder!",
    "source.spm": b"pieces",
    "target.spm": b"p",
    "target.vocab.json": b"[]",
}
TERMS = {"begin": 4, "translation": 5, "end": 6}
FORMALITY = {"formal": 7, "informal": 8, "targets": ["en"]}


def good_manifest() -> dict[str, Any]:
    return {
        "format_version": FORMAT_VERSION,
        "name": "tiny",
        "languages": {
            "sources": {
                "de": {"names": ["deu_Latn"], "before": [7], "after": [3]},
                "zh-Hans": {"names": [], "before": [8], "after": [3, 9]},
            },
            "targets": {"en": {"names": [], "source_before": [5], "begin": [2, 6]}},
        },
        "precision": "fp32",
        "cache_dtype": "float32",
        "autoregression": "attention",
        "sizes": {"decoder_layers": 2, "heads": 4, "head_size": 8, "source_vocab": 300, "target_vocab": 400},
        "special_ids": {"pad": 0, "unk": 1, "eos": 3},
        "limits": {"max_source_tokens": 64, "max_target_tokens": 96},
        "source_tokenizer": {"model": "source.spm", "vocabulary": None, "normalises": True},
        "target_tokenizer": {"model": "target.spm", "vocabulary": "target.vocab.json", "normalises": False},
        "decoding": {"beam_size": 5, "length_penalty": 0.6, "early_stopping": True},
        "alignment": {"layer": 1, "heads": [3, 0], "step": "saying"},
        "files": {
            name: {"sha256": hashlib.sha256(content).hexdigest(), "size_bytes": len(content)}
            for name, content in FILES.items()
        },
        "licence": "CC0-1.0",
        "origin": {"steps": 1000, "data": ["one", "two"]},
        "scores": {"flores": {"bleu": 31.5}},
    }


def problems_of(manifest: object) -> tuple[str, ...]:
    """Why a manifest is refused."""
    with pytest.raises(BundleError) as caught:
        parse_manifest(manifest, "de-en")
    assert caught.value.bundle == "de-en"
    return caught.value.problems


def write_manifest(folder: Path, manifest: object) -> None:
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


@pytest.fixture
def manifest() -> dict[str, Any]:
    return good_manifest()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A good bundle, for tests to damage."""
    folder = tmp_path / "de-en"
    folder.mkdir()
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    write_manifest(folder, good_manifest())
    return folder
