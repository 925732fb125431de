"""A student's integers, scales, ranges and candidates become those of the bundle, not rounded again."""

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import numpy_helper

from dragoman.bundle import open_bundle
from dragoman.loading import open_tokenizers
from dragoman.pipeline.preparation import Preparer
from dragoman.reading.reader import Reader
from export.bergamot.compressed import decompressed
from export.model_weights import OUTPUT_BIAS
from export.original import ImportRejectedError, Original
from export.reference import ReferenceGraphs
from export.sources import found, load_original
from tests.imports.bergamot.student_files import NUM_ALWAYS, round_weight
from tests.imports.bergamot.students import EOS_ID, PAIR, UNK_ID, Student, import_student
from tests.imports.export.rejections import ANY, message_of

MARIANS = {
    "encoder.0.self_attention.query": "encoder_l1_self_Wq",
    "encoder.1.feed_forward.outer": "encoder_l2_ffn_W2",
    "decoder.1.cross_attention.output": "decoder_l2_context_Wo",
    "decoder.0.self_recurrence.cell": "decoder_l1_rnn_W",
}


def read(student: Student) -> Original:
    return load_original(student.folder, ANY)


def weights_of(path: Path) -> Mapping[str, NDArray[Any]]:
    """Return the constants of a graph by name."""
    return {each.name: numpy_helper.to_array(each) for each in onnx.load(path).graph.initializer}


@pytest.mark.parametrize("name", ["shared", "separate", "attention", "differing-ranges", "no-ranges"])
def test_int8_bundles_have_the_integers_and_ranges_of_the_file(
    name: str, students: dict[str, Student], tmp_path: Path
) -> None:
    student = students[name]
    import_student(student, tmp_path / "bundle")

    graphs = {side: weights_of(tmp_path / "bundle" / f"{side}.onnx") for side in ("encoder", "decoder")}

    stored = {theirs: round_weight(array).integers for theirs, array in student.arrays.items()}
    found = [
        weight.T if "weight" in name else weight
        for graph in graphs.values()
        for name, weight in graph.items()
        if weight.dtype == np.int8 and weight.ndim == 2
    ]
    rows = {row.tobytes() for weight in found for row in weight}
    matrices = [name for name in stored if "_W" in name[-3:] or "Wemb" in name]
    assert len(matrices) > 20
    for theirs in matrices:
        expected = stored[theirs] if "Wemb" in theirs else stored[theirs].T
        assert {row.tobytes() for row in expected} <= rows, theirs

    constants = graphs["encoder"].items()
    steps = [float(value.reshape(-1)[0]) for key, value in constants if key.startswith("scalar.")]
    for theirs in ("encoder_l1_self_Wq", "encoder_l1_self_Wk", "encoder_l2_ffn_W1", "decoder_l1_context_Wk"):
        if name != "no-ranges":
            step = 1 / student.ranges[f"{theirs}_QuantMultA"]
            assert any(each == pytest.approx(step, rel=1e-6) for each in steps), theirs


@pytest.mark.parametrize("name", ["shared", "differing-ranges"])
def test_ranges_and_scales_are_those_of_the_file(name: str, students: dict[str, Student]) -> None:
    student = students[name]
    quantisation = read(student).model.quantisation
    assert quantisation is not None

    for ours, theirs in MARIANS.items():
        clip = 127 / student.ranges[f"{theirs}_QuantMultA"]
        assert quantisation.ranges[ours].clip == pytest.approx(clip)
        assert quantisation.ranges[ours].is_signed
        scale = 1 / round_weight(student.arrays[theirs]).multiplier
        assert quantisation.scales[ours] == pytest.approx(scale)
    assert quantisation.ranges["output"].clip == pytest.approx(127 / student.ranges["none_QuantMultA"])
    assert len(quantisation.ranges) == len(student.ranges)


def test_fp32_bundles_have_each_integer_divided_by_its_multiplier(students: dict[str, Student]) -> None:
    student = students["shared"]
    weights = read(student).model.weights

    for ours, theirs in MARIANS.items():
        rounded = round_weight(student.arrays[theirs])
        expected = rounded.integers.T / rounded.multiplier
        np.testing.assert_allclose(weights[f"{ours}.weight"], expected, rtol=1e-6)


def test_a_student_without_integers_keeps_its_weights(students: dict[str, Student]) -> None:
    student = students["float"]
    model = read(student).model

    assert model.quantisation is None
    expected = student.arrays["encoder_l1_self_Wq"].T
    assert np.array_equal(model.weights["encoder.0.self_attention.query.weight"], expected)


@pytest.mark.parametrize("name", ["shared", "separate"])
def test_candidates_of_a_source_are_those_of_the_lexicon(name: str, students: dict[str, Student]) -> None:
    student = students[name]
    original = read(student)
    shortlist = original.shortlist
    assert shortlist is not None
    source = [77, 33, 99, EOS_ID]

    expected = set(range(NUM_ALWAYS)).union(*(student.lists[piece] for piece in source))
    if name == "shared":
        expected |= set(source)  # one vocabulary: each piece may be copied
    assert set(shortlist.candidates(source).tolist()) == expected


def test_the_manifest_records_where_the_model_comes_from(students: dict[str, Student]) -> None:
    original = read(students["shared"])

    assert original.kind == "Bergamot student (Marian binary)"
    assert original.origin["weights"] == "29 of 107 items intgemm8, ranges of activations"
    assert original.origin["lexical_shortlist"] == "lex.50.50.deen.s2t.bin"
    assert len(original.origin["model_sha256"]) == 64
    assert "max-length-factor" in original.origin["decoder_options_not_used"]
    assert not {"shortlist", "gemm-precision"} & set(original.origin["decoder_options_not_used"])
    assert (original.decoding.beam_size, original.decoding.length_penalty) == (1, 1.0)
    assert original.model.config.suppressed_ids == (UNK_ID,)
    json.dumps(original.origin, allow_nan=False)


@pytest.mark.parametrize("layout", ["firefox", "gz", "settings"])
def test_every_layout_of_a_folder_is_the_same_model(layout: str, student: Student) -> None:
    folder = student.folder
    if layout != "settings":
        (folder / "config.yml").unlink()
    if layout == "gz":
        for path in [*folder.glob("*.bin"), *folder.glob("*.spm")]:
            path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()

    with found(str(folder)) as files:
        original = load_original(files.folder, ANY)

    assert original.decoding.beam_size == 1
    assert [*original.languages.sources, *original.languages.targets] == [*PAIR]
    assert original.shortlist is not None
    expected = student.arrays["decoder_ff_logit_out_b"][0]
    assert np.array_equal(original.model.weights[OUTPUT_BIAS][:-1], expected)


@pytest.mark.parametrize(
    ("folder_name", "file_name", "info", "expected"),
    [
        ("some", "model.bin", {"srcTags": {"et": "Estonian"}, "trgTag": "en"}, ("et", "en")),
        ("ende.student.tiny11", "model.intgemm.alphas.bin", None, ("en", "de")),
        ("some", "model.csen.intgemm.alphas.bin", None, ("cs", "en")),
        ("de-en", "model.bin", None, ("de", "en")),
    ],
)
def test_languages_come_from_the_package_or_from_names(
    folder_name: str, file_name: str, info: object, expected: tuple[str, str], student: Student
) -> None:
    folder = student.folder.rename(student.folder.with_name(folder_name))
    next(folder.glob("model.*.bin")).rename(folder / file_name)
    (folder / "config.yml").unlink()
    if info is not None:
        (folder / "model_info.json").write_text(json.dumps(info), encoding="utf8")

    languages = load_original(folder, ANY).languages

    assert (*languages.sources, *languages.targets) == expected


def test_sampled_inputs_reach_the_bundle_as_ids_of_the_vocabulary(
    students: dict[str, Student], tmp_path: Path
) -> None:
    student = students["shared"]
    import_student(student, tmp_path / "bundle")
    bundle = open_bundle(tmp_path / "bundle")
    preparer = Preparer(bundle.manifest.languages, bundle.manifest.limits, Reader(open_tokenizers(bundle)[0]))

    found = preparer.encode(student.lines(20), PAIR)

    assert found == student.encode(student.lines(20))


def test_a_damaged_or_too_large_gz_is_rejected_by_name(tmp_path: Path) -> None:
    path = tmp_path / "model.deen.bin.gz"
    for content, problem in (
        (gzip.compress(bytes(10**6)), "unpacks to more than"),  # a thousandth of its content
        (gzip.compress(np.random.default_rng(0).bytes(1000))[:-20], "cannot be decompressed"),
    ):
        path.write_bytes(content)
        found = message_of(ImportRejectedError, decompressed(tmp_path).__enter__)
        assert f"model.deen.bin.gz: {problem}" in found


def test_the_float_graphs_are_marians_formulas(students: dict[str, Student]) -> None:
    student = students["float"]
    model = read(student).model
    sources = student.sources(30)

    found, _ = ReferenceGraphs(model).greedy(sources, (model.config.bos_id,), [20] * len(sources))

    reference = student.reference()
    reference.arrays.update({name: array.astype(np.float64) for name, array in student.arrays.items()})
    expected = [reference.greedy(source, 19, EOS_ID, (UNK_ID,)) for source in sources]
    assert [ids[:19] for ids in found] == expected
