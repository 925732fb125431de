"""The tiny bundles, opened once, and copies of them that say something else."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dragoman import DecodingOptions, Translation, Translator
from dragoman.bundle import read_bundle
from export.bundle import write_manifest
from tests.paths import MODELS, TINY

FP32, INT8 = TINY / "bundle-fp32", TINY / "bundle-int8"
TIMEOUT_S = 60


def copy_with(folder: Path, bundle: Path = FP32, **changes: Any) -> Path:
    """Copy a tiny bundle, and give the copy another manifest."""
    shutil.copytree(bundle, folder)
    write_manifest(folder, replace(read_bundle(folder).manifest, **changes))
    return folder


def translate_all(translator: Translator, texts: list[str], options: DecodingOptions) -> list[Translation]:
    translations = [found for found in translator.translate(texts, options) if isinstance(found, Translation)]
    assert len(translations) == len(texts)
    return translations


@pytest.fixture(scope="session")
def tiny() -> Translator:
    return Translator.open(FP32)


@pytest.fixture(scope="session")
def tiny_int8() -> Translator:
    return Translator.open(INT8)


@pytest.fixture(scope="session")
def pairs() -> list[tuple[str, str]]:
    """Sentences that the tiny model knows by heart, with their translations."""
    lines = (TINY / "pairs.tsv").read_text(encoding="utf8").splitlines()
    return [(source, target) for source, target in (line.split("\t") for line in lines)]


@pytest.fixture(scope="session")
def de_en() -> Iterator[Translator]:
    with Translator.open(MODELS / "de-en", replicas=1) as translator:
        yield translator


@pytest.fixture(scope="session")
def en_de() -> Iterator[Translator]:
    with Translator.open(MODELS / "en-de", replicas=1) as translator:
        yield translator
