"""The router that the settings describe."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from dragoman import BundleError
from dragoman.routing.router import Router, RouterOptions, TranslatorOptions
from dragoman.scheduling.metrics import NoMetrics
from service.engine import find_models, open_router, preloaded
from service.settings import SettingsError, load_settings
from tests.routing.doubles import write_bundle


@pytest.fixture
def several(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        write_bundle(tmp_path / "several" / name, name)
    return tmp_path / "several"


@pytest.fixture
def router(several: Path) -> Iterator[Router]:
    with open_router(load_settings(overrides={"models_dir": several})) as router:
        yield router


def names_of(**overrides: object) -> list[str]:
    with open_router(load_settings(overrides=overrides)) as router:
        return [offer.name for offer in router.offers()]


def test_without_a_model_all_in_the_folder_are_served(several: Path) -> None:
    assert names_of(models_dir=several) == ["a", "b"]


@pytest.mark.parametrize("given", ["b", "b,", " b "])
def test_a_model_is_served_alone(several: Path, given: str) -> None:
    assert names_of(models_dir=several, model=given) == ["b"]


def test_models_may_be_names_and_folders(several: Path, tmp_path: Path) -> None:
    other = write_bundle(tmp_path / "elsewhere" / "c", "c")

    assert names_of(models_dir=several, model=f"b, {other}") == ["b", "c"]


def test_a_folder_may_have_a_comma_in_its_name(tmp_path: Path) -> None:
    folder = write_bundle(tmp_path / "old, but good", "c")

    assert names_of(model=str(folder)) == ["old, but good"]


def test_two_models_of_one_name_are_refused(several: Path, tmp_path: Path) -> None:
    other = write_bundle(tmp_path / "elsewhere" / "a", "a")

    with pytest.raises(SettingsError, match=r"^model: .*/several/a and .*/elsewhere/a have the same name"):
        find_models(load_settings(overrides={"models_dir": several, "model": f"a,{other}"}))
    assert find_models(load_settings(overrides={"models_dir": several, "model": "a,a"})) == {
        "a": several / "a"
    }


def test_what_is_not_there_is_said(several: Path, tmp_path: Path) -> None:
    with pytest.raises(BundleError, match="bundle c: neither c nor"):
        names_of(models_dir=several, model="a,c")
    with pytest.raises(SettingsError, match=r"^model: ',' names no bundle$"):
        names_of(models_dir=several, model=",")
    with pytest.raises(SettingsError, match=r"^models_dir: folder .* not found"):
        names_of(models_dir=tmp_path / "absent")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BundleError, match="it contains no bundle"):
        names_of(models_dir=tmp_path / "empty")


def test_the_only_model_is_preloaded_and_of_several_those_that_are_named(
    several: Path, router: Router
) -> None:
    assert preloaded(load_settings(), router) == ()
    assert preloaded(load_settings(overrides={"preload": "b, a"}), router) == ("b", "a")
    with pytest.raises(SettingsError, match=r"^preload: no such model; available are: a, b$"):
        preloaded(load_settings(overrides={"preload": "c"}), router)

    only = load_settings(overrides={"model": str(several / "a")})
    with open_router(only) as single:
        assert preloaded(only, single) == ("a",)
        assert preloaded(load_settings(overrides={"preload": ""}), single) == ()


def test_every_setting_reaches_the_engine(several: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, object] = {}

    def note(_models: Path, *, translators: TranslatorOptions, options: RouterOptions) -> None:
        given.update(asdict(translators) | asdict(options))

    monkeypatch.setattr(Router, "open", note)
    wishes = {
        "replicas": 3,
        "threads": 2,
        "queue_size": 100,
        "providers": "cuda,cpu",
        "segment_cache_size": 50,
        "memory_budget_bytes": 123,
        "pivots": "fr,en",
    }

    open_router(load_settings(overrides={"models_dir": several, **wishes}))

    assert isinstance(given.pop("engine_metrics"), NoMetrics)
    assert given == {
        "replicas": 3,
        "threads": 2,
        "queue_size": 100,
        "providers": ("cuda", "cpu"),
        "segment_cache_size": 50,
        "budget_bytes": 123,
        "pivots": ("fr", "en"),
    }
