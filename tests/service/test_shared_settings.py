"""Settings of a server of several processes."""

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from service.server import shared
from service.server.shared import num_processes, shared_settings
from service.settings.settings import Settings, SettingsError, read_settings

DATABASE: dict[str, object] = {"database_url": "sqlite:///a.db"}


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[ExitStack]:
    monkeypatch.setattr(shared, "available_cpus", lambda: 12)
    monkeypatch.setattr(sys, "platform", "linux")
    with ExitStack() as opened:
        yield opened


@pytest.mark.parametrize(("processes", "count"), [("auto", 3), (1, 1), (7, 7)])
@pytest.mark.usefixtures("opened")
def test_auto_is_a_process_for_each_four_cpus(processes: object, count: int) -> None:
    assert num_processes(read_settings(overrides={"processes": processes})) == count


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"providers": "cuda"}, "GPU"),
        ({"rate_limit": "5/minute"}, "set rate_storage_url"),
        ({"jobs": "off"}, "set database_url"),
    ],
)
def test_what_only_one_process_can_have_is_rejected(
    given: dict[str, object], problem: str, opened: ExitStack
) -> None:
    with pytest.raises(SettingsError, match=f"^processes: 2 are not possible: .*{problem}"):
        shared_settings(read_settings(overrides=given), 2, opened)


def test_a_platform_whose_ports_are_not_shared_is_named(
    opened: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")

    with pytest.raises(SettingsError, match="only Linux"):
        shared_settings(Settings(), 2, opened)


def test_processes_share_folders_and_cpus(opened: ExitStack) -> None:
    settings = shared_settings(Settings(), 4, opened)

    assert (settings.reuse_port, settings.replicas) == (True, 3)
    assert settings.weights_dir is not None
    assert Path(settings.jobs_files or "").parent == settings.weights_dir.parent
    assert settings.weights_dir.parent.is_dir()


@pytest.mark.parametrize("given", [DATABASE, {"requires_key": True}, {**DATABASE, "jobs": "off"}])
def test_folders_and_numbers_that_are_set_stay(given: dict[str, object], opened: ExitStack) -> None:
    chosen: dict[str, object] = {"weights_dir": Path("w"), "replicas": 5, "uds": Path("a.sock")}
    settings = shared_settings(read_settings(overrides=given | chosen), 4, opened)

    assert {name: getattr(settings, name) for name in chosen} == chosen
    assert (settings.jobs_files, settings.reuse_port) == (None, False)
