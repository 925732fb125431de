"""Real bundles behind the router: it gives what they give one after the other."""

import gc
import json
import shutil
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragoman import Translator
from dragoman.bundle import file_sha256
from dragoman.routing.options import RouterOptions
from dragoman.routing.router import Router
from dragoman.types import Pair
from tests.engine.routing.conftest import TINY_BUNDLE
from tests.engine.routing.doubles import TIMEOUT_S

TEXTS = [
    "Der Hund ist klein.",
    "Das Kind spielt im Garten.\n\nDer Hund ist klein. Ja.",
    "",
    "123",
    "\n Ein Hund \n",
]


@pytest.fixture(scope="module")
def router(tiny_models: Path) -> Iterator[Router]:
    with Router.open(tiny_models) as router:
        yield router


@pytest.fixture(scope="module")
def tiny(tiny_models: Path) -> Iterator[dict[str, Translator]]:
    """The same bundles, each alone."""
    with Translator.open(tiny_models / "de-en") as first, Translator.open(tiny_models / "en-fr") as second:
        yield {"de-en": first, "en-fr": second}


def test_a_pivot_gives_what_both_give_one_after_the_other(
    router: Router, tiny: dict[str, Translator]
) -> None:
    many = list(router.translate_many(TEXTS, "de", "fr"))

    for text, listed in zip(TEXTS, many, strict=True):
        routed = router.translate(text, "de", "fr")
        first = tiny["de-en"].translate(text)
        second = tiny["en-fr"].translate(first.text, pair=Pair("en", "fr"))
        assert routed.translation.text == second.text
        assert [step.score for step in routed.steps] == [first.score, second.score]
        assert first.score is not None
        assert second.score is not None
        assert routed.translation.score == second.score + first.score
        assert routed.translation.text.count("\n") == text.count("\n")
        assert listed == routed


def test_unknown_words_are_those_of_the_first_model_whether_it_is_open_or_not(
    tiny_models: Path, tiny: dict[str, Translator]
) -> None:
    text = "Der Hund heißt Шарик."
    with Router.open(tiny_models) as router:
        route = router.route("de", "fr")
        before = router.unknown_spans(route, text)
        router.preload(["de-en"])

        assert [text[start:end] for start, end in before] == ["Шарик"]
        assert router.unknown_spans(route, text) == before == tiny["de-en"].unknown_spans(text)


def test_a_reload_keeps_a_bundle_whose_new_tokenizer_cannot_be_loaded(tmp_path: Path) -> None:
    folder = tmp_path / "tiny"
    shutil.copytree(TINY_BUNDLE, folder)
    with Router.open(tmp_path) as router:
        before = router.translate(TEXTS[0], "de", "en").translation.text
        tokenizer, manifest = folder / "source.spm", folder / "manifest.json"
        content = json.loads(manifest.read_bytes())
        model = tokenizer.read_bytes()
        at = model.index(b"en", 100)
        tokenizer.write_bytes(model[:at] + b"\xff\xff" + model[at + 2 :])
        content["files"]["source.spm"]["sha256"] = file_sha256(tokenizer)
        manifest.write_text(json.dumps(content))

        report = router.reload()

        assert report.is_empty
        assert "source.spm is not a SentencePiece model" in report.problems["tiny"][0]
        assert router.translate(TEXTS[0], "de", "en").translation.text == before


def test_a_closed_bundle_leaves_the_memory(tiny_models: Path) -> None:
    """By itself, though a caller holds futures: not only when Python happens to look for what is unused."""
    opened: list[weakref.ref[Translator]] = []

    def open_watched(path: Path) -> Translator:
        translator = Translator.open(path, replicas=1)
        opened.append(weakref.ref(translator))
        return translator

    folders = {"de-en": tiny_models / "de-en", "en-fr": tiny_models / "en-fr"}
    options = RouterOptions(budget_bytes=1)
    gc.disable()
    try:
        with Router(lambda: folders, open_watched, lambda _: 1, options) as router:
            kept = router.submit(TEXTS[0], "de", "fr")
            kept.result(TIMEOUT_S)
            assert opened[0]() is None
    finally:
        gc.enable()


def test_a_translated_text_leaves_nothing_to_the_collector_of_cycles(router: Router) -> None:
    def translate() -> None:
        router.submit("Das Kind spielt. Der Hund schläft.", "de", "en").result(TIMEOUT_S)

    translate()
    gc.collect()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        translate()
        gc.collect()
        left = {type(found).__qualname__ for found in gc.garbage}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()

    assert not left & {
        "Future",
        "SegmentRequest",
        "PivotTranslation",
        "PendingTexts",
        "RoutedTranslation",
    }
