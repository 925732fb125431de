"""`python -m export` writes a complete, validated bundle, or none."""

import dataclasses
import json
import shutil
import subprocess
import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import numpy_helper

from dragoman import Translator
from dragoman.bundle import file_sha256, open_bundle, read_bundle
from dragoman.contract import INT8
from dragoman.languages import Languages, TargetLanguage
from dragoman.manifest import DecodingDefaults, FileRecord, ModelLimits
from dragoman.types import Pair
from export.__main__ import main
from export.activation_ranges import Quantisation
from export.bundle import (
    BundleMetadata,
    ExportError,
    check_exportable,
    staged_folder,
    write_bundle,
    write_manifest,
)
from export.graph.precision import PRECISIONS, make_writer, quantise_channels
from export.model import ModelConfig
from export.model_weights import OUTPUT_BIAS, weight_shapes
from export.samples import SampleText
from export.validation import (
    MAX_LOGPROB_DIFFERENCE,
    MAX_RMS_DIFFERENCE,
    MIN_EQUAL_SENTENCES,
    open_original,
    validate,
    validate_in_fresh_process,
)
from tests.imports.export.conftest import CHECKPOINT, RunMain, tiny_original
from tests.imports.export.rejections import ANY
from tests.paths import ROOT, TINY

SENTENCES = ROOT / "export" / "sentences" / "de.txt"
LIMITS = ("--max-source-tokens", "60", "--max-target-tokens", "64")
TEXTS = [SampleText(Pair("de", "en"), SENTENCES)]
ORIGINAL = tiny_original()


def facts() -> BundleMetadata:
    return BundleMetadata("tiny", "CC0-1.0", ModelLimits(48, 64))


def damage_weight(folder: Path, factor: float) -> None:
    """Scale one weight of the decoder and update the manifest, so that only the output differs."""
    path = folder / "decoder.onnx"
    graph = onnx.load(path)
    weight = next(w for w in graph.graph.initializer if w.name == "decoder.1.feed_forward.outer.weight")
    weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) * np.float32(factor), weight.name))
    onnx.save(graph, path)
    update_manifest(folder, path.name)


def update_manifest(folder: Path, *names: str) -> None:
    """Write the manifest as if these files had been exported so."""
    manifest = read_bundle(folder).manifest
    records = {name: FileRecord(file_sha256(folder / name), (folder / name).stat().st_size) for name in names}
    write_manifest(folder, dataclasses.replace(manifest, files={**manifest.files, **records}))


def score(beam_size: int, bleu: float) -> dict[str, Any]:
    return {
        "test_set": "somewhere",
        "beam_size": beam_size,
        "bleu": bleu,
        "chrf": 45.6,
        "bleu_signature": "sacrebleu",
    }


def test_the_command_writes_a_validated_bundle_with_the_training_record_and_scores(tmp_path: Path) -> None:
    bundle, scores = tmp_path / "models" / "de-en", tmp_path / "scores.json"
    scores.write_text(json.dumps({"results": [score(1, 11.11), score(4, 12.34)]}), encoding="utf8")
    options = ("--precision", "fp32", "--licence", "CC0-1.0", "--scores", scores, *LIMITS)
    command = [sys.executable, "-m", "export", str(CHECKPOINT), str(bundle), *map(str, options)]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    manifest = open_bundle(bundle).manifest
    assert (manifest.name, manifest.precision, manifest.licence) == ("de-en", "fp32", "CC0-1.0")
    assert manifest.limits == ModelLimits(60, 64)
    assert manifest.scores["somewhere"]["bleu"] == 12.34
    assert manifest.origin["steps"] == json.loads((CHECKPOINT / "training.json").read_text())["steps"]
    assert "| somewhere | 12.3 | 45.6 |" in (bundle / "README.md").read_text(encoding="utf8")
    assert [path.name for path in bundle.parent.iterdir()] == ["de-en"], "nothing temporary is left behind"


def test_a_rejected_export_keeps_the_old_bundle(tmp_path: Path, run_main: RunMain) -> None:
    bundle = tmp_path / "de-en"
    shutil.copytree(TINY / "bundle-fp32", bundle)
    few = tmp_path / "few.txt"
    few.write_text("Guten Morgen!\n", encoding="utf8")
    before = (bundle / "manifest.json").read_bytes()

    done = run_main(main, CHECKPOINT, bundle, "--sentences", few, *LIMITS)

    assert done.status == 1
    assert "at least 200 are needed" in done.errors
    assert (bundle / "manifest.json").read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"de-en", "few.txt"}


FORCED = {"en": TargetLanguage((), (), (2, 5, 6))}


@pytest.mark.parametrize(
    ("heads", "decoding", "limits", "problem"),
    [
        (2, DecodingDefaults(), ModelLimits(64, 62), None),
        (2, DecodingDefaults(), ModelLimits(64, 63), "limits of 65 tokens exceed the model's 64 positions"),
        (4, DecodingDefaults(), ModelLimits(100, 60), "head size 4 .* limits of 100 tokens exceed"),
        (
            2,
            DecodingDefaults(beam_size=40),
            ModelLimits(8, 8),
            "the model's search defaults: beam_size: 40 is not between 1 and 32",
        ),
    ],
)
def test_limits_beyond_the_models_positions_and_unsupported_defaults_are_rejected_with_all_reasons(
    heads: int, decoding: DecodingDefaults, limits: ModelLimits, problem: str | None
) -> None:
    """Forced tokens take positions beyond the limit of a target."""
    config = ModelConfig(10, 10, d_model=16, heads=heads, max_positions=64)
    languages = Languages(tiny_original().languages.sources, FORCED)

    with pytest.raises(ExportError, match=problem) if problem else nullcontext():
        check_exportable(config, languages, decoding, limits)


@pytest.mark.parametrize(
    ("model", "options", "problem"),
    [
        (CHECKPOINT, ("--max-source-tokens", "100"), "exceed the model's 64 positions"),
        (CHECKPOINT, ("--precision", "fp16", "--shortlist-of", TINY), "needs --precision int8, not fp16"),
        (TINY, (), f"{TINY}: contains no supported model; supported are"),
    ],
)
def test_the_command_says_in_one_message_why_a_model_is_rejected(
    model: Path, options: tuple[str | Path, ...], problem: str, tmp_path: Path, run_main: RunMain
) -> None:
    done = run_main(main, model, tmp_path / "x", *options)

    assert done.status == 1
    assert problem in done.errors
    assert "Traceback" not in done.errors


def test_validation_accepts_an_exported_bundle_by_pytorch(tmp_path: Path) -> None:
    write_bundle(tmp_path, tiny_original(), "fp32", facts(), [])

    report = validate_in_fresh_process(tmp_path, CHECKPOINT, ANY, TEXTS, with_pytorch=True)

    assert report.problems == []
    assert report.num_equal == report.num_sentences >= 200
    assert report.max_logprob_difference <= 1e-4


@pytest.mark.parametrize(("precision", "cache_dtype"), [("int8", "int8"), ("fp16", "float16")])
def test_the_command_writes_every_precision(
    precision: str, cache_dtype: str, tmp_path: Path, run_main: RunMain
) -> None:
    few = tmp_path / "few.txt"
    few.write_text("".join(SENTENCES.read_text(encoding="utf8").splitlines(keepends=True)[:40]))

    done = run_main(
        main, CHECKPOINT, tmp_path / "de-en", "--precision", precision, "--calibration", few, *LIMITS
    )

    assert done.status == 0, done.errors
    manifest = open_bundle(tmp_path / "de-en").manifest
    assert (manifest.precision, manifest.cache_dtype) == (precision, cache_dtype)


def test_every_precision_has_validation_bounds() -> None:
    bounded = MAX_LOGPROB_DIFFERENCE.keys() | MAX_RMS_DIFFERENCE.keys()
    assert bounded == MIN_EQUAL_SENTENCES.keys() == set(PRECISIONS)


def test_an_unknown_precision_is_rejected_by_name(
    tmp_path: Path, run_main: RunMain, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run_main(main, CHECKPOINT, tmp_path / "x", "--precision", "int2")

    assert ended.value.code == 2
    assert "int2" in capsys.readouterr().err
    with pytest.raises(ValueError, match="int2"):
        make_writer("int2", None)


def test_int8_needs_calibration_text(tmp_path: Path) -> None:
    with pytest.raises(ExportError, match="int8 calibration needs sentences"):
        write_bundle(tmp_path, tiny_original(), INT8, facts(), [])


def test_bundles_have_shortlists_in_the_precisions_whose_graphs_read_them() -> None:
    calibration = Quantisation({})
    supporting = [name for name in PRECISIONS if make_writer(name, calibration).can_use_shortlists]

    assert supporting == [INT8]


@pytest.fixture
def greeting(tmp_path: Path) -> SampleText:
    """One sentence."""
    path = tmp_path / "greeting.txt"
    path.write_text("Guten Morgen!\n", encoding="utf8")
    return SampleText(Pair("de", "en"), path)


@pytest.mark.parametrize("with_pytorch", [False, True])
@pytest.mark.parametrize("factor", [1.001, float("nan")])
def test_validation_rejects_a_graph_with_a_changed_weight(
    factor: float, tmp_path: Path, greeting: SampleText, *, with_pytorch: bool
) -> None:
    shutil.copytree(TINY / "bundle-fp32", tmp_path, dirs_exist_ok=True)
    damage_weight(tmp_path, factor)

    report = validate(
        tmp_path, lambda: open_original(tiny_original().model, with_pytorch=with_pytorch), [greeting]
    )

    assert any("log-probabilities differ" in problem for problem in report.problems)


def test_validation_rejects_an_int8_bundle_of_another_model(greeting: SampleText) -> None:
    model = tiny_original().model
    name = "decoder.1.feed_forward.outer.weight"
    other = model.with_weights({name: -model.weights[name]})

    problems = [
        validate(TINY / "bundle-int8", partial(open_original, of, with_pytorch=False), [greeting]).problems
        for of in (model, other)
    ]

    assert not any("log-probabilities" in problem for problem in problems[0])
    assert any("a root mean square of" in problem for problem in problems[1])


def test_validation_names_a_damaged_file(tmp_path: Path) -> None:
    shutil.copytree(TINY / "bundle-fp32", tmp_path, dirs_exist_ok=True)
    (tmp_path / "encoder.onnx").write_bytes(b"not a graph")

    report = validate_in_fresh_process(tmp_path, CHECKPOINT, ANY, TEXTS)

    assert any("encoder.onnx" in problem for problem in report.problems)


def test_a_staged_folder_appears_complete_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "bundle"

    def fail_midway() -> None:
        with staged_folder(target) as staging:
            (staging / "half").write_text("x", encoding="utf8")
            raise RuntimeError("midway")

    with pytest.raises(RuntimeError, match="midway"):
        fail_midway()

    assert list(tmp_path.iterdir()) == []

    with staged_folder(target) as staging:
        (staging / "whole").write_text("x", encoding="utf8")

    assert [path.name for path in target.iterdir()] == ["whole"]


def test_large_graphs_keep_their_weights_in_a_separate_file_and_translate(tmp_path: Path) -> None:
    write_bundle(tmp_path, tiny_original(), "fp32", facts(), [], external_from_bytes=1000)

    assert {"decoder.weights", "encoder.weights"} < open_bundle(tmp_path).manifest.files.keys()
    small_bytes = (TINY / "bundle-fp32" / "decoder.onnx").stat().st_size
    assert (tmp_path / "decoder.onnx").stat().st_size < small_bytes / 4
    assert Translator.open(tmp_path).translate("Das ist ein Haus.").text == "This is a house."


def test_each_int8_channel_has_its_own_scale() -> None:
    weight = np.array([[1.27, -0.63, 0.004], [0.0, 0.0, 0.0]], np.float32)

    quantised, scales = quantise_channels(weight)

    assert quantised.tolist() == [[127, -63, 0], [0, 0, 0]]
    assert np.abs(quantised * scales[:, None] - weight).max() <= 0.01 / 2


@given(st.data())
def test_a_weight_that_is_not_finite_is_named_in_every_precision(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(weight_shapes(ORIGINAL.model.config))))
    precision = data.draw(st.sampled_from(PRECISIONS))
    numbers = [
        np.nan,
        np.inf,
        *([1e5] if precision == "fp16" else []),
        *([-np.inf] if name != OUTPUT_BIAS else []),
    ]
    weight = ORIGINAL.model.weights[name].copy()
    weight.flat[data.draw(st.integers(0, weight.size - 1))] = data.draw(st.sampled_from(numbers))
    damaged = dataclasses.replace(ORIGINAL, model=ORIGINAL.model.with_weights({name: weight}))

    with pytest.raises(ExportError, match=f"fit into {precision}: {name} has NaN, infinity or numbers over"):
        write_bundle(Path("missing"), damaged, precision, facts(), [])
