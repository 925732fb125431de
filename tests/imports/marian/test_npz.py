"""Arrays are read as numbers, and untrusted files can do nothing else."""

import io
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from export.marian.archive import ArchiveLimits
from export.marian.npz import array_names, read_arrays
from export.original import ImportRejectedError
from tests.imports.export.rejections import message_of


class _Touch:
    """Pickled, it makes a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.path),)


def _rejection(path: Path, limits: ArchiveLimits | None = None) -> str:
    return message_of(ImportRejectedError, read_arrays, path, limits)


def _zip(path: Path, *members: tuple[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in members:
            packed.writestr(name, content)
    return path


def _header(shape: tuple[int, ...], dtype: str = "<f4") -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array_header_1_0(buffer, {"descr": dtype, "fortran_order": False, "shape": shape})
    return buffer.getvalue()


def test_arrays_written_by_numpy_are_read_unchanged(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    arrays: dict[str, Any] = {
        "special:model.yml": np.frombuffer(b"type: transformer\0", np.int8),
        "matrix": rng.normal(size=(3, 4)).astype(np.float32),
        "columns first": np.asfortranarray(rng.normal(size=(3, 4))),
        "half": rng.normal(size=5).astype(np.float16),
        "nothing": np.zeros((0, 7), np.float32),
    }
    for number, save in enumerate((np.savez, np.savez_compressed)):
        path = tmp_path / f"{number}.npz"
        save(path, **arrays)

        found = read_arrays(path)

        assert found.keys() == arrays.keys() == array_names(path)
        for name, array in arrays.items():
            np.testing.assert_array_equal(found[name], array)
            assert found[name].dtype == array.dtype


def test_objects_are_not_unpickled(tmp_path: Path) -> None:
    proof, path = tmp_path / "proof", tmp_path / "bad.npz"
    attack = np.empty(1, object)
    attack[0] = _Touch(proof)
    np.savez(path, fine=np.zeros(3), bad=attack)

    message = _rejection(path)

    assert "bad contains Python objects" in message
    assert "fine" not in message
    assert not proof.exists()


def test_a_pickle_instead_of_an_array_is_not_loaded(tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    attack, array = pickle.dumps(_Touch(proof)), _header((4,)) + bytes(16)
    path = _zip(
        tmp_path / "bad.npz",
        ("weights.npy", attack),
        ("weights.pkl", attack),
        ("fine", array),  # it would go by the name of fine.npy
    )

    message = _rejection(path)

    for name in ("weights", "weights.pkl", "fine"):
        assert f"{name} is not an array" in message
    assert not proof.exists()


@pytest.mark.parametrize(
    ("shape", "dtype"), [((10**15,), "<f4"), ((2, 3), "<f4"), ((-1, -4), "<f4"), ((4,), "<f8"), ((), "<U99")]
)
def test_a_wrong_header_does_not_allocate_memory(shape: tuple[int, ...], dtype: str, tmp_path: Path) -> None:
    member = ("weights.npy", _header(shape, dtype) + bytes(16))

    assert "weights" in _rejection(_zip(tmp_path / "bad.npz", member))


def test_arrays_over_the_limits_are_rejected_before_reading(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    zeros = np.zeros(100_000)
    np.savez_compressed(path, one=zeros, two=zeros, three=zeros)
    size_bytes = path.stat().st_size

    assert "the limit is 2" in _rejection(path, ArchiveLimits(num_members=2, ratio=1e9))
    assert "the limit is 1000000" in _rejection(path, ArchiveLimits(size_bytes=1_000_000, ratio=1e9))
    assert f"more than 100 times its size of {size_bytes}" in _rejection(path)
    assert len(read_arrays(path, ArchiveLimits(ratio=1e9))) == 3


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
def test_a_duplicate_array_is_rejected(tmp_path: Path) -> None:
    member = ("weights.npy", _header((4,)) + bytes(16))

    assert "'weights.npy'" in _rejection(_zip(tmp_path / "twice.npz", member, member))


@given(st.binary(max_size=300), st.integers(0, 1000), st.integers(0, 1000))
def test_a_damaged_file_raises_only_import_rejected_error(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes, begin: int, end: int
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "some.npz"
    np.savez_compressed(path, weights=np.arange(50.0), more=np.arange(3))
    content = path.read_bytes()
    path.write_bytes(content[:begin] + noise + content[end:])

    try:
        found = read_arrays(path)
    except ImportRejectedError:
        return
    assert all(array.dtype.kind in "if" for array in found.values())
