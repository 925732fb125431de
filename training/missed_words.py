"""`python -m training.missed_words`: keep the pairs whose rare words a model misses, for it to read again.

Reading what goes wrong more often than the rest is boosting by filtering (Schapire 1990); for translation,
see the dynamic data selection of van der Wees et al. 2017 (D17-1147).
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from export.compression import read_lines
from training.corpus import TextPair, read_file, write_pairs
from training.errors import CorpusError, TrainingError
from training.exit_status import exit_status

STEM_LETTERS = 4
"""Letters at the beginning of a word that all forms of it have; of long words it is half of the letters."""

MIN_SHARE = 0.5
"""Least share of a word's pairs that are missed: where it is less, the translation just differs."""

_WORD = re.compile(r"[^\W\d_]{3,}")


def missed_pairs(
    pairs: Sequence[TextPair], translations: Sequence[str], counts: range, max_per_word: int
) -> Iterator[TextPair]:
    """Yield the pairs with a rare source word that the model misses in half of its pairs or more.

    A pair is missed if a rare word of its target is in no form in the model's translation.

    Args:
        pairs: parallel text.
        translations: translations of the sources by the model, in the same order.
        counts: numbers of pairs that a rare word is in.
        max_per_word: number of pairs to yield for a source word.
    """
    sources = [_words(pair.source) for pair in pairs]
    targets = [_words(pair.target) for pair in pairs]
    rare_sources, rare_targets = _rare(sources, counts), _rare(targets, counts)
    missed = [
        any(word in rare_targets and _stem(word) not in translation.casefold() for word in words)
        for words, translation in zip(targets, translations, strict=True)
    ]
    num_missed = Counter(
        word for words, is_missed in zip(sources, missed, strict=True) if is_missed for word in words
    )
    hard = {word for word, count in rare_sources.items() if num_missed[word] >= MIN_SHARE * count}
    num_yielded = Counter[str]()
    for pair, words, is_missed in zip(pairs, sources, missed, strict=True):
        found = words & hard
        if is_missed and any(num_yielded[word] < max_per_word for word in found):
            num_yielded.update(found)
            yield pair


def _rare(sides: Sequence[set[str]], counts: range) -> Mapping[str, int]:
    """Return the rare words with the number of texts that they are in."""
    found = Counter(word for words in sides for word in words)
    return {word: count for word, count in found.items() if count in counts}


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _stem(word: str) -> str:
    """Return the beginning that the forms of a word share."""
    return word[: max(STEM_LETTERS, len(word) // 2)]


def _write(given: argparse.Namespace) -> None:
    path, translations, counts = given.pairs, given.translations, range(given.counts[0], given.counts[1] + 1)
    pairs = [pair for pair, *_ in read_file(path, None, is_reversed=given.reversed)]
    translated = list(read_lines(translations, TrainingError))
    if len(pairs) != len(translated):
        raise CorpusError(f"{path} has {len(pairs)} lines, but {translations} has {len(translated)}")
    missed = missed_pairs(pairs, translated, counts, given.max_per_word)
    number = write_pairs(given.output, missed, is_reversed=given.reversed)
    print(f"{number} of {len(pairs)} pairs are missed")  # noqa: T201 -- the command's result


def main() -> int:
    """Write the pairs with a missed word, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m training.missed_words", description="Keep the pairs whose rare words a model misses."
    )
    parser.add_argument("pairs", type=Path, help="lines of `source⇥target`; a tag may come first")
    parser.add_argument("translations", type=Path, help="translations of the sources, line by line")
    parser.add_argument(
        "-o", "--output", type=Path, required=True, help="file of lines as those of the pairs"
    )
    parser.add_argument("--reversed", action="store_true", help="the lines are `target⇥source`")
    parser.add_argument(
        "--counts",
        type=int,
        nargs=2,
        default=(3, 120),
        metavar=("LEAST", "MOST"),
        help="pairs that a rare word is in; default: 3 120",
    )
    parser.add_argument("--max-per-word", type=int, default=12, help="pairs to keep for a word; default: 12")
    given = parser.parse_args()
    return exit_status(lambda: _write(given))


if __name__ == "__main__":
    sys.exit(main())
