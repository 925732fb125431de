"""A router over folders: what it offers, and how it follows what happens to them."""

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from functools import partial
from pathlib import Path

import pytest

from dragoman import Deadline, EngineRequest
from dragoman.bundle import read_bundle
from dragoman.errors import BundleError, InputError, UnsupportedPair
from dragoman.routing.memory import estimated_bytes
from dragoman.routing.options import RouterOptions, TranslatorOptions
from dragoman.routing.router import Router
from tests.engine.routing.conftest import SIZE_BYTES
from tests.engine.routing.doubles import TIMEOUT_S, DoubleBundles, replace_bundle, until, write_bundle


@pytest.fixture
def models(tmp_path: Path) -> Path:
    write_bundle(tmp_path / "models" / "a", "de-en")
    write_bundle(tmp_path / "models" / "b", "en-fr", ["en"], ["fr"])
    write_bundle(tmp_path / "models" / "c", "many", ["de", "en", "fr"], ["de", "en", "fr"])
    return tmp_path / "models"


def test_offers_are_the_folders_and_say_which_are_open(router: Router) -> None:
    assert router.translate("Hallo", "de", "en", model="de-en").translation.text == "Hallo|de-en"

    offers, models = router.offers(), router.models()
    assert [(offer.name, offer.title) for offer in offers] == [("a", "de-en"), ("b", "en-fr"), ("c", "many")]
    assert [(model.offer.name, model.is_open) for model in models] == [
        ("a", True),
        ("b", False),
        ("c", False),
    ]
    assert {model.memory_bytes for model in models} == {SIZE_BYTES}
    reported = [(model.kernels, model.why_not_native) for model in models]
    assert reported == [("doubled", "it is a double"), (None, ""), (None, "")]


def test_preloading_opens_and_says_what_is_wrong(router: Router, bundles: DoubleBundles) -> None:
    router.preload(["a", "many"])

    assert sorted(bundles.open_names) == ["de-en", "many"]
    with pytest.raises(InputError):
        router.preload(["d"])
    bundles.failure = BundleError("b", ("is damaged",))
    with pytest.raises(BundleError, match="is damaged"):
        router.preload(["b"])


@pytest.mark.parametrize("options", [RouterOptions(budget_bytes=2 * SIZE_BYTES)])
def test_preloading_more_than_there_is_room_for_is_an_error(router: Router) -> None:
    router.preload(["a", "b", "a"])
    with pytest.raises(
        BundleError, match="together they need about 30 bytes of memory, but the budget is 20"
    ):
        router.preload(["a", "b", "c"])


def test_a_reload_follows_what_was_added_changed_and_removed(
    router: Router, models: Path, bundles: DoubleBundles
) -> None:
    def used(source: str, target: str) -> str:
        return router.translate("Hallo", source, target).steps[0].model

    with pytest.raises(UnsupportedPair):
        router.route("cs", "fr")
    assert (used("de", "en"), used("en", "fr")) == ("a", "b")
    shutil.rmtree(models / "a")
    replace_bundle(models / "b", "cs-en", "cs")
    write_bundle(models / "d", "cs-fr", ["cs"], ["fr"])

    report = router.reload()

    assert (report.added, report.changed, report.removed) == (("d",), ("b",), ("a",))
    assert (used("cs", "fr"), used("cs", "en"), used("en", "fr"), used("de", "en")) == ("d", "b", "c", "c")
    until(lambda: sorted(bundles.open_names) == ["cs-en", "cs-fr", "many"])


def test_a_damaged_new_bundle_is_reported_and_the_old_one_stays(
    router: Router, models: Path, bundles: DoubleBundles
) -> None:
    router.translate("Hallo", "de", "en")
    replace_bundle(models / "a", "de-en", filler="broken")
    (models / "a" / "decoder.onnx").write_bytes(b"half")

    report = router.reload()

    assert report.is_empty
    assert report.problems.keys() == {"a"}
    assert router.problems == report.problems
    assert router.translate("Hallo", "de", "en").steps[0].model == "a"
    assert bundles.names == ["de-en"]

    replace_bundle(models / "a", "de-en", filler="whole")
    assert router.reload().changed == ("a",)
    router.translate("Hallo", "de", "en")
    assert bundles.names == ["de-en", "de-en"]
    assert router.problems == {}


@pytest.mark.parametrize("options", [RouterOptions(), RouterOptions(budget_bytes=SIZE_BYTES)])
def test_replacing_bundles_while_texts_run_drops_none_and_keeps_the_budget(
    router: Router, models: Path, bundles: DoubleBundles, options: RouterOptions
) -> None:
    """A double that is closed in use raises."""
    stop = threading.Event()
    translated: list[str] = []
    request = EngineRequest(deadline=Deadline.after(TIMEOUT_S))

    def ask(number: int) -> None:
        target, end = (("en", "|de-en"), ("fr", "|many"))[number % 2]
        while not stop.is_set():
            routed = router.submit(f"Hallo {number}", "de", target, request).result(TIMEOUT_S)
            num_open = len(bundles.open_names)
            assert options.budget_bytes is None or num_open * SIZE_BYTES <= options.budget_bytes
            assert routed.translation.text == f"Hallo {number}{end}"
            translated.append(routed.translation.text)

    with ThreadPoolExecutor(4) as users:
        asking = [users.submit(ask, number) for number in range(4)]

        def is_used(num_opened: int) -> bool:
            is_busy = len(translated) > 10 and bundles.names.count("de-en") >= num_opened
            return is_busy or any(one.done() for one in asking)

        try:
            for turn in range(10):
                translated.clear()
                until(partial(is_used, turn + 1))
                replace_bundle(models / "a", "de-en", filler=str(turn))
                router.reload()
        finally:
            stop.set()
        for one in asking:
            one.result(TIMEOUT_S)

    router.translate("Hallo", "de", "en")
    assert bundles.names.count("de-en") > 10
    assert bundles.named("de-en").manifest == read_bundle(models / "a").manifest
    until(lambda: bundles.open_names.count("de-en") == 1)


def test_a_folder_without_a_usable_bundle_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BundleError, match=r"bundle .*: it contains no bundle$"):
        Router.open(tmp_path)

    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with pytest.raises(BundleError, match=r": a: manifest.json is missing; b: manifest.json is missing$"):
        Router.open(tmp_path)
    with pytest.raises(BundleError, match=r"bundle [^:]*/a: manifest.json is missing$"):
        Router.open({"a": tmp_path / "a"})


def test_bundles_may_be_given_by_name(
    models: Path, bundles: DoubleBundles, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dragoman.translator.Translator.open", lambda path, **_: bundles.open(path))

    with Router.open({"news": models / "a", "law": str(models / "b")}) as router:
        assert [offer.name for offer in router.offers()] == ["law", "news"]
        assert router.translate("Hallo", "de", "fr").translation.text == "Hallo|de-en|en-fr"


def test_every_option_of_a_translator_is_handed_on(
    models: Path, bundles: DoubleBundles, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[dict[str, object]] = []

    def open_double(path: Path, **options: object) -> object:
        given.append(options)
        return bundles.open(path)

    monkeypatch.setattr("dragoman.translator.Translator.open", open_double)
    translators = TranslatorOptions(3, 2, 100, ("cuda", "cpu"), 50, kernels="onnxruntime")

    with Router.open(models, translators=translators) as router:
        router.translate("Hallo", "de", "en")
        estimated = {model.offer.name: model.memory_bytes for model in router.models()}

    assert given == [{field.name: getattr(translators, field.name) for field in fields(translators)}]
    assert estimated["a"] == estimated_bytes(router.models()[0].manifest, 3)


def test_a_bundle_whose_vocabulary_cannot_be_read_has_no_unknown_words(router: Router) -> None:
    assert router.unknown_spans(router.route("de", "en"), "Шарик") == ()
