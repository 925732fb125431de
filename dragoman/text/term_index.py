"""Find terms in a segment: by words, in any case and inflection, the longest first."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.scripts import is_word_character
from dragoman.terms import Term
from dragoman.text.stemming import stem
from dragoman.types import Span

_WORDS = re.compile(r"[^\W_]+|[^\w\s]|_")
"""Words, and punctuation marks one by one: `C++` is three."""


@dataclass(frozen=True, slots=True)
class TermMatch:
    """A term in a segment."""

    span: Span
    surface: str
    """The words of the segment."""
    term: Term


@dataclass(frozen=True, slots=True)
class _Entry:
    """A term with its words."""

    term: Term
    words: tuple[str, ...]
    stems: tuple[str, ...]

    def fits(self, words: Sequence[str], stems: Sequence[str]) -> bool:
        """Return whether words are this term; `IT` and `iPhone` must be spelled as in the term."""
        return tuple(stems) == self.stems and all(
            own == found for own, found in zip(self.words, words, strict=True) if _has_own_case(own)
        )


class TermIndex:
    """Terms by their first word. Safe to use from several threads."""

    def __init__(self, terms: Sequence[Term], language: str) -> None:
        """Create an index.

        Args:
            terms: of two with the same source, the later one counts.
            language: of the terms, as a BCP-47 code.
        """
        self._language = language
        by_source = {term.source.strip(): term for term in terms}
        self._entries: dict[str, list[_Entry]] = {}
        for source, term in by_source.items():
            words = [word for _, word in split_words(source)]
            if words:
                entry = _Entry(term, tuple(words), self._stems(words))
                self._entries.setdefault(entry.stems[0], []).append(entry)
        for entries in self._entries.values():
            entries.sort(key=lambda one: -len(one.words))

    def find(self, segment: str) -> list[TermMatch]:
        """Return the terms in a segment, in order and without overlap."""
        found = split_words(segment)
        words = [word for _, word in found]
        stems = self._stems(words)
        matches: list[TermMatch] = []
        position = 0
        while position < len(found):
            entry = self._longest(words, stems, position)
            if entry is None:
                position += 1
                continue
            end = position + len(entry.words)
            span = Span(found[position][0], found[end - 1][0] + len(words[end - 1]))
            matches.append(TermMatch(span, segment[span.start : span.end], entry.term))
            position = end
        return matches

    def _longest(self, words: Sequence[str], stems: Sequence[str], position: int) -> _Entry | None:
        """Return the longest term that begins at a position; of equal ones, one with the same spelling."""
        best: _Entry | None = None
        for entry in self._entries.get(stems[position], ()):
            size = len(entry.words)
            if best is not None and size < len(best.words):
                break
            own = words[position : position + size]
            if entry.fits(own, stems[position : position + size]):
                if list(entry.words) == own:
                    return entry
                best = best or entry
        return best

    def _stems(self, words: Sequence[str]) -> tuple[str, ...]:
        return tuple(stem(word, self._language) for word in words)


def split_words(text: str) -> list[tuple[int, str]]:
    """Return the words and punctuation marks of a text, each with its position.

    In scripts that do not separate words, each character is one.
    """
    words: list[tuple[int, str]] = []
    for found in _WORDS.finditer(text):
        word, start = found.group(), found.start()
        if word.isascii() or all(map(is_word_character, word)):
            words.append((start, word))
        else:
            words += ((start + offset, character) for offset, character in enumerate(word))
    return words


def _has_own_case(word: str) -> bool:
    """Return whether a word differs from others only in its capital letters."""
    return word != word.lower() and (len(word) == 1 or word[1:] != word[1:].lower())
