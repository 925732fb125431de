"""Bundles that are found by folder or name, own models next to bundled ones, and the router over them."""

import logging
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import anyio
import pytest

from dragoman import BundleError
from dragoman import bundled as bundled_models
from dragoman.routing.options import RouterOptions, TranslatorOptions
from dragoman.routing.router import Router
from dragoman.scheduling.metrics import EngineMetrics
from service.models.engine import find_bundle, find_models, list_bundles, open_router, preloaded
from service.models.watcher import ModelWatcher
from service.settings.model_folders import ModelFolders
from service.settings.settings import Settings, SettingsError, load_settings
from tests.engine.routing.doubles import write_bundle
from tests.service.conftest import Run


@pytest.fixture
def bundled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an installed package's models: `de-en` and `en-de`. The current folder is empty."""
    folder = tmp_path / "installed"
    write_bundle(folder / "de-en", "bundled de-en")
    write_bundle(folder / "en-de", "bundled en-de", ["en"], ["de"])
    monkeypatch.setattr(bundled_models, "INSTALLED", folder)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return folder


@pytest.fixture
def settings(bundled: Path) -> Settings:
    del bundled
    return load_settings()


def served_by(router: Router, source: str, target: str) -> list[str]:
    return [step.offer.title for step in router.route(source, target).steps]


def test_own_models_are_served_next_to_the_bundled_ones(settings: Settings) -> None:
    write_bundle(Path("models/en-fr"), "own", ["en"], ["fr"])

    with open_router(settings) as router:
        assert [offer.name for offer in router.offers()] == ["de-en", "en-de", "en-fr"]
        assert served_by(router, "de", "fr") == ["bundled de-en", "own"]
        assert preloaded(settings, router) == ("en-fr",)


def test_bundled_models_alone_are_served_without_a_folder(settings: Settings) -> None:
    with open_router(settings) as router:
        assert [offer.name for offer in router.offers()] == ["de-en", "en-de"]
        assert preloaded(settings, router) == ()
    only = load_settings(overrides={"model": "en-de"})
    with open_router(only) as router:
        assert preloaded(only, router) == ("en-de",)


def test_of_two_models_with_one_name_that_of_the_models_folder_is_used(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    own = write_bundle(Path("models/de-en"), "own")
    caplog.set_level(logging.INFO)

    with open_router(settings) as router:
        assert served_by(router, "de", "en") == ["own"]
        assert served_by(router, "en", "de") == ["bundled en-de"]
    assert find_bundle("de-en", settings.model_folders) == own
    assert caplog.messages == ["models/de-en is used in place of the bundled model de-en"]


def test_a_pair_of_both_is_served_by_the_own_and_logged_once(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with open_router(settings) as router:
        watcher = ModelWatcher(router)
        assert served_by(router, "de", "en") == ["bundled de-en"]

        write_bundle(Path("models/many"), "own", ["de", "fr"], ["de", "en"])
        anyio.run(watcher.look)
        anyio.run(watcher.look)

        assert served_by(router, "de", "en") == ["own"]
        assert served_by(router, "en", "de") == ["bundled en-de"]
        assert router.route("de", "en", "de-en").steps[0].offer.title == "bundled de-en"
    assert caplog.messages == [
        "models added: many; changed: none; removed: none",
        "many serves de -> en before the bundled de-en",
    ]


def test_a_title_of_both_means_the_own(settings: Settings) -> None:
    write_bundle(Path("models/better"), "bundled de-en")

    with open_router(settings) as router:
        assert router.routes.named("bundled de-en").name == "better"


def test_a_folder_that_the_settings_name_counts_alone(settings: Settings, tmp_path: Path) -> None:
    del settings
    write_bundle(Path("models/en-fr"), "here", ["en"], ["fr"])
    write_bundle(tmp_path / "other" / "en-fr", "there", ["en"], ["fr"])

    for models_dir, title in (("models", "here"), (tmp_path / "other", "there")):
        with open_router(load_settings(overrides={"models_dir": models_dir})) as router:
            assert [offer.title for offer in router.offers()] == [title]


def test_something_else_in_a_folder_of_this_name_is_not_reported(settings: Settings) -> None:
    Path("models/gpt").mkdir(parents=True)

    with open_router(settings) as router:
        assert router.problems == {}
    assert [listing.name for listing in list_bundles(settings.model_folders)] == ["de-en", "en-de"]


def test_a_damaged_bundle_of_the_own_folder_is_reported(settings: Settings) -> None:
    (write_bundle(Path("models/de-en"), "own") / "manifest.json").write_bytes(b"{}")

    with open_router(settings) as router:
        assert list(router.problems) == ["de-en"]


def test_a_checkout_has_one_folder_for_both(bundled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout = bundled.parent
    (checkout / "models").mkdir()
    monkeypatch.setattr(bundled_models, "INSTALLED", checkout / "service" / "bundled_models")

    assert ModelFolders.of(None) == ModelFolders(Path("models"), checkout / "models")
    monkeypatch.chdir(checkout)
    assert ModelFolders.of(None) == ModelFolders(Path("models"))


def test_commands_know_both_folders(
    run: Run, bundled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]
) -> None:
    del bundled
    monkeypatch.chdir(tmp_path / "here")
    environment.clear()
    write_bundle(Path("models/en-fr"), "own", ["en"], ["fr"])

    names = [line.split()[0] for line in run("models").stdout.decode().splitlines()]
    assert names == ["NAME", "de-en", "en-de", "en-fr"]
    assert b"bundled en-de" in run("info", "--model", "en-de").stdout
    assert b"bundled de-en" in run("info").stdout
    assert run("translate", "Hallo", "--source", "de", "--target", "fr").returncode == 0


def test_only_the_options_of_a_router_make_a_bundle_a_fallback(tmp_path: Path) -> None:
    folders = {name: write_bundle(tmp_path / name / "x", name) for name in ("a", "b")}

    for fallback_dir, title in ((None, "a"), (tmp_path / "a", "b")):
        with Router.open(folders, options=RouterOptions(fallback_dir=fallback_dir)) as router:
            assert served_by(router, "de", "en") == [title]


@pytest.fixture
def several(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        write_bundle(tmp_path / "several" / name, name)
    return tmp_path / "several"


@pytest.fixture
def own_router(several: Path) -> Iterator[Router]:
    with open_router(load_settings(overrides={"models_dir": several})) as own_router:
        yield own_router


def names_of(**overrides: object) -> list[str]:
    with open_router(load_settings(overrides=overrides)) as own_router:
        return [offer.name for offer in own_router.offers()]


@pytest.mark.parametrize(
    ("model", "names"),
    [(None, ["a", "b"]), ("b", ["b"]), ("b,", ["b"]), (" b ", ["b"]), ("b, {c}", ["b", "c"])],
)
def test_without_a_model_all_in_the_folder_are_served_and_else_those_named(
    several: Path, tmp_path: Path, model: str | None, names: list[str]
) -> None:
    other = write_bundle(tmp_path / "elsewhere" / "c", "c")

    assert names_of(models_dir=several, model=model and model.format(c=other)) == names


def test_a_folder_may_have_a_comma_in_its_name(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path / "old, but good", "c")

    assert names_of(model=str(folder)) == ["old, but good"]


def test_two_models_of_one_name_are_rejected(several: Path, tmp_path: Path) -> None:
    other = write_bundle(tmp_path / "elsewhere" / "a", "a")

    with pytest.raises(SettingsError, match=r"^model: .*/several/a and .*/elsewhere/a have the same name"):
        find_models(load_settings(overrides={"models_dir": several, "model": f"a,{other}"}))
    twice = load_settings(overrides={"models_dir": several, "model": "a,a"})
    assert find_models(twice) == {"a": several / "a"}


@pytest.mark.parametrize(
    ("folder", "model", "problem"),
    [
        ("several", "a,c", r"bundle c: neither a folder nor .*: a, b; `dragoman import SOURCE-TARGET`"),
        ("several", ",", r"^model: ',' names no bundle$"),
        ("absent", None, r"^models_dir: folder .* not found"),
        ("several/a", None, "it contains no bundle"),
    ],
)
def test_missing_models_and_folders_are_reported(
    several: Path, folder: str, model: str | None, problem: str
) -> None:
    with pytest.raises((BundleError, SettingsError), match=problem):
        names_of(models_dir=several.parent / folder, model=model)


def test_the_only_model_is_preloaded_and_of_several_those_that_are_named(
    several: Path, own_router: Router
) -> None:
    assert preloaded(load_settings(), own_router) == ()
    assert preloaded(load_settings(overrides={"preload": "b, a"}), own_router) == ("b", "a")
    with pytest.raises(SettingsError, match=r"^preload: no such model; available are: a, b$"):
        preloaded(load_settings(overrides={"preload": "c"}), own_router)

    only = load_settings(overrides={"model": str(several / "a")})
    with open_router(only) as single:
        assert preloaded(only, single) == ("a",)
        assert preloaded(load_settings(overrides={"preload": ""}), single) == ()


def test_every_setting_reaches_the_engine(several: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, object] = {}

    def note(_models: Path, *, translators: TranslatorOptions, options: RouterOptions) -> None:
        given.update(asdict(translators) | asdict(options))

    monkeypatch.setattr(Router, "open", note)
    same = {"replicas": 3, "threads": 2, "queue_size": 100, "segment_cache_size": 50, "kernels": "native"}
    search_options = {"providers": "cuda,cpu", "memory_budget_bytes": 123, "pivots": "fr,en"}
    overrides = {"models_dir": several, "weights_dir": several / "packed", **same, **search_options}

    open_router(load_settings(overrides=overrides))

    assert isinstance(given.pop("engine_metrics"), EngineMetrics)
    assert given == {**same, "providers": ("cuda", "cpu"), "budget_bytes": 123, "pivots": ("fr", "en")} | {
        "fallback_dir": None,
        "weights_dir": several / "packed",
    }
    open_router(load_settings(overrides={"models_dir": several, **same, "segment_cache": "off"}))
    assert given["segment_cache_size"] == 0
