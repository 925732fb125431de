"""The router that the settings describe, and bundles that are found by folder or name."""

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


def test_two_models_of_one_name_are_refused(several: Path, tmp_path: Path) -> None:
    other = write_bundle(tmp_path / "elsewhere" / "a", "a")

    with pytest.raises(SettingsError, match=r"^model: .*/several/a and .*/elsewhere/a have the same name"):
        find_models(load_settings(overrides={"models_dir": several, "model": f"a,{other}"}))
    twice = load_settings(overrides={"models_dir": several, "model": "a,a"})
    assert find_models(twice) == {"a": several / "a"}


@pytest.mark.parametrize(
    ("folder", "model", "problem"),
    [
        ("several", "a,c", r"bundle c: neither a folder nor .*models in .*: a, b; `dragoman pull NAME`"),
        ("several", ",", r"^model: ',' names no bundle$"),
        ("absent", None, r"^models_dir: folder .* not found"),
        ("several/a", None, "it contains no bundle"),
    ],
)
def test_what_is_not_there_is_said(several: Path, folder: str, model: str | None, problem: str) -> None:
    with pytest.raises((BundleError, SettingsError), match=problem):
        names_of(models_dir=several.parent / folder, model=model)


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
    same = {"replicas": 3, "threads": 2, "queue_size": 100, "segment_cache_size": 50, "kernels": "native"}
    wishes = {"providers": "cuda,cpu", "memory_budget_bytes": 123, "pivots": "fr,en"}

    open_router(load_settings(overrides={"models_dir": several, **same, **wishes}))

    assert isinstance(given.pop("engine_metrics"), NoMetrics)
    assert given == {**same, "providers": ("cuda", "cpu"), "budget_bytes": 123, "pivots": ("fr", "en")} | {
        "fallback_dir": None
    }
    open_router(load_settings(overrides={"models_dir": several, **same, "segment_cache": "off"}))
    assert given["segment_cache_size"] == 0
