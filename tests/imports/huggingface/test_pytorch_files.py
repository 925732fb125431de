"""Files of `torch.save` are read without PyTorch, and nothing in them is run or trusted."""

import collections
import io
import os
import pickle
import tracemalloc
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from export.tensors.pytorch_file import read_pytorch
from export.tensors.tensor import StoredTensor, TensorFileError
from tests.imports.export.rejections import message_of

TENSORS = {
    "matrix": torch.arange(12.0).reshape(3, 4),
    "transposed": torch.arange(12.0).reshape(3, 4).T,
    "rows": torch.arange(12.0).reshape(6, 2)[2:5],
    "scalar": torch.tensor(2.5),
    "empty": torch.zeros(0, 3),
    "half": torch.tensor([1.5, -0.1, 65504.0]).half(),
    "bfloat16": torch.tensor([1.5, -0.1, 3e38]).bfloat16(),
    "parameter": torch.nn.Parameter(torch.ones(2, 2)),
}


def save(path: Path, content: object, *, is_zip: bool) -> Path:
    torch.save(content, path, _use_new_zipfile_serialization=is_zip)
    return path


def problem(path: Path) -> str:
    return message_of(TensorFileError, read_pytorch, path)


@pytest.mark.parametrize("is_zip", [True, False])
def test_every_kind_of_tensor_has_the_values_that_pytorch_saved(tmp_path: Path, *, is_zip: bool) -> None:
    path = save(tmp_path / "weights.bin", collections.OrderedDict(TENSORS), is_zip=is_zip)

    found = read_pytorch(path)

    assert found.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        expected = tensor.detach().float().numpy()
        assert found[name].shape == expected.shape
        assert str(tensor.dtype) == f"torch.{found[name].dtype}"
        np.testing.assert_array_equal(found[name].read(), expected)


@pytest.mark.parametrize("is_zip", [True, False])
def test_tied_tensors_are_equal_without_being_read(tmp_path: Path, *, is_zip: bool) -> None:
    table = torch.ones(4, 3)

    found = read_pytorch(save(tmp_path / "weights.bin", {"a": table, "b": table}, is_zip=is_zip))

    assert found["a"] == found["b"]


class Call:
    """Pickled, it is a call of a function."""

    def __init__(self, function: object, *arguments: object) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return self.call


@pytest.mark.parametrize(
    ("content", "name"),
    [
        (Call(os.mkdir, "sprung"), f"{os.name}.mkdir"),
        (Call(eval, "1"), "__builtin__.eval"),
        (Call(getattr, "a", "b"), "__builtin__.getattr"),
        (np.float32(1), "numpy"),
        (Path("a"), f"{type(Path()).__module__}.PosixPath"),  # `pathlib._local` in Python 3.13
        (torch.device("cpu"), "torch.device"),
    ],
    ids=["mkdir", "eval", "getattr", "numpy", "path", "device"],
)
@pytest.mark.parametrize("is_zip", [True, False])
def test_every_other_name_is_rejected_by_name_and_not_run(
    content: object, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_zip: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    path = save(tmp_path / "weights.bin", {"weight": content}, is_zip=is_zip)

    assert f"it was not run: {name}" in problem(path)
    path.write_bytes(pickle.dumps({"weight": content}, protocol=2))
    assert "weights.bin" in problem(path)
    assert not (tmp_path / "sprung").exists()


def written(
    path: Path, pickled: bytes, storage: bytes = b"\0" * 16, method: int = zipfile.ZIP_STORED
) -> Path:
    """A .zip as `torch.save` writes it, with any pickle."""
    with zipfile.ZipFile(path, "w", method) as members:
        members.writestr("a/data.pkl", pickled)
        members.writestr("a/data/0", storage)
    return path


class _Pickler(pickle.Pickler):
    def persistent_id(self, content: object) -> object:
        return content if isinstance(content, tuple) and content[:1] == ("storage",) else None


def tensor_pickle(first: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> bytes:
    """Of one tensor in float32 with a storage of four elements."""
    buffer = io.BytesIO()
    storage = ("storage", torch.FloatStorage, "0", "cpu", 4)
    _Pickler(buffer, 2).dump({"w": Call(torch._utils._rebuild_tensor_v2, storage, first, shape, strides)})
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("first", "shape", "strides"),
    [(0, (5,), (1,)), (1, (4,), (1,)), (0, (2, 2), (4, 1)), (-1, (2,), (1,)), (0, (2,), (-1,))],
)
def test_a_tensor_beyond_its_storage_is_rejected(
    first: int, shape: tuple[int, ...], strides: tuple[int, ...], tmp_path: Path
) -> None:
    whole = read_pytorch(written(tmp_path / "whole.bin", tensor_pickle(0, (2, 2), (2, 1))))
    assert whole["w"].read().tolist() == [[0.0, 0.0], [0.0, 0.0]]

    found = problem(written(tmp_path / "weights.bin", tensor_pickle(first, shape, strides)))

    assert "exceeds its storage" in found or "is not valid" in found


def test_a_tensor_that_repeats_one_element_is_rejected() -> None:
    with pytest.raises(TensorFileError, match="share memory"):
        StoredTensor(Path("a"), "float32", 0, 4, (2**40, 2**20), (0, 0))


def test_compressed_storages_are_rejected(tmp_path: Path) -> None:
    path = written(tmp_path / "weights.bin", tensor_pickle(0, (4,), (1,)), method=zipfile.ZIP_DEFLATED)

    assert problem(path) == "weights.bin is compressed, which is not supported"


def test_a_truncated_older_file_is_rejected(tmp_path: Path) -> None:
    path = save(tmp_path / "weights.bin", {"weight": torch.ones(1000)}, is_zip=False)
    path.write_bytes(path.read_bytes()[:-8])

    assert problem(path) == "weights.bin is truncated"


MEMO_INDEXES = st.integers(10, 2**22)


@given(
    before=st.sampled_from([b"", pickle.dumps(1, 2), pickle.dumps(["a"] * 9, 2)[:-1]]),
    claimed=MEMO_INDEXES.map(lambda index: b"r" + index.to_bytes(4, "little"))
    | MEMO_INDEXES.map(lambda index: b"p%d\n" % index),
)
@pytest.mark.parametrize("is_zip", [True, False])
def test_indexes_that_a_file_only_claims_take_no_memory(
    before: bytes, claimed: bytes, *, is_zip: bool
) -> None:
    content = b"\x80\x02N" + before.removeprefix(b"\x80\x02") + claimed + b"."
    with TemporaryDirectory() as folder:
        path = Path(folder, "weights.bin")
        if is_zip:
            with zipfile.ZipFile(path, "w") as members:
                members.writestr("a/data.pkl", content)
        else:
            path.write_bytes(content)
        tracemalloc.start()
        try:
            assert "weights.bin" in problem(path)
            assert tracemalloc.get_traced_memory()[1] < 2**20
        finally:
            tracemalloc.stop()
