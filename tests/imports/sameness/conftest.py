"""Small models of every kind that is imported, taught a little, beside the bundles made of them."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from transformers import logging

from dragoman import Translator
from dragoman.pipeline.preparation import Preparer
from dragoman.reading.reader import Reader
from dragoman.types import Pair
from export import huggingface
from export.original import RequestedLanguages
from tests.examples import FEW, FEWEST
from tests.imports.huggingface import make_models, make_t5
from tests.imports.sameness.exported import (
    LIMITS,
    Both,
    Lesson,
    export,
    load_tokenizers,
    silence_start,
    teach,
)

logging.set_verbosity_error()
FEW_INPUTS, FEW_TOKENS, SHORT = 32, 8, Lesson(60, 8e-3)
MANY_INPUTS, MANY_TOKENS, LONG = 200, 40, Lesson(150, 3e-3)
"""Sources, the short ones first, how long a target may be, which cuts some of them, and a lesson."""


CASES: dict[str, tuple[Callable[[Path], Any], Pair]] = {
    "marian": (make_models.write_marian, Pair("de", "en")),
    "marian-separate": (partial(make_models.write_marian, is_separate=True), Pair("de", "en")),
    "marian-targets": (partial(make_models.write_marian, targets=("deu", "fra")), Pair("de", "fr")),
    "m2m": (make_models.write_m2m, Pair("de", "en")),
    "nllb": (make_models.write_nllb, Pair("de", "zh-Hans")),
    "mbart": (make_models.write_mbart, Pair("de", "en")),
    "t5": (make_t5.write_t5, Pair("de", "en")),
    "t5-v1.1": (partial(make_t5.write_t5, config=make_t5.GATED, is_untied=True), Pair("de", "en")),
    "madlad": (
        partial(make_t5.write_t5, config=make_t5.MADLAD, is_untied=True, tags=make_t5.MADLAD_TAGS),
        Pair("de", "en"),
    ),
    "ul2": (partial(make_t5.write_t5, config=make_t5.UL2), Pair("de", "en")),
    "umt5": (partial(make_t5.write_t5, kind="umt5"), Pair("de", "en")),
    "mbart-50": (partial(make_models.write_mbart, is_50=True), Pair("de", "en")),
}
"""Writers of each class of models, and a pair to try."""
ONE_OF_EACH = ("marian-targets", "nllb", "mbart-50", "t5-v1.1")
"""Kinds of models; `make test-commands` tries all classes."""


LITTLE = [
    pytest.param((name, FEW_INPUTS, FEW_TOKENS, SHORT), id=name)
    for name in (CASES if FEW > FEWEST else ONE_OF_EACH)
]
MUCH = [
    pytest.param((name, MANY_INPUTS, MANY_TOKENS, LONG), id=f"{name}-{MANY_INPUTS}", marks=pytest.mark.slow)
    for name in CASES
]


@pytest.fixture(scope="session", params=LITTLE + MUCH)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    name, num_inputs, max_tokens, lesson = request.param
    write, named = CASES[name]
    folder = tmp_path_factory.mktemp(name)
    untaught = write(folder / "original")
    original = huggingface.load(folder / "original", RequestedLanguages())
    pair = original.languages.pair(*named)
    tokenizers = load_tokenizers(original, folder)
    preparer = Preparer(original.languages, LIMITS, Reader(tokenizers[0]))
    lines = (make_models.german() * 2)[:num_inputs]
    sources = preparer.encode(lines, pair)
    targets = tokenizers[1].encode((make_models.english() * 2)[:num_inputs])
    silence_start(untaught)
    teach(untaught, list(zip(sources, targets, strict=True)), preparer.begin(pair), lesson)
    silence_start(untaught)
    untaught.save_pretrained(folder / "original")
    exported = export(folder / "original", folder / "bundle")
    with Translator.open(exported.bundle, replicas=1) as translator:
        yield Both(untaught.eval(), exported, translator, pair, sources, max_tokens)
