"""Corpus BLEU of lists of tokens, as the tutorial measures it."""

import math
from collections import Counter
from collections.abc import Sequence

MAX_ORDER = 4
Tokens = Sequence[str]


def corpus_bleu(outputs: Sequence[Tokens], references: Sequence[Tokens]) -> float:
    """Return BLEU (Papineni et al. 2002), 0 to 100, up to 4-grams, one reference a line, without smoothing.

    Args:
        outputs: tokens of each line.
        references: tokens of each line.

    Raises:
        ValueError: there are not as many outputs as references.
    """
    matches, totals = [0] * MAX_ORDER, [0] * MAX_ORDER
    for output, reference in zip(outputs, references, strict=True):
        for order in range(1, MAX_ORDER + 1):
            found, wanted = _ngrams(output, order), _ngrams(reference, order)
            matches[order - 1] += (found & wanted).total()
            totals[order - 1] += found.total()
    if not all(matches):
        return 0.0
    precision = sum(math.log(hit / total) for hit, total in zip(matches, totals, strict=True)) / MAX_ORDER
    brevity = min(0.0, 1 - sum(map(len, references)) / sum(map(len, outputs)))
    return 100 * math.exp(precision + brevity)


def _ngrams(tokens: Tokens, order: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[start:] for start in range(order)), strict=False))
