"""Words that a vocabulary cannot spell, such as those of another script.

Models are not trained on them: one in a sentence may be lost, or make all of its translation meaningless.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from dragoman.scripts import is_word_character
from dragoman.text.tokenizer import Tokenizer
from dragoman.types import Span

CACHED_CHARACTERS = 16_384
MOST_UNKNOWN = 0.8
"""Share of unknown letters from which a line is left to the engine, which copies its segments."""
LATIN_1_END = "\N{LATIN SMALL LETTER Y WITH DIAERESIS}"
"""Letters up to this one are in words such as `Café`, which models learn with their bytes. Others are in
names that models have hardly seen: `Łukasz`. Of signs, they learn punctuation, which translations change."""
_LINE = re.compile(r"[^\n]+")
_BETWEEN = re.compile(r"[ ,'\N{RIGHT SINGLE QUOTATION MARK}-]{0,2}")
"""Characters between unknown words that are kept together, such as a first and a last name."""
_JOINERS = ("Mn", "Mc", "Me", "Cf")
"""Categories of characters that belong to the one before them."""
_NEVER_UNKNOWN = (*_JOINERS, "Cc", "Cs")


class Alphabet:
    """The characters that a vocabulary can spell. Safe to use from several threads."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._is_known = lru_cache(CACHED_CHARACTERS)(self._can_spell)

    def unknown_spans(self, text: str) -> tuple[Span, ...]:
        """Return words and signs that the vocabulary cannot spell, in order.

        A word of one unknown letter is unknown, unless it is of a script that has no spaces between words.
        Lines with hardly any known letters are left out.
        """
        unknown = {character for character in set(text) if not self._is_known(character)}
        if not unknown:
            return ()
        return tuple(
            Span(line.start() + start, line.start() + end)
            for line in _LINE.finditer(text)
            for start, end in _unknown_spans(line[0], unknown)
        )

    def can_spell(self, text: str) -> bool:
        """Return whether the vocabulary can spell all of a text."""
        return all(map(self._is_known, text))

    def _can_spell(self, character: str) -> bool:
        """Return whether a character has a piece, or has bytes and is one that models learn all the same."""
        category = unicodedata.category(character)
        if character.isspace() or category in _NEVER_UNKNOWN:
            return True
        is_learnt = character <= LATIN_1_END or category.startswith("P")
        unknown_ids = {self._tokenizer.unk_id, *(() if is_learnt else self._tokenizer.byte_ids)}
        small = character.lower()  # of a capital sharp s, which words in capitals have
        return any(map(unknown_ids.isdisjoint, self._tokenizer.encode([small, f"a{small}"])))


class Spelling:
    """Letters and words that a pair's vocabularies have. Safe to use from several threads."""

    def __init__(self, source: Tokenizer, target: Tokenizer) -> None:
        alphabet = Alphabet(source)
        self.unknown_spans = alphabet.unknown_spans
        """See `Alphabet.unknown_spans`, of the source's vocabulary."""
        self.can_spell = (alphabet if target is source else Alphabet(target)).can_spell
        """See `Alphabet.can_spell`, of the target's vocabulary."""


def _unknown_spans(line: str, unknown: set[str]) -> Iterator[Span]:
    """Yield the unknown words and signs of a line without line breaks; neighbours are one."""
    letters = [character for character in line if character.isalpha()]
    if sum(letter in unknown for letter in letters) >= MOST_UNKNOWN * len(letters):
        return
    last: Span | None = None
    for run in _runs(line, unknown):
        if not _is_unknown(line[slice(*run)], unknown):
            continue
        if last is not None and _BETWEEN.fullmatch(line, last.end, run.start):
            last = Span(last.start, run.end)
            continue
        if last is not None:
            yield last
        last = run
    if last is not None:
        yield last


def _runs(line: str, unknown: set[str]) -> Iterator[Span]:
    """Yield words, and runs of unknown signs."""
    start, is_word = None, False
    for at, character in enumerate(f"{line} "):
        if start is not None and unicodedata.category(character) in _JOINERS:
            continue
        continues = character.isalnum() if is_word else character in unknown and not character.isalnum()
        if start is not None and not continues:
            yield Span(start, at)
            start = None
        if start is None and (character.isalnum() or character in unknown):
            start, is_word = at, character.isalnum()


def _is_unknown(run: str, unknown: set[str]) -> bool:
    num_unknown = sum(character in unknown for character in run)
    has_spaces_around = all(is_word_character(character) for character in run if character not in unknown)
    return num_unknown > 0 and (has_spaces_around or num_unknown * 2 >= len(run))
