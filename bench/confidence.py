"""Calibration of a bundle's confidences: do they predict which translations are good?

python -m bench.confidence models/de-en --pairs SOURCE TARGET ... --lines even \
    --output bench/results/confidence-de-en.json

A translation is good if its sentence chrF is at least 50. `python -m export.confidence` makes the bundle's
map; give it other lines.
"""

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.command import Command
from dragoman.bundle import read_bundle
from dragoman.decoding.scoring import length_norm
from dragoman.translator import Translator
from dragoman.types import Translation
from export.confidence import GOOD_CHRF, ScoredLine, add_line_arguments, chosen_pairs, score_lines
from export.markdown import table

NUM_BINS = 10
HIGH_CONFIDENCE = 0.8
MIN_GOOD_SHARE = 0.8
"""Bar: minimum share of good translations among those with high confidence."""
NAMES = {"confidence": "confidence", "token_probability": "geometric mean of the token probabilities"}
"""Figures that are compared with the chrF, by field in the result."""


def measure(lines: Sequence[ScoredLine], length_penalty: float) -> dict[str, Any]:
    """Return the calibration of the confidences, and of the token probabilities as a baseline."""
    chrf = np.array([line.chrf for line in lines])
    confidence = np.array([line.translation.confidence for line in lines], np.float64)
    baseline = np.array([token_probability(line.translation, length_penalty) for line in lines])
    return {
        "lines": len(lines),
        "good_share": round(float(np.mean(chrf >= GOOD_CHRF)), 4),
        "confidence": calibration(confidence, chrf),
        "token_probability": calibration(baseline, chrf),
    }


def calibration(confidence: NDArray[np.float64], chrf: NDArray[np.float64]) -> dict[str, Any]:
    """Return how well confidences predict good translations.

    Args:
        confidence: float64 [N], 0 to 1.
        chrf: sentence chrF of the same lines, float64 [N].
    """
    is_good = chrf >= GOOD_CHRF
    is_high = confidence >= HIGH_CONFIDENCE
    curve = reliability_curve(confidence, is_good)
    error = sum(part["lines"] * abs(part["confidence"] - part["good_share"]) for part in curve)
    return {
        "spearman": round(spearman(confidence, chrf), 4),
        "calibration_error": round(error / len(chrf), 4),
        "high": int(is_high.sum()),
        "high_good_share": round(float(is_good[is_high].mean()), 4) if is_high.any() else None,
        "curve": curve,
    }


def reliability_curve(confidence: NDArray[np.float64], is_good: NDArray[np.bool_]) -> list[dict[str, Any]]:
    """Return mean confidence, share of good translations and lines of each bin of confidence with a line."""
    bins = np.minimum((confidence * NUM_BINS).astype(int), NUM_BINS - 1)
    return [
        {
            "bin": f"{number / NUM_BINS:.1f}-{(number + 1) / NUM_BINS:.1f}",
            "lines": int(np.sum(bins == number)),
            "confidence": round(float(confidence[bins == number].mean()), 4),
            "good_share": round(float(is_good[bins == number].mean()), 4),
        }
        for number in np.unique(bins).tolist()
    ]


def spearman(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return Spearman's rank correlation; equal values have their mean rank. 0 if all values are equal."""
    ranks = [ranked - ranked.mean() for ranked in (mean_ranks(first), mean_ranks(second))]
    norm = math.sqrt(math.prod(float(ranked @ ranked) for ranked in ranks))
    return float(ranks[0] @ ranks[1]) / norm if norm else 0.0


def mean_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rank of each value from 1; equal values have the mean of their ranks."""
    _, rank, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[rank]


def token_probability(translation: Translation, length_penalty: float) -> float:
    """Return the geometric mean of the token probabilities: the confidence in a bundle without a map."""
    segments = [segment for segment in translation.segments if segment.num_target_tokens]
    tokens = sum(segment.num_target_tokens for segment in segments)
    logprob = sum(
        (segment.score or 0.0) * length_norm(segment.num_target_tokens, length_penalty)
        for segment in segments
    )
    return math.exp(logprob / tokens) if tokens else translation.confidence or 0.0


def render_calibration(result: Mapping[str, Any]) -> str:
    """Render a result as Markdown: a table of all lines and a table of the curve."""
    rows = []
    for field, name in NAMES.items():
        found = result[field]
        good = "" if found["high"] == 0 else f"{100 * found['high_good_share']:.0f} %"
        error = f"{found['calibration_error']:.3f}"
        rows.append((name, f"{found['spearman']:.2f}", error, found["high"], good))
    high = f"lines at {HIGH_CONFIDENCE} or more"
    head = ("", "Spearman with chrF", "calibration error", high, "of these, good")
    curve = [
        (part["bin"], part["lines"], f"{part['confidence']:.2f}", f"{part['good_share']:.2f}")
        for part in result["confidence"]["curve"]
    ]
    sets = ", ".join(result["sets"])
    return (
        f"{result['lines']} lines of {sets} that the map was not fitted on; a translation is good if its "
        f"sentence chrF is at least {GOOD_CHRF:.0f} ({100 * result['good_share']:.0f} % are). The "
        "calibration error is the mean difference between confidence and share of good translations.\n\n"
        f"{table(head, rows)}\n\n{table(('confidence', 'lines', 'mean', 'good'), curve)}"
    )


def main() -> int:
    """Measure; return 1 if the bar is not reached."""
    command = Command("confidence", __doc__, {"bundle": Path})
    add_line_arguments(command.parser)
    arguments = command.parse()
    manifest = read_bundle(arguments.bundle).manifest
    with Translator.open(arguments.bundle) as translator:
        lines = list(score_lines(translator, chosen_pairs(arguments)))
    result = {
        "sets": [source.stem for source, _ in arguments.pairs],
        "map": None if manifest.confidence is None else asdict(manifest.confidence),
        **measure(lines, manifest.decoding.length_penalty),
    }
    print(render_calibration(result))
    command.write(arguments.bundle, result)
    share = result["confidence"]["high_good_share"]
    return 0 if share is not None and share >= MIN_GOOD_SHARE else 1


if __name__ == "__main__":
    sys.exit(main())
