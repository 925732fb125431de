"""Packed weights in files that processes share."""

import logging
import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dragoman.bundle import open_bundle
from dragoman.native import weights_cache
from dragoman.native.model import NativeModel
from dragoman.native.weights_cache import WeightsCache, packed_name
from tests.engine.conftest import INT8
from tests.engine.native.native_models import native_logprobs_by_steps
from tests.engine.native.test_native_parity import MANY_TOKENS, WIDTHS
from tests.engine.routing.doubles import TIMEOUT_S
from tests.imports.parity.random_bundles import Logprobs, random_inputs, random_model, write

Damage = Callable[[bytes], bytes]
DAMAGES: dict[str, Damage] = {
    "a bit": lambda content: bytes([content[0] ^ 1]) + content[1:],
    "a bit of the hash": lambda content: content[:-1] + bytes([content[-1] ^ 1]),
    "cut": lambda content: content[: len(content) // 2],
    "cut by one": lambda content: content[:-1],
    "longer": lambda content: content + b"\0",
    "almost empty": lambda content: content[:5],
    "empty": lambda _: b"",
}


def numbers(cache: WeightsCache | None, folder: Path = INT8) -> Logprobs:
    sources, targets = [[5, 9, 30, 2], [7, 2]], np.array([[1, 8, 40], [1, 11, 12]])
    return native_logprobs_by_steps(folder, sources, targets, 360, cache)


@pytest.fixture(scope="module")
def expected() -> Logprobs:
    return numbers(None)


@pytest.fixture
def cache(tmp_path: Path) -> WeightsCache:
    return WeightsCache(tmp_path / "parent" / "weights")


@pytest.mark.parametrize("shape", [*WIDTHS, MANY_TOKENS], ids=str)
def test_mapped_weights_give_the_numbers_of_weights_in_memory_to_the_bit(
    shape: dict[str, Any], tmp_path: Path, cache: WeightsCache
) -> None:
    model = random_model(shape)
    folder = write(tmp_path, model, "int8")
    inputs = *random_inputs(model, num_steps=5, beams=2), model.config.target_vocab_size

    found = [native_logprobs_by_steps(folder, *inputs, each) for each in (None, cache, cache)]

    assert found[0].tobytes() == found[1].tobytes() == found[2].tobytes()
    assert len(list(cache.folder.iterdir())) == 1


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_written_again(
    damage: str, cache: WeightsCache, expected: Logprobs, caplog: pytest.LogCaptureFixture
) -> None:
    numbers(cache)
    [path] = cache.folder.iterdir()
    content = path.read_bytes()
    path.write_bytes(DAMAGES[damage](content))

    np.testing.assert_array_equal(numbers(cache), expected)

    assert [each.read_bytes() for each in cache.folder.iterdir()] == [content]
    assert "damaged" in caplog.text


def test_a_folder_that_cannot_be_written_is_logged_and_no_error(
    tmp_path: Path, expected: Logprobs, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()

    np.testing.assert_array_equal(numbers(WeightsCache(tmp_path / "file" / "weights")), expected)

    assert [each.levelno for each in caplog.records] == [logging.WARNING]
    assert "own copy" in caplog.text


def test_a_name_stands_for_bundle_and_kernels(tmp_path: Path) -> None:
    bundles = [open_bundle(INT8), open_bundle(write(tmp_path, random_model({}), "int8"))]

    names = {packed_name(bundle, kernels) for bundle in bundles for kernels in ("avx2", "amx-int8")}

    assert len(names) == 4
    assert packed_name(bundles[0], "avx2") in names


@pytest.mark.parametrize(("max_files", "max_bytes"), [(2, 2**30), (9, 1000), (1, 2**30)])
def test_files_that_were_not_opened_for_the_longest_time_are_removed_beyond_the_limits(
    max_files: int, max_bytes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(weights_cache, "MAX_FILES", max_files)
    monkeypatch.setattr(weights_cache, "MAX_BYTES", max_bytes)
    cache, content = WeightsCache(tmp_path), bytes(468)

    def opened(name: str) -> bytes:
        file = cache.open(name, lambda: iter([memoryview(content)]))
        assert file is not None
        with file:
            file.seek(0)
            return file.read()[:468]

    (tmp_path / "of others").touch()
    for name in ("a", "b", "a", "c"):
        assert opened(f"packed-{name}") == content
        time.sleep(0.02)  # a file system's times are coarse

    left = {path.name.removeprefix("packed-") for path in tmp_path.iterdir()}
    assert left == {"of others", "c"} | (set() if max_files == 1 else {"a"})
    assert opened("packed-b") == content


def _open_repeatedly(folder: Path, begin: Any) -> None:
    begin.wait(TIMEOUT_S)
    for _ in range(5):
        for path in folder.glob("*"):
            path.unlink(missing_ok=True)
        found = numbers(WeightsCache(folder))
        assert found.tobytes() == numbers(None).tobytes()


def test_processes_that_write_and_remove_a_file_at_once_all_have_whole_weights(cache: WeightsCache) -> None:
    context = multiprocessing.get_context("fork")
    begin = context.Barrier(3)
    processes = [context.Process(target=_open_repeatedly, args=(cache.folder, begin)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(TIMEOUT_S)

    assert [process.exitcode for process in processes] == [0, 0, 0]


def test_a_model_keeps_weights_whose_file_is_removed(cache: WeightsCache, expected: Logprobs) -> None:
    model = NativeModel(open_bundle(INT8), cache=cache)
    [path] = cache.folder.iterdir()
    path.unlink()

    np.testing.assert_array_equal(numbers(cache), expected)
    assert model.kernels
