"""An export that does not fit on the disk is rejected before anything is written."""

import shutil
from pathlib import Path

import pytest

from export.disk_space import NotEnoughSpace, check_space, estimated_bytes
from export.model_config import ModelConfig
from export.run import ExportOptions, export_model
from tests.imports.export.conftest import CHECKPOINT, tiny_original
from tests.paths import TINY


def bundle_bytes(name: str) -> int:
    return sum(path.stat().st_size for path in (TINY / name).iterdir())


def config() -> ModelConfig:
    return tiny_original().model.config


def test_the_estimate_is_near_the_size_of_a_bundle() -> None:
    assert 0.5 < estimated_bytes(config(), "fp32") / bundle_bytes("bundle-fp32") < 1.5


def test_a_full_disk_is_named_with_needed_and_free_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    needed = estimated_bytes(config(), "int8")
    free = [needed]
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(free[0], 0, free[0]))
    check_space(tmp_path / "new" / "de-en", config(), "int8")

    free[0] -= 1

    message = f"de-en needs about {needed} bytes of disk space, but only {needed - 1} are free"
    with pytest.raises(NotEnoughSpace, match=message):
        check_space(tmp_path / "new" / "de-en", config(), "int8")


def test_nothing_is_written_to_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 10, 0))

    with pytest.raises(NotEnoughSpace):
        export_model(ExportOptions(str(CHECKPOINT), tmp_path / "new" / "de-en"), print)

    assert list(tmp_path.iterdir()) == []
