"""`python -m export.confidence` on the tiny bundle."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from dragoman import Translator
from dragoman.bundle import open_bundle
from export.bundle import ExportError
from export.confidence import main, read_line_pairs
from export.confidence_fit import MIN_OF_EACH, ORIGIN_FIELD, Example, fit_confidence, logistic_regression
from tests.imports.export.conftest import RunMain
from tests.paths import TINY


@pytest.fixture
def text(tmp_path: Path) -> tuple[Path, Path]:
    """Sentences that the model knows, and the same letters backwards, which it cannot translate."""
    pairs = [line.split("\t") for line in (TINY / "pairs.tsv").read_text(encoding="utf8").splitlines()]
    source, target = tmp_path / "text.de", tmp_path / "text.en"
    source.write_text("".join(f"{side}\n" for de, _ in pairs for side in (de, de[::-1])), encoding="utf8")
    target.write_text("".join(f"{en}\n{en}\n" for _, en in pairs), encoding="utf8")
    return source, target


def test_the_command_writes_a_map_that_separates_good_translations_from_others(
    bundle: Path, text: tuple[Path, Path], run_main: RunMain
) -> None:
    before = json.loads((bundle / "manifest.json").read_text(encoding="utf8"))

    done = run_main(main, bundle, "--pairs", *text)

    assert done.status == 0, done.errors
    after = json.loads((bundle / "manifest.json").read_text(encoding="utf8"))
    assert after.pop("confidence")["logprob"] > 0
    facts = after["origin"].pop(ORIGIN_FIELD)
    assert facts["good_chrf"] == 50.0
    assert 50 < facts["lines"] <= 100
    assert 0.5 < facts["good_share"] < 0.65
    assert after == before
    with Translator.open(bundle, replicas=1) as translator:
        good, bad = (
            translator.translate(line).confidence or 0 for line in ("Ich bin müde.", ".edüm nib hcI")
        )
    assert bad < 0.5 < good


def test_the_map_is_the_same_again_even_if_the_bundle_has_one_already(
    bundle: Path, text: tuple[Path, Path], run_main: RunMain
) -> None:
    run_main(main, bundle, "--pairs", *text)
    first = open_bundle(bundle).manifest

    done = run_main(main, bundle, "--pairs", *text)

    assert done.status == 0, done.errors
    assert first.confidence is not None
    assert open_bundle(bundle).manifest == first


def test_pairs_that_cannot_calibrate_leave_the_bundle_unchanged(
    bundle: Path, text: tuple[Path, Path], run_main: RunMain
) -> None:
    before = (bundle / "manifest.json").read_bytes()

    few = run_main(main, bundle, "--pairs", *text, "--max-lines", "10")
    only_known = run_main(main, bundle, "--pairs", *text, "--lines", "odd")
    missing = run_main(main, bundle, "--pairs", text[0], "nowhere.en")

    assert [one.status for one in (few, only_known, missing)] == [1, 1, 1]
    assert "the fit needs at least 20 of each" in few.errors
    assert "50 translations are good and 0 are not" in only_known.errors
    assert "nowhere.en: No such file or directory" in missing.errors
    assert (bundle / "manifest.json").read_bytes() == before


def test_odd_and_even_lines_share_no_line_and_blank_lines_are_left_out(tmp_path: Path) -> None:
    source, target = tmp_path / "a.de", tmp_path / "a.en"
    source.write_text("1\n2\n3\n4\n \n6\n", encoding="utf8")
    target.write_text("a\nb\nc\nd\ne\n\n", encoding="utf8")

    assert read_line_pairs(source, target, "odd") == [("1", "a"), ("3", "c")]
    assert read_line_pairs(source, target, "even") == [("2", "b"), ("4", "d")]
    assert read_line_pairs(source, target, "all") == [("1", "a"), ("2", "b"), ("3", "c"), ("4", "d")]


def test_files_of_different_length_are_rejected_with_both_counts(tmp_path: Path) -> None:
    source, target = tmp_path / "a.de", tmp_path / "a.en"
    source.write_text("1\n2\n", encoding="utf8")
    target.write_text("a\n", encoding="utf8")

    with pytest.raises(ExportError, match=r"a\.de has 2 lines, but .*a\.en has 1"):
        read_line_pairs(source, target, "all")


def drawn(count: int, logprob: float, length: float, shortness: float) -> list[Example]:
    """Examples whose goodness is drawn with the given weights; the usual length ratio is 1."""
    rng = np.random.default_rng(1)
    examples = []
    for _ in range(count):
        source, ratio = int(rng.integers(10, 300)), math.exp(rng.normal(0, 0.3))
        target, mean_logprob = max(1, round(source * ratio)), -float(rng.exponential(0.5))
        short = max(0.0, math.log(source / target))
        log_odds = -3 + logprob * mean_logprob + length * math.log(source) + shortness * short
        is_good = bool(rng.random() < 1 / (1 + math.exp(-log_odds)))
        examples.append(Example(source, target, mean_logprob, is_good))
    return examples


def test_the_weights_that_made_the_examples_are_found() -> None:
    fitted = fit_confidence(drawn(20_000, logprob=4.0, length=1.2, shortness=-2.0))

    assert fitted.intercept == pytest.approx(-3, abs=0.25)
    assert fitted.logprob == pytest.approx(4.0, abs=0.25)
    assert fitted.source_length == pytest.approx(1.2, abs=0.1)
    assert fitted.shortfall == pytest.approx(-2.0, abs=0.25)
    assert fitted.length_ratio == pytest.approx(1, abs=0.02)
    assert (fitted.min_source_characters, fitted.max_source_characters) == (10, 299)


def test_on_average_the_confidence_is_the_share_of_good_translations() -> None:
    examples = drawn(2000, logprob=4.0, length=1.2, shortness=-2.0)
    fitted = fit_confidence(examples)

    confidences = [
        math.exp(fitted.log_confidence(one.source_characters, one.target_characters, one.mean_logprob))
        for one in examples
    ]

    assert np.mean(confidences) == pytest.approx(np.mean([one.is_good for one in examples]), abs=1e-3)


def test_a_short_target_that_would_raise_the_confidence_is_left_out_of_the_map() -> None:
    assert fit_confidence(drawn(3000, logprob=4.0, length=1.2, shortness=3.0)).shortfall == 0.0


def test_a_log_probability_that_would_lower_the_confidence_is_rejected() -> None:
    with pytest.raises(ExportError, match=r"no confidence map fits.*logprob is -[\d.]+, but must be above 0"):
        fit_confidence(drawn(3000, logprob=-2.0, length=0.5, shortness=0.0))


def test_too_few_good_or_other_translations_are_rejected() -> None:
    example = Example(20, 20, -0.1, is_good=True)
    others = [Example(20, 20, -1.0, is_good=False)] * (MIN_OF_EACH - 1)

    with pytest.raises(ExportError, match=r"50 translations are good and 19 are not; .* at least 20 of each"):
        fit_confidence([example] * 50 + others)
    with pytest.raises(ExportError, match="0 translations are good and 0 are not"):
        fit_confidence([])


def test_separable_examples_and_constant_features_have_finite_weights() -> None:
    features = np.array([[-1.0, 3.0], [-2.0, 3.0], [-5.0, 3.0], [-6.0, 3.0]])

    weights = logistic_regression(features, np.array([1.0, 1.0, 0.0, 0.0]))

    assert np.isfinite(weights).all()
    assert weights[1] > 0
    assert weights[2] == 0
