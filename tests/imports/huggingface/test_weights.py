"""Every file format of weights, and malicious files."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from export.huggingface.weights import read_weights
from tests.imports.huggingface.loading import load, problems_of
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
