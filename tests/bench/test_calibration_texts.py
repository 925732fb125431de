"""Bundles calibrated on several texts are compared with the same weights in fp32."""

from pathlib import Path

from bench.calibration import (
    FP32,
    GENERATED,
    RANDOM,
    SENTENCES,
    Outputs,
    make_calibrations,
    measure,
    write_variant,
)
from bench.quality import EvaluationSet
from dragoman.bundle import read_bundle
from export.original import Original, RequestedLanguages
from export.samples import GENERATED_LINES
from export.sources import load_original

CHECKPOINT = Path(__file__).parents[1] / "tiny" / "checkpoint"


def original() -> Original:
    return load_original(CHECKPOINT, RequestedLanguages())


def test_random_lines_have_any_piece_but_no_control_and_end_like_sentences(tmp_path: Path) -> None:
    samples = make_calibrations(original(), None, tmp_path)
    config = original().model.config

    assert [*samples] == [FP32, SENTENCES, GENERATED, RANDOM]
    assert not samples[FP32]
    assert len(samples[RANDOM]) == GENERATED_LINES
    for one in samples[RANDOM]:
        assert one.ids[-1] == config.eos_id
        assert config.eos_id < min(one.ids[:-1]) <= max(one.ids) < config.source_vocab_size
        assert one.begin == samples[SENTENCES][0].begin


def test_the_first_bundle_is_in_fp32_and_the_others_are_compared_with_it(tmp_path: Path) -> None:
    (tmp_path / "source").write_text("Das ist ein Haus.\nDas ist\n", encoding="utf8")
    sets = [(EvaluationSet("two", tmp_path / "source", tmp_path / "source"), 1)]
    samples = make_calibrations(original(), None, tmp_path)
    expected: Outputs = {}

    for name in (FP32, RANDOM):
        write_variant(tmp_path / name, original(), samples[name])
    rows = [row for name in (FP32, RANDOM) for row in measure(tmp_path / name, sets, 1, expected)]

    precisions = [read_bundle(tmp_path / name).manifest.precision for name in (FP32, RANDOM)]
    assert precisions == ["fp32", "int8"]
    assert [(row["calibration"], row["lines"]) for row in rows] == [(FP32, 2), (RANDOM, 2)]
    assert rows[0]["equal_lines"] == 2
    assert expected["two", 1][0] == "This is a house."
