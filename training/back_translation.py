"""`python -m training.back_translation`: pair monolingual text with its translations, without unusable ones.

A translation with lost numbers, loops or copied words would teach a model of the other direction to invent
(back-translation: Sennrich et al. 2016, P16-1009).
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from export.compression import read_lines
from training.corpus import TextPair, write_pairs
from training.errors import TrainingError
from training.exit_status import exit_status

MAX_RATIO = 1.8
"""Maximum ratio of the sides' lengths in characters, apart from 15 characters."""
MAX_COPIED = 0.5
"""Maximum share of lower-case words that both sides have."""
MIN_WORDS, MAX_CHARACTERS = 3, 500
LOOP_WORDS = 12
"""Number of words from which the share of distinct ones is looked at."""
MIN_DISTINCT = 0.5

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_WORD = re.compile(r"[^\W\d_]+")
_DOUBLED = re.compile(r"\b(\w{2,})(?:[ -]\1\b){1,}", re.IGNORECASE)
_HOLE = re.compile(r"\(\s*[,;)]|\(\s*\)| ,|,,| \.(?!\.)|„“|“”|\[\s*\]")
"""Traces of a removed template or link in text of an encyclopedia."""


def is_usable(text: str, translation: str) -> bool:
    """Return whether a text is whole, and its translation has its numbers, about its length and no loops."""
    words, translated = _WORD.findall(text), _WORD.findall(translation)
    if len(words) < MIN_WORDS or len(text) > MAX_CHARACTERS or _HOLE.search(text):
        return False
    short_len, long_len = sorted((len(text), len(translation)))
    if long_len > MAX_RATIO * short_len + 15 or _numbers(text) != _numbers(translation):
        return False
    return not (_is_loop(text, translation, translated) or _is_copy(words, translated))


def usable_pairs(texts: Iterable[str], translations: Iterable[str]) -> Iterator[TextPair]:
    """Yield translations as sources of their texts, without unusable pairs.

    Raises:
        ValueError: there are not as many translations as texts.
    """
    for text, translation in zip(texts, translations, strict=True):
        if is_usable(text, translation):
            yield TextPair(translation, text)


def _numbers(text: str) -> Counter[str]:
    """Return the digits of each number of a text: separators and order differ between languages."""
    return Counter(re.sub("[.,]", "", number) for number in _NUMBER.findall(text))


def _is_loop(text: str, translation: str, words: list[str]) -> bool:
    found, expected = _DOUBLED.search(translation), _DOUBLED.search(text)
    if found is not None and expected is None:
        return True
    return len(words) > LOOP_WORDS and len(set(words)) < MIN_DISTINCT * len(words)


def _is_copy(words: list[str], translated: list[str]) -> bool:
    small = {word for word in words if word.islower()}
    return len(small & set(translated)) > MAX_COPIED * max(1, len(small))


def _lines(path: Path) -> Iterator[str]:
    """Yield the last column of each line."""
    return (line.rsplit("\t", 1)[-1] for line in read_lines(path, TrainingError))


def _write(given: argparse.Namespace) -> None:
    pairs = usable_pairs(_lines(given.text), _lines(given.translations))
    number = write_pairs(given.output, pairs, is_reversed=given.reversed)
    print(f"{number} pairs are usable")  # noqa: T201 -- the command's result


def main() -> int:
    """Write the usable pairs, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m training.back_translation", description="Pair text with its machine translation."
    )
    parser.add_argument("text", type=Path, help="monolingual text, one sentence a line; a tag may come first")
    parser.add_argument("translations", type=Path, help="its translations, line by line")
    parser.add_argument("-o", "--output", type=Path, required=True, help="file of `translation⇥text` lines")
    parser.add_argument("--reversed", action="store_true", help="write `text⇥translation` lines instead")
    given = parser.parse_args()
    return exit_status(lambda: _write(given))


if __name__ == "__main__":
    sys.exit(main())
