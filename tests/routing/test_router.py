"""A router over folders: what it offers, and how it follows what happens to them."""

import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dragoman import Deadline, EngineRequest
from dragoman.bundle import read_bundle
from dragoman.errors import BundleError, InputError, UnsupportedPair
from dragoman.routing.bundle_scan import bundle_folders
from dragoman.routing.memory import estimated_bytes
from dragoman.routing.router import Router, RouterOptions, TranslatorOptions
from dragoman.scheduling.metrics import NO_METRICS
from tests.routing.doubles import TIMEOUT_S, DoubleBundles, until, write_bundle

SIZE_BYTES = 10


@pytest.fixture
def models(tmp_path: Path) -> Path:
    write_bundle(tmp_path / "models" / "a", "de-en")
    write_bundle(tmp_path / "models" / "b", "en-fr", ["en"], ["fr"])
    write_bundle(tmp_path / "models" / "c", "many", ["de", "en", "fr"], ["de", "en", "fr"])
    return tmp_path / "models"


@pytest.fixture
def bundles() -> DoubleBundles:
    return DoubleBundles()


@pytest.fixture
def router(models: Path, bundles: DoubleBundles) -> Iterator[Router]:
    with Router(lambda: bundle_folders(models), bundles.open, lambda _: SIZE_BYTES) as router:
        yield router


def write_beside(folder: Path, name: str, source: str = "de", target: str = "en", filler: str = "") -> None:
    """Replace a bundle as the exporter does: written elsewhere, then renamed."""
    staging = folder.with_name(f".{folder.name}.new")
    write_bundle(staging, name, [source], [target], filler)
    old = folder.with_name(f".{folder.name}.old")
    folder.rename(old)
    staging.rename(folder)
    shutil.rmtree(old)


def test_offers_are_the_folders_and_open_ones_are_told(router: Router) -> None:
    router.translate("Hallo", "de", "en")

    assert [(offer.name, offer.title) for offer in router.offers()] == [
        ("a", "de-en"),
        ("b", "en-fr"),
        ("c", "many"),
    ]
    assert [(model.offer.name, model.is_open) for model in router.models()] == [
        ("a", True),
        ("b", False),
        ("c", False),
    ]
    assert {model.memory_bytes for model in router.models()} == {SIZE_BYTES}


def test_a_bundle_may_be_asked_for(router: Router) -> None:
    assert router.translate("Hallo", "de", "en").translation.text == "Hallo|de-en"
    assert router.translate("Hallo", "de", "en", model="c").translation.text == "Hallo|many"
    assert router.translate("Hallo", "de", "en", model="many").steps[0].model == "c"
    with pytest.raises(InputError, match=r"^model: no such model; available are: a, b, c$"):
        router.submit("Hallo", "de", "en", model="d")


def test_preloading_opens_and_says_what_is_wrong(router: Router, bundles: DoubleBundles) -> None:
    router.preload(["a", "many"])

    assert sorted(bundles.open_names) == ["de-en", "many"]
    with pytest.raises(InputError):
        router.preload(["d"])
    bundles.failure = BundleError("b", ("is damaged",))
    with pytest.raises(BundleError, match="is damaged"):
        router.preload(["b"])


def test_preloading_more_than_there_is_room_for_is_an_error(models: Path, bundles: DoubleBundles) -> None:
    options = RouterOptions(budget_bytes=2 * SIZE_BYTES)
    with Router(lambda: bundle_folders(models), bundles.open, lambda _: SIZE_BYTES, options) as router:
        router.preload(["a", "b", "a"])
        with pytest.raises(
            BundleError, match="together they need about 30 bytes of memory, but the budget is 20"
        ):
            router.preload(["a", "b", "c"])


def test_a_new_bundle_is_found(router: Router, models: Path) -> None:
    with pytest.raises(UnsupportedPair):
        router.route("cs", "fr")
    write_bundle(models / "d", "cs-fr", ["cs"], ["fr"])

    report = router.reload()

    assert (report.added, report.changed, report.removed) == (("d",), (), ())
    assert router.translate("Ahoj", "cs", "fr").steps[0].model == "d"


def test_a_removed_bundle_is_used_no_more(router: Router, models: Path, bundles: DoubleBundles) -> None:
    router.translate("Hallo", "de", "en")
    shutil.rmtree(models / "a")

    report = router.reload()

    assert (report.added, report.changed, report.removed) == ((), (), ("a",))
    assert router.translate("Hallo", "de", "en").steps[0].model == "c"
    until(lambda: bundles.open_names == ["many"])


def test_a_bundle_that_serves_another_pair_now_does_so(router: Router, models: Path) -> None:
    router.translate("Hallo", "de", "en")
    write_beside(models / "a", "cs-en", "cs")

    assert router.reload().changed == ("a",)

    assert router.translate("Ahoj", "cs", "en").steps[0].model == "a"
    assert router.translate("Hallo", "de", "en").steps[0].model == "c"


def test_a_damaged_new_bundle_is_told_and_the_old_one_stays(
    router: Router, models: Path, bundles: DoubleBundles
) -> None:
    router.translate("Hallo", "de", "en")
    write_beside(models / "a", "de-en", filler="broken")
    (models / "a" / "decoder.onnx").write_bytes(b"half")

    report = router.reload()

    assert report.is_empty
    assert report.problems.keys() == {"a"}
    assert router.problems == report.problems
    assert router.translate("Hallo", "de", "en").steps[0].model == "a"
    assert bundles.names == ["de-en"]

    write_beside(models / "a", "de-en", filler="whole")
    assert router.reload().changed == ("a",)
    router.translate("Hallo", "de", "en")
    assert bundles.names == ["de-en", "de-en"]
    assert router.problems == {}


def test_replacing_bundles_while_texts_run_drops_none(
    router: Router, models: Path, bundles: DoubleBundles
) -> None:
    stop = threading.Event()
    translated: list[str] = []

    def ask(number: int) -> None:
        while not stop.is_set():
            target, end = (("en", "|de-en"), ("fr", "|many"))[number % 2]
            routed = router.submit(
                f"Hallo {number}", "de", target, EngineRequest(deadline=Deadline.after(TIMEOUT_S))
            ).result(TIMEOUT_S)
            assert routed.translation.text == f"Hallo {number}{end}"
            translated.append(routed.translation.text)

    with ThreadPoolExecutor(4) as users:
        asking = [users.submit(ask, number) for number in range(4)]

        def wait_for_users(of_bundle: int) -> None:
            translated.clear()
            until(
                lambda: (
                    (len(translated) > 10 and bundles.names.count("de-en") >= of_bundle)
                    or any(one.done() for one in asking)
                )
            )

        try:
            for turn in range(10):
                wait_for_users(of_bundle=turn + 1)
                write_beside(models / "a", "de-en", filler=str(turn))
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


def test_bundles_may_be_given_by_name(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundles = DoubleBundles()
    monkeypatch.setattr("dragoman.translator.Translator.open", lambda path, **_: bundles.open(path))

    with Router.open({"news": models / "a", "law": str(models / "b")}) as router:
        assert [offer.name for offer in router.offers()] == ["law", "news"]
        assert router.translate("Hallo", "de", "fr").translation.text == "Hallo|de-en|en-fr"


def test_every_option_of_a_translator_is_handed_on(models: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundles = DoubleBundles()
    given: list[dict[str, object]] = []

    def open_double(path: Path, **options: object) -> object:
        given.append(options)
        return bundles.open(path)

    monkeypatch.setattr("dragoman.translator.Translator.open", open_double)
    translators = TranslatorOptions(3, 2, 100, ("cuda", "cpu"), 50)

    with Router.open(models, translators=translators) as router:
        router.translate("Hallo", "de", "en")
        reckoned = {model.offer.name: model.memory_bytes for model in router.models()}

    assert given == [
        {
            "replicas": 3,
            "threads": 2,
            "queue_size": 100,
            "providers": ("cuda", "cpu"),
            "segment_cache_size": 50,
            "engine_metrics": NO_METRICS,
        }
    ]
    assert reckoned["a"] == estimated_bytes(router.models()[0].manifest, 3)
