"""Facts of the engine that a job records, and that a node of a cluster must have too."""

import pytest

from dragoman import Pair, Router, TranslatorOptions
from dragoman.native.library import best_kernels
from dragoman.providers import Kernels
from service.batch.errors import EngineDiffers
from service.batch.run import translator_facts
from service.cluster.engines import RoutedEngine
from service.translation.options import BATCH
from tests.service.conftest import TINY_BUNDLE

PAIR = Pair("de", "en")
MODELS = {"tiny": TINY_BUNDLE}
needs_kernels = pytest.mark.skipif(
    not best_kernels(), reason="the kernels are not built, or not for this CPU"
)


def facts(translators: TranslatorOptions) -> dict[str, str]:
    with Router.open(MODELS, translators=translators) as router:
        return translator_facts(router, [PAIR], BATCH, translators)


@needs_kernels
@pytest.mark.parametrize(
    ("one", "other", "differing"), [("auto", "native", set()), ("auto", "onnxruntime", {"kernels"})]
)
def test_kernels_are_a_fact_by_what_runs_and_not_by_what_was_chosen(
    one: Kernels, other: Kernels, differing: set[str]
) -> None:
    first, second = facts(TranslatorOptions(kernels=one)), facts(TranslatorOptions(kernels=other))

    assert {name for name in first if first[name] != second[name]} == differing


def test_providers_are_part_of_the_engines_fact() -> None:
    assert facts(TranslatorOptions())["engine"].endswith(" on cpu")
    assert facts(TranslatorOptions(providers=("cuda", "cpu")))["engine"].endswith(" on cuda,cpu")


@needs_kernels
def test_a_node_opens_bundles_with_the_jobs_kernels_and_rejects_the_job_if_it_has_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = RoutedEngine(MODELS, (PAIR,), facts(TranslatorOptions()), BATCH)
    with engine.open(1):
        pass
    on_onnxruntime = facts(TranslatorOptions(kernels="onnxruntime"))
    with RoutedEngine(MODELS, (PAIR,), on_onnxruntime, BATCH, kernels="onnxruntime").open(1):
        pass
    monkeypatch.setattr("dragoman.search_model.best_kernels", lambda: "")  # as without a compiler

    with (
        pytest.raises(EngineDiffers, match=r"engine: kernels is onnxruntime there and native here;"),
        engine.open(1),
    ):
        pass
