"""Files of every version and type of weights are read as CTranslate2 reads them."""

import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from dragoman.manifest import AlignmentHeads
from export.bundle import BundleMetadata, write_bundle
from export.calibration import Sample
from export.ctranslate2.binary import read_model_file
from export.ctranslate2.placement import MAX_POSITIONS
from export.ctranslate2.values import QuantisedRows, take_rows
from export.graph.precision import quantise_channels
from export.model_weights import POSITIONS, weight_shapes
from export.original import Original
from export.reference import ReferenceGraphs
from export.sources import load_original
from export.tensors.tensor import StoredTensor
from tests.imports.ctranslate2_import.ct2_golden import GOLDEN_FILE, NUM_GOLDEN
from tests.imports.ctranslate2_import.ct2_imported import LIMITS, MAX_TOKENS
from tests.imports.ctranslate2_import.ct2_written import (
    SPECIAL,
    VARIANTS,
    WIDTH,
    Ct2Variant,
    arrays_of,
    save_binary,
    source_table,
    sources_of,
    vocabularies_of,
    write_ct2_folder,
)
from tests.imports.export.rejections import GERMAN_TO_ENGLISH

GOLDEN = json.loads(GOLDEN_FILE.read_text(encoding="utf8"))
QUERY = "encoder.0.self_attention.query"
FUSED = "encoder/layer_0/self_attention/linear_0/weight"


def read(folder: Path, variant: Ct2Variant) -> Original:
    return load_original(write_ct2_folder(folder, variant), GERMAN_TO_ENGLISH)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_model_translates_as_ctranslate2_does(name: str, tmp_path: Path) -> None:
    variant = VARIANTS[name]
    original = read(tmp_path, variant)
    source, target = original.languages.sources["de"], original.languages.targets["en"]
    sources = [[*source.before, *ids, *source.after] for ids in sources_of(variant, NUM_GOLDEN)]
    limits = [MAX_TOKENS + len(target.begin) - 1] * len(sources)

    found, _ = ReferenceGraphs(original.model).greedy(sources, target.begin, limits)

    assert found == [ids for ids, _ in GOLDEN[name]]


@pytest.mark.parametrize("name", VARIANTS)
def test_every_weight_has_the_shape_of_the_model(name: str, tmp_path: Path) -> None:
    model = read(tmp_path, VARIANTS[name]).model

    shapes = {weight: model.weights[weight].shape for weight in model.weights if weight != POSITIONS}

    assert shapes == {name: shape for name, shape in weight_shapes(model.config).items() if name != POSITIONS}
    assert all(model.weights[weight].flags.aligned for weight in model.weights)


@pytest.mark.parametrize(("dtype", "tolerance"), [("int8", 1 / 127), ("int16", 1 / 1024), ("bfloat16", 0.01)])
def test_rounded_weights_are_near_those_that_were_rounded(
    dtype: str, tolerance: float, tmp_path: Path
) -> None:
    variant = Ct2Variant(dtype=dtype)
    weight = arrays_of(variant)[FUSED][:WIDTH]

    found = read(tmp_path, variant).model.weights[f"{QUERY}.weight"]

    assert 0 < np.abs(found - weight).max() <= tolerance * np.abs(weight).max()


def test_int8_weights_rounded_again_are_the_same_integers(tmp_path: Path) -> None:
    variant = Ct2Variant(dtype="int8", is_shared=False)
    tensors = read(tmp_path, variant).model.weights._tensors

    quantised = [tensor for tensor in tensors.values() if isinstance(tensor, QuantisedRows)]

    assert len(quantised) == 3 + 2 * (4 + 2) + 2 * (8 + 2)
    for tensor in quantised:
        integers, scales = quantise_channels(tensor.read())
        assert np.array_equal(integers, tensor.integers())
        stored = np.array(tensor.scales)[tensor.first : tensor.first + tensor.num_rows]
        assert np.allclose(scales * stored, 1, rtol=1e-6)


def test_an_int8_bundle_has_the_integers_of_the_file(tmp_path: Path) -> None:
    original = read(tmp_path / "original", Ct2Variant(dtype="int8", is_shared=False))
    (tmp_path / "bundle").mkdir()
    begin = original.languages.targets["en"].begin
    samples = [Sample(ids, begin) for ids in sources_of(VARIANTS["int8"], 20)]
    write_bundle(tmp_path / "bundle", original, "int8", BundleMetadata("int8", "none", LIMITS), samples)
    graph = onnx.load(tmp_path / "bundle" / "encoder.onnx").graph
    weights = {each.name: onnx.numpy_helper.to_array(each) for each in graph.initializer}

    joined = read_model_file(tmp_path / "original" / "model.bin").variables[FUSED]

    integers = take_rows(joined, _ones(joined.shape[0], tmp_path), 0, 1).read()
    assert np.array_equal(weights[f"{QUERY}.weight"].T, integers)


def _ones(count: int, folder: Path) -> StoredTensor:
    """Return scales that change nothing."""
    path = folder / "ones"
    path.write_bytes(np.ones(count, np.float32).tobytes())
    return StoredTensor(path, "float32", 0, 4 * count, (count,))


def test_a_vector_of_zeros_starts_a_target_and_is_never_produced(tmp_path: Path) -> None:
    variant = VARIANTS["marian"]
    original = read(tmp_path, variant)
    model, (_, target) = original.model, vocabularies_of(variant)

    assert model.config.bos_id == len(target)
    assert original.languages.targets["en"].begin == (len(target),)
    assert not model.target_embedding[-1].any()
    assert model.weights["output_bias"][-1] == -np.inf


@pytest.mark.parametrize(
    ("number", "activation"), [(0, "relu"), (1, "gelu_tanh"), (2, "swish"), (3, "gelu"), (4, "quick_gelu")]
)
def test_activations_are_those_of_ctranslate2s_enumeration(
    number: int, activation: str, tmp_path: Path
) -> None:
    assert read(tmp_path, Ct2Variant(activation=number)).model.config.activation == activation


@pytest.mark.parametrize(
    ("prefix", "layer", "heads", "expected"),
    [
        ("decoder/", -1, 1, None),
        ("decoder/", -1, 0, None),
        ("decoder/", -1, 2, AlignmentHeads(1, (0, 1), reads_token=False)),
        ("decoder/", 0, 1, AlignmentHeads(0, (0,), reads_token=False)),
        ("decoder/", -2, 0, AlignmentHeads(0, (0, 1, 2, 3), reads_token=False)),
        ("", 0, 1, AlignmentHeads(0, (0,), reads_token=False)),
    ],
)
def test_words_are_aligned_by_the_attention_of_the_attributes(
    prefix: str, layer: int, heads: int, expected: AlignmentHeads | None, tmp_path: Path
) -> None:
    variant = Ct2Variant(revision=7 if prefix else 6)
    write_ct2_folder(tmp_path, variant)
    numbers = {"layer": np.array(layer, np.int16), "heads": np.array(heads, np.int16)}
    changes = {f"{prefix}alignment_{name}": number for name, number in numbers.items()}
    aliases = {"decoder/embeddings/weight": source_table(variant)}
    save_binary(tmp_path / "model.bin", arrays_of(variant) | changes, aliases, variant)

    assert load_original(tmp_path, GERMAN_TO_ENGLISH).alignment == expected


def test_positions_beyond_the_limit_are_left_out(tmp_path: Path) -> None:
    model = read(tmp_path, Ct2Variant(stored_positions=MAX_POSITIONS + 76)).model

    assert model.config.max_positions == MAX_POSITIONS
    assert model.source_positions.shape == (MAX_POSITIONS, WIDTH)


@pytest.mark.parametrize(
    ("settings", "before", "after"),
    [
        ({}, (), ()),
        ({"add_source_eos": True}, (), ("</s>",)),
        ({"add_source_bos": True}, ("<s>",), ()),
        ({"decoder_start_token": "</s>"}, (), ("</s>",)),
        ({"decoder_start_token": "<blank>", "add_source_bos": True}, ("<s>",), ()),
    ],
)
def test_a_source_gets_what_the_settings_or_transformers_add(
    settings: dict[str, object], before: tuple[str, ...], after: tuple[str, ...], tmp_path: Path
) -> None:
    source = read(tmp_path, Ct2Variant(settings=settings)).languages.sources["de"]

    assert [SPECIAL[index] for index in source.before] == [*before]
    assert [SPECIAL[index] for index in source.after] == [*after]
