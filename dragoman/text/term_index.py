"""Find terms in a segment: by words, in any inflection, the longest first.

A word is a form of a term's word if it has an ending of the language; see `inflections`. Of languages whose
endings are not known there, the stem decides. A noun of a language that writes nouns with a capital has one
in the text too, unless the whole segment is in lower case.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

from dragoman.scripts import is_word_character
from dragoman.terms import Term
from dragoman.text.inflections import forms_of, has_endings
from dragoman.text.stemming import MAX_CACHED_LETTERS, stem
from dragoman.types import Pair, Span

CAPITALISED_NOUNS = frozenset({"de", "lb"})
"""Languages that write nouns with a capital."""

MAX_CACHED_WORDS = 2**12
BEGINNING_CHARACTERS = 7
_UMLAUTS = str.maketrans("äöü", "aou")
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
    nouns: frozenset[int]
    """Positions of the words that are nouns."""

    def fits(self, words: Sequence[str], language: str, *, has_capitals: bool) -> bool:
        """Return whether words are this term; `IT` and `iPhone` must be spelled as in the term.

        Args:
            words: of a segment, at most as many as the term has.
            language: of both.
            has_capitals: whether there are any in the segment, so that a German noun must have one.
        """
        has_nouns = has_capitals and _capitalises_nouns(language)
        return len(words) == len(self.words) and all(
            _key(word, language) in _keys(wanted, language, is_noun=i in self.nouns)
            and (wanted == word or not _has_own_case(wanted))
            and (word[:1].isupper() or not (has_nouns and i in self.nouns))
            for i, (wanted, word) in enumerate(zip(self.words, words, strict=True))
        )


class TermIndex:
    """Terms by their first word. Safe to use from several threads."""

    def __init__(self, terms: Sequence[Term], language: str, is_noun: Callable[[Term], bool]) -> None:
        """Create an index; see `of_sources` and `of_targets`.

        Args:
            terms: of two with the same source, the later one counts.
            language: of the terms, as a BCP-47 code.
            is_noun: whether a term has the forms of a noun, not of any word.
        """
        self._language = language
        by_source = {term.source.strip(): term for term in terms}
        self._entries: dict[str, list[_Entry]] = {}
        for source, term in by_source.items():
            words = [word for _, word in split_words(source)]
            if words:
                entry = self._entry(term, words, is_noun=is_noun(term))
                keys = _keys(words[0], language, is_noun=0 in entry.nouns)
                for beginning in {_beginning(key) for key in keys}:
                    self._entries.setdefault(beginning, []).append(entry)
        for entries in self._entries.values():
            entries.sort(key=lambda one: -len(one.words))

    @classmethod
    def of_sources(cls, terms: Sequence[Term], pair: Pair) -> Self:
        """Return an index of what is translated: `used` is a form of `use` only if this is no noun."""
        return cls(terms, pair.source, lambda term: is_noun(term, pair) is not False)

    @classmethod
    def of_targets(cls, targets: Iterable[str], language: str, *, is_noun: bool) -> Self:
        """Return an index of a term's translations."""
        return cls([Term(target) for target in targets], language, lambda _: is_noun)

    def find(self, segment: str) -> list[TermMatch]:
        """Return the terms in a segment, in order and without overlap."""
        found = split_words(segment)
        words = [word for _, word in found]
        has_capitals = segment != segment.lower()
        matches: list[TermMatch] = []
        position = 0
        while position < len(found):
            entry = self._longest(words, position, has_capitals=has_capitals)
            if entry is None:
                position += 1
                continue
            end = position + len(entry.words)
            span = Span(found[position][0], found[end - 1][0] + len(words[end - 1]))
            matches.append(TermMatch(span, segment[span.start : span.end], entry.term))
            position = end
        return matches

    def _longest(self, words: Sequence[str], position: int, *, has_capitals: bool) -> _Entry | None:
        """Return the longest term that begins at a position; of equal ones, one with the same spelling."""
        best: _Entry | None = None
        for entry in self._entries.get(_beginning(_key(words[position], self._language)), ()):
            size = len(entry.words)
            if best is not None and size < len(best.words):
                break
            found = words[position : position + size]
            if entry.fits(found, self._language, has_capitals=has_capitals):
                if list(entry.words) == found:
                    return entry
                best = best or entry
        return best

    def _entry(self, term: Term, words: Sequence[str], *, is_noun: bool) -> _Entry:
        nouns = [is_noun] * len(words)
        if _capitalises_nouns(self._language):
            nouns = [word[:1].isupper() for word in words]
            # The first capital of several words may be that of a title: `Künstliche Intelligenz`.
            nouns[0] = nouns[0] and len(words) == 1
        return _Entry(term, tuple(words), frozenset(i for i, is_one in enumerate(nouns) if is_one))


def _keys(word: str, language: str, *, is_noun: bool) -> frozenset[str]:
    """Return the keys of a word's forms, also as spelled without \u00df."""
    return (_cached_keys if len(word) <= MAX_CACHED_LETTERS else _new_keys)(word, language, is_noun=is_noun)


def _new_keys(word: str, language: str, *, is_noun: bool) -> frozenset[str]:
    forms = forms_of(word, language, is_noun=is_noun)
    return frozenset(_key(form, language) for one in forms for form in (one, one.replace("\u00df", "ss")))


_cached_keys = lru_cache(MAX_CACHED_WORDS)(_new_keys)


def _key(word: str, language: str) -> str:
    """Return a word in lower case, or its stem if no endings of the language are known."""
    return word.lower() if has_endings(language) else stem(word, language)


def _beginning(key: str) -> str:
    """Return what nearly all forms of a word have in common; an index has each form's, but not each form."""
    return key.translate(_UMLAUTS)[:BEGINNING_CHARACTERS]


def is_noun(term: Term, pair: Pair) -> bool | None:
    """Return whether a term is a noun, by the capitals of a language that writes nouns with one."""
    for language, phrases in ((pair.source, (term.source,)), (pair.target, term.targets)):
        if _capitalises_nouns(language) and phrases:
            return any(phrase.strip()[:1].isupper() for phrase in phrases)
    return None


def _capitalises_nouns(language: str) -> bool:
    return language.partition("-")[0] in CAPITALISED_NOUNS


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
