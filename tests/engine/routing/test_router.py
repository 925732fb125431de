"""A router over folders: what it and they offer, and how it follows what happens to them."""

import shutil
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

import pytest

from dragoman import Deadline, EngineRequest
from dragoman.bundle import Bundle, open_bundle, read_bundle, verify_files
from dragoman.contract import CacheDType
from dragoman.errors import BundleError, InputError, UnsupportedPair
from dragoman.manifest import FileRecord, Manifest, Sizes
from dragoman.routing.bundle_scan import BundleScanner, bundle_folders, open_with_retry
from dragoman.routing.memory import estimated_bytes, size_bytes
from dragoman.routing.options import RouterOptions, TranslatorOptions
from dragoman.routing.router import Router
from tests.engine.routing.conftest import SIZE_BYTES
from tests.engine.routing.doubles import (
    TIMEOUT_S,
    TOKENIZER,
    DoubleBundles,
    replace_bundle,
    until,
    write_bundle,
)


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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two bundles, `a` and `b`."""
    for name in ("b", "a"):
        write_bundle(tmp_path / "models" / name, name)
    return tmp_path / "models"


@pytest.fixture
def inspector(folder: Path) -> BundleScanner:
    return BundleScanner(lambda: bundle_folders(folder), verify_files)


@pytest.fixture
def known(inspector: BundleScanner) -> Mapping[str, Bundle]:
    return inspector.scan_manifests().bundles


def replace_files(folder: Path, name: str) -> None:
    shutil.rmtree(folder / name)
    write_bundle(folder / name, name, filler="new")


def test_folders_are_bundles_by_name_but_hidden_ones_are_not(folder: Path) -> None:
    (folder / ".unfinished").mkdir()
    (folder / "a-file").touch()

    assert list(bundle_folders(folder)) == ["a", "b"]
    assert bundle_folders(folder / "absent") == {}


def test_the_first_scan_reads_manifests_alone(inspector: BundleScanner, folder: Path) -> None:
    (folder / "a" / "encoder.onnx").unlink()
    (folder / "b" / "manifest.json").unlink()

    findings = inspector.scan_manifests()

    assert findings.bundles.keys() == {"a"}
    assert findings.problems == {"b": ("manifest.json is missing",)}


@pytest.mark.parametrize("name", ["a", "c"])
def test_new_and_changed_bundles_are_verified_and_taken_once_they_are_whole(
    inspector: BundleScanner, folder: Path, known: Mapping[str, Bundle], name: str
) -> None:
    shutil.rmtree(folder / name, ignore_errors=True)
    write_bundle(folder / name, name, filler="new")
    decoder = folder / name / "decoder.onnx"
    whole = decoder.read_bytes()
    decoder.write_bytes(whole[:4])

    findings = inspector.scan(known)

    assert name not in findings.bundles
    (problem,) = findings.problems[name]
    assert problem.startswith("decoder.onnx has 4 bytes")
    decoder.write_bytes(whole)
    assert name in inspector.scan(known).bundles


def test_a_rejected_bundle_is_not_verified_again_until_a_file_changes(folder: Path) -> None:
    verified: list[str] = []

    def counting(bundle: Bundle) -> list[str]:
        verified.append(bundle.path.name)
        return verify_files(bundle)

    inspector = BundleScanner(lambda: bundle_folders(folder), counting)
    known = inspector.scan_manifests().bundles
    write_bundle(folder / "c", "c")
    (folder / "c" / "decoder.onnx").write_bytes(b"half")

    first, second = inspector.scan(known), inspector.scan(known)

    assert verified == ["c"]
    assert first.problems == second.problems
    (folder / "c" / "decoder.onnx").write_bytes(b"half more")
    inspector.scan(known)
    assert verified == ["c", "c"]


def test_a_folder_that_is_just_being_replaced_is_not_taken_for_removed(
    folder: Path, known: Mapping[str, Bundle]
) -> None:
    (folder / "a").rename(folder / ".old")
    num_looks = 0

    def find_folders() -> dict[str, Path]:
        nonlocal num_looks
        num_looks += 1
        if num_looks == 2:
            (folder / ".old").rename(folder / "a")
        return bundle_folders(folder)

    findings = BundleScanner(find_folders, verify_files).scan(known)

    assert findings.bundles == known
    assert findings.problems == {}


def test_a_bundle_that_just_has_no_folder_is_waited_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "a").rename(folder / ".old")
    monkeypatch.setattr("time.sleep", lambda _: (folder / ".old").rename(folder / "a"))

    assert open_with_retry(open_bundle, folder / "a").manifest.name == "a"


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_bundle_that_is_damaged_is_tried_once_and_one_that_is_replaced_again_and_again_fails_in_the_end(
    folder: Path, *, is_replaced: bool
) -> None:
    tried: list[Path] = []

    def open_damaged(path: Path) -> Bundle:
        tried.append(path)
        if is_replaced:
            replace_files(folder, "a")
            manifest = folder / "a" / "manifest.json"
            manifest.write_text(manifest.read_text().replace("int8", str(manifest.stat().st_mtime_ns)))
        raise BundleError("a", ("is damaged",))

    with pytest.raises(BundleError, match="is damaged"):
        open_with_retry(open_damaged, folder / "a")
    assert (len(tried) > 1) is is_replaced


SMALL, OPUS = Sizes(2, 8, 32, 8000, 8000), Sizes(6, 8, 64, 32000, 32000)
WIDE, DEEP = Sizes(1, 16, 64, 8000, 8000), Sizes(6, 8, 32, 8000, 8000)
MANY_PIECES, FEW_PIECES = Sizes(2, 8, 64, 64000, 64000), Sizes(2, 8, 64, 8000, 8000)


@pytest.fixture
def manifest(tmp_path_factory: pytest.TempPathFactory) -> Manifest:
    return read_bundle(write_bundle(tmp_path_factory.mktemp("models") / "a", "a")).manifest


def of_size(
    manifest: Manifest, files_mb: float, precision: str, cache_dtype: CacheDType, sizes: Sizes
) -> Manifest:
    files = {"all": FileRecord("", round(files_mb * 1e6))}
    return replace(manifest, files=files, precision=precision, cache_dtype=cache_dtype, sizes=sizes)


@pytest.mark.parametrize(
    ("files_mb", "precision", "cache_dtype", "sizes", "measured_mb"),
    [  # by replicas: the growth of the process after opening and full load, on the CPU
        (12.6, "int8", "int8", SMALL, {1: 96, 2: 169, 4: 300}),
        (45.0, "fp32", "float32", SMALL, {1: 206, 2: 351, 4: 596}),
        (81.3, "int8", "int8", OPUS, {1: 437, 2: 710, 4: 1273}),
        (310.5, "fp32", "float32", OPUS, {1: 1052, 2: 1567, 4: 2773}),
        (50.5, "int8", "int8", WIDE, {1: 220}),
        (16.8, "int8", "int8", DEEP, {1: 187}),
        (85.4, "int8", "int8", MANY_PIECES, {1: 317}),
        (25.5, "int8", "int8", FEW_PIECES, {1: 156}),
    ],
)
def test_the_memory_estimate_is_at_least_the_measured_memory(
    manifest: Manifest,
    files_mb: float,
    precision: str,
    cache_dtype: CacheDType,
    sizes: Sizes,
    measured_mb: dict[int, int],
) -> None:
    described = of_size(manifest, files_mb, precision, cache_dtype, sizes)

    for replicas, measured in measured_mb.items():
        assert 0.93 <= estimated_bytes(described, replicas) / 1e6 / measured <= 1.25


def test_the_size_is_that_of_all_files(manifest: Manifest) -> None:
    assert size_bytes(manifest) == 1000 * len("encoder.onnxdecoder.onnx") + 2 * TOKENIZER.stat().st_size
