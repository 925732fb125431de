"""Every file format of weights, and malicious files."""

import collections
import io
import json
import os
import pickle
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load_file, save_file
from torch import Tensor

from export.huggingface.weights import read_weights
from export.tensors.pytorch_file import read_pytorch
from export.tensors.tensor import StoredTensor, TensorFileError
from tests.imports.export.rejections import message_of
from tests.imports.huggingface.conftest import load, problems_of
from tests.imports.huggingface.make_models import edit_json, write_json

SAFE = "model.safetensors"
BIN = "pytorch_model.bin"
Copy = Callable[[Path], Path]


def weights_of(folder: Path) -> dict[str, Tensor]:
    """Of the imported model."""
    weights = load(folder).model.weights
    return {name: torch.from_numpy(weights[name]) for name in weights}


def add_tensors(folder: Path, more: dict[str, Tensor]) -> None:
    path = str(folder / SAFE)
    save_file({**load_file(path), **more}, path)


def split_in_two(tensors: dict[str, Tensor]) -> list[dict[str, Tensor]]:
    names = sorted(tensors)
    return [{name: tensors[name] for name in half} for half in (names[::2], names[1::2])]


def write_as(kind: str, folder: Path) -> None:
    """Replace the one safetensors file of a folder by files of another kind with the same tensors."""
    tensors = load_file(str(folder / SAFE))
    (folder / SAFE).unlink()
    if kind == "safetensors":
        save_file(tensors, str(folder / SAFE))
    elif kind == "bin":
        torch.save(tensors, folder / BIN)
    elif kind == "old bin":
        torch.save(tensors, folder / BIN, _use_new_zipfile_serialization=False)
    elif kind == "bin with tied tensors":
        names = ("model.shared.weight", "lm_head.weight", "model.encoder.embed_tokens.weight")
        table = next(tensors.pop(name) for name in names if name in tensors)
        torch.save(
            tensors | dict.fromkeys((*names, "model.decoder.embed_tokens.weight"), table), folder / BIN
        )
    else:
        is_safe = kind == "sharded safetensors"
        places: dict[str, str] = {}
        for number, part in enumerate(split_in_two(tensors)):
            shard = f"{'model' if is_safe else 'pytorch_model'}-{number + 1:05}-of-00002"
            shard += ".safetensors" if is_safe else ".bin"
            if is_safe:
                save_file(part, str(folder / shard))
            else:
                torch.save(part, folder / shard)
            places |= dict.fromkeys(part, shard)
        write_json(folder / f"{SAFE if is_safe else BIN}.index.json", {"metadata": {}, "weight_map": places})


@pytest.mark.parametrize(
    "kind", ["bin", "old bin", "bin with tied tensors", "sharded safetensors", "sharded bin"]
)
def test_every_format_has_the_same_weights(kind: str, marian_folder: Path, folder: Path) -> None:
    expected = weights_of(marian_folder)
    write_as(kind, folder)

    found = weights_of(folder)

    assert expected.keys() == found.keys()
    assert all(torch.equal(expected[name], found[name]) for name in expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_becomes_float32_with_the_same_values(dtype: torch.dtype, folder: Path) -> None:
    halves = {name: tensor.to(dtype) for name, tensor in load_file(str(folder / SAFE)).items()}
    save_file(halves, str(folder / SAFE))

    weights = weights_of(folder)

    table = halves["model.shared.weight"].float()
    assert torch.equal(weights["source_embedding.weight"], table)
    assert {tensor.dtype for tensor in weights.values()} == {torch.float32}
    assert load(folder).origin["dtype"] == str(dtype).removeprefix("torch.")


def test_weights_in_float32_stay_in_their_file(marian_folder: Path) -> None:
    maps = Path("/proc/self/maps")
    if not maps.exists():
        pytest.skip("only Linux tells what is mapped")

    table = load(marian_folder).model.weights["source_embedding.weight"]

    assert str(marian_folder / SAFE) in maps.read_text(encoding="utf8")
    del table
    assert str(marian_folder / SAFE) not in maps.read_text(encoding="utf8")


def test_unused_tensors_of_older_releases_are_ignored(
    nllb_folder: Path, marian_folder: Path, copy_of: Copy
) -> None:
    folder = copy_of(nllb_folder)
    for stack in ("encoder", "decoder"):
        old = {"embed_positions.weights": torch.randn(130, 32), "version": torch.tensor([3.0])}
        add_tensors(folder, {f"model.{stack}.{name}": tensor for name, tensor in old.items()})
    torch.testing.assert_close(weights_of(folder), weights_of(nllb_folder), rtol=0.0, atol=0.0)

    folder = copy_of(marian_folder)
    positions = torch.from_numpy(load(folder).model.source_positions).half()
    names = (f"model.{stack}.embed_positions.weight" for stack in ("encoder", "decoder"))
    add_tensors(folder, {name: positions.clone() for name in names})
    assert weights_of(folder).keys() == weights_of(marian_folder).keys()


def test_positions_other_than_computed_ones_are_rejected(folder: Path) -> None:
    add_tensors(folder, {"model.decoder.embed_positions.weight": torch.randn(128, 32)})

    assert problems_of(folder) == (
        "model.decoder.embed_positions.weight differs from the sinusoidal positions of MarianMTModel",
    )


def test_every_wrong_tensor_is_named(folder: Path) -> None:
    tensors = load_file(str(folder / SAFE))
    del tensors["model.encoder.layers.1.fc1.bias"], tensors["model.shared.weight"]
    tensors["model.encoder.layer_norm.weight"] = torch.ones(32)
    tensors["model.decoder.layers.0.fc2.bias"] = torch.ones(32, dtype=torch.int8)
    save_file(tensors, str(folder / SAFE))

    assert problems_of(folder) == (
        "lm_head.weight is missing",
        "model.decoder.embed_tokens.weight is missing",
        "model.decoder.layers.0.fc2.bias is int8; only 16-bit and 32-bit floats are supported",
        "model.encoder.embed_tokens.weight is missing",
        "model.encoder.layer_norm.weight is not a weight of MarianMTModel",
        "model.encoder.layers.1.fc1.bias is missing",
    )


def test_tensors_of_another_shape_than_configured_are_rejected(folder: Path) -> None:
    edit_json(folder / "config.json", {"encoder_ffn_dim": 24})

    (first, *_) = problems_of(folder)

    assert first.startswith("encoder.0.feed_forward.inner.weight has shape [48, 32]")
    assert len(problems_of(folder)) == 2 * 3


@pytest.mark.parametrize(
    "place",
    [
        "../model.safetensors",
        "/etc/passwd",
        "sub/model.safetensors",
        "..\\model.safetensors",
        "gone.safetensors",
    ],
)
def test_an_index_with_files_outside_its_folder_is_rejected(place: str, folder: Path) -> None:
    (folder / SAFE).rename(folder.parent / SAFE)
    write_json(folder / f"{SAFE}.index.json", {"weight_map": {"model.shared.weight": place}})

    assert problems_of(folder) == (f"{SAFE}.index.json names {place!r}, which is not a file in this folder",)


def test_an_index_that_does_not_match_its_shards_is_rejected(folder: Path) -> None:
    write_as("sharded safetensors", folder)
    index = folder / f"{SAFE}.index.json"
    content = json.loads(index.read_text(encoding="utf8"))
    shard = next(iter(content["weight_map"].values()))
    write_json(index, {"weight_map": content["weight_map"] | {"model.more": shard}})
    assert problems_of(folder) == (f"{index.name} lists model.more, which is missing in {shard}",)

    other = next(name for name in content["weight_map"].values() if name != shard)
    both = load_file(str(folder / shard)) | load_file(str(folder / other))
    save_file(both, str(folder / other))
    write_json(index, content)
    assert f"final_logits_bias is in {other} and in an earlier file" in problems_of(folder)

    write_json(index, {"weight_map": {"a": shard, "b": 1}})
    assert problems_of(folder) == (f"{index.name} has no weight_map from names to files",)


@pytest.mark.parametrize("kind", ["empty", "cut", "text", "header"])
@pytest.mark.parametrize("name", [SAFE, BIN])
def test_a_damaged_file_is_rejected_by_name(kind: str, name: str, folder: Path) -> None:
    if name == BIN:
        write_as("bin", folder)
    whole = (folder / name).read_bytes()
    damaged = {
        "empty": b"",
        "cut": whole[: len(whole) // 2],
        "text": b"no weights\n" * 100,
        "header": (2**62).to_bytes(8, "little") + whole[8:],
    }
    (folder / name).write_bytes(damaged[kind])

    assert problems_of(folder)[0].startswith(name)


def test_a_file_that_is_not_a_mapping_of_tensors_is_rejected(folder: Path) -> None:
    (folder / SAFE).unlink()
    for content in ([torch.ones(2)], {"model.shared.weight": "a string"}):
        torch.save(content, folder / BIN)
        assert problems_of(folder) == (f"{BIN} is not a mapping from names to tensors",)


def test_safetensors_are_preferred(folder: Path) -> None:
    (folder / BIN).write_bytes(b"never read")

    assert read_weights(folder).file == SAFE


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
