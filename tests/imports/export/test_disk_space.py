"""An export that does not fit on the disk is rejected before anything is written; batches fit into memory."""

import shutil
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from export.bundle import ExportError
from export.calibration import BATCH_SOURCES, BATCH_TOKENS, batches
from export.disk_space import check_space, estimated_bytes
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
    with pytest.raises(ExportError, match=message):
        check_space(tmp_path / "new" / "de-en", config(), "int8")


def test_nothing_is_written_to_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 10, 0))

    with pytest.raises(ExportError):
        export_model(ExportOptions(str(CHECKPOINT), tmp_path / "new" / "de-en"), print)

    assert list(tmp_path.iterdir()) == []


@given(st.lists(st.integers(1, 2 * BATCH_TOKENS)))
def test_batches_are_all_items_in_order_within_the_limits(lengths: list[int]) -> None:
    found = [list(batch) for batch in batches(lengths, lambda length: length)]

    assert [length for batch in found for length in batch] == lengths
    for batch in found:
        assert 1 <= len(batch) <= BATCH_SOURCES
        assert len(batch) == 1 or len(batch) * max(batch) <= BATCH_TOKENS


@given(st.lists(st.integers(1, BATCH_TOKENS), min_size=2).map(sorted))
def test_a_batch_ends_only_where_the_next_item_would_exceed_a_limit(lengths: list[int]) -> None:
    found = [list(batch) for batch in batches(lengths, lambda length: length)]

    for batch, following in pairwise(found):
        grown = [*batch, following[0]]
        assert len(grown) > BATCH_SOURCES or len(grown) * max(grown) > BATCH_TOKENS
