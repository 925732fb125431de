"""Small models of every kind that is imported, taught a little, beside the bundles made of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from transformers import logging

from dragoman import Translator
from dragoman.pipeline.preparation import Preparer
from dragoman.types import Pair
from export import huggingface
from export.original import RequestedLanguages
from tests.huggingface import make_models
from tests.sameness.exported import LIMITS, Both, export, load_tokenizers, silence_start, teach

logging.set_verbosity_error()
NUM_INPUTS = 200


@dataclass(frozen=True)
class Case:
    """A class of models, and a pair to try."""

    write: Callable[[Path], Any]
    pair: Pair


CASES = {
    "marian": Case(make_models.write_marian, Pair("de", "en")),
    "marian-separate": Case(
        lambda folder: make_models.write_marian(folder, is_separate=True), Pair("de", "en")
    ),
    "marian-targets": Case(
        lambda folder: make_models.write_marian(folder, targets=("deu", "fra")), Pair("de", "fr")
    ),
    "m2m": Case(make_models.write_m2m, Pair("de", "en")),
    "nllb": Case(make_models.write_nllb, Pair("de", "zh-Hans")),
    "mbart": Case(make_models.write_mbart, Pair("de", "en")),
    "mbart-50": Case(lambda folder: make_models.write_mbart(folder, is_50=True), Pair("de", "en")),
}


@pytest.fixture(scope="session", params=CASES, ids=list(CASES))
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    case = CASES[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    untaught = case.write(folder / "original")
    original = huggingface.load(folder / "original", RequestedLanguages())
    pair = original.languages.pair(*case.pair)
    tokenizers = load_tokenizers(original, folder)
    preparer = Preparer(original.languages, LIMITS, tokenizers[0])
    lines = (make_models.german() * 2)[:NUM_INPUTS]
    sources = preparer.encode(lines, pair)
    targets = tokenizers[1].encode((make_models.english() * 2)[:NUM_INPUTS])
    silence_start(untaught)
    teach(untaught, list(zip(sources, targets, strict=True)), preparer.begin(pair))
    silence_start(untaught)
    untaught.save_pretrained(folder / "original")
    exported = export(folder / "original", folder / "bundle")
    with Translator.open(exported.bundle, replicas=1) as translator:
        yield Both(untaught.eval(), exported, translator, pair, sources)
