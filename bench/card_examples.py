"""Example translations of a test set, good and bad, drawn by rule and not by hand."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import sacrebleu

NUM_EXAMPLES = 10
SEED = 1
RULE = (
    "The lines are sorted by the chrF of their own translation, best first, and cut into {parts} equal "
    "parts; of each part one line is drawn, by random numbers of seed {seed}."
)


@dataclass(frozen=True, slots=True)
class Example:
    """A line of a test set with its translation and reference."""

    source: str
    translation: str
    reference: str
    chrf: float
    """chrF of this line, 0 to 100."""


def score_lines(
    sources: Sequence[str], translations: Sequence[str], references: Sequence[str]
) -> list[Example]:
    """Return each line with its own chrF."""
    metric = sacrebleu.CHRF()
    return [
        Example(source, translation, reference, metric.sentence_score(translation, [reference]).score)
        for source, translation, reference in zip(sources, translations, references, strict=True)
    ]


def draw_examples(lines: Sequence[Example], count: int = NUM_EXAMPLES, seed: int = SEED) -> list[Example]:
    """Draw one line from each of `count` equal parts, best to worst; draw all if there are fewer lines."""
    ranked = sorted(lines, key=lambda line: -line.chrf)  # stable: lines of equal chrF stay in file order
    count = min(count, len(ranked))
    chance = random.Random(seed)  # noqa: S311 -- a sample, no secret
    bounds = [len(ranked) * part // count for part in range(count + 1)] if count else [0]
    return [ranked[chance.randrange(begin, end)] for begin, end in pairwise(bounds)]
