"""Abbreviations and units of a bundle's table, and where each may be read as other words.

An abbreviation is read only where it cannot be anything else: none in code or in a hyphenated or dotted name,
none that is also a word or a name where a sentence could end after it.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from itertools import groupby
from operator import itemgetter

from dragoman.reading.grammar import DASH, SPACE, Found, Texts
from dragoman.text.sentence_ends import refers
from dragoman.types import Span

Table = Mapping[str, Mapping[str, tuple[str, ...]]]
"""By section and abbreviation: the singular and the plural, or one form."""
_LETTER = r"[^\W\d_]"
_WORD_START = r"(?<![\w./\\@#$=<{&`:|~\N{NON-BREAKING HYPHEN}-])"
_WORD_END = r"(?!\.?[-\N{NON-BREAKING HYPHEN}=\\@_(\[{<`|])"
_SENTENCE_START = (
    r"(?:(?<![\s\S])|(?<=\w\w[.!?:] )"
    r"|(?<=\A[(\"*\N{DOUBLE LOW-9 QUOTATION MARK}\N{LEFT DOUBLE QUOTATION MARK}]))"
)
SECTIONS = {
    "at_start": (r"\A", rf"(?={SPACE}?\d)"),
    "before_number": (_WORD_START, rf"(?={SPACE}?\d)"),
    "after_number": (rf"(?:(?<=\d)|(?<=\d{SPACE})|(?<=[%$][ds]{SPACE}))", "(?!:)"),
    "before_name": (rf"{_WORD_START}(?<!\d{SPACE})", rf"(?={SPACE}[A-ZÄÖÜ])"),
    "before_words": (_WORD_START, r"(?![:/]\w)(?=\W*\w)"),
    "anywhere": (_WORD_START, r"(?![:/]\w)"),
}
"""Surroundings of the abbreviations of a section; the first section that fits counts."""
_ONE = re.compile(rf"(?<![\d.,])1{SPACE}?\Z")
_NO_QUANTITY = re.compile(rf"(?:[^\W\d]-|\bv|\d\.\d+\.)\d[\d.,]*{SPACE}?\Z")
"""A number that is part of a name, or a version."""
_FOLLOWING = re.compile(rf"{SPACE}(\w+)")
_LETTERS_AND_SIGNS = re.sub("[^A-ZÄÖÜa-zäöüß./]", " ", bytes(range(256)).decode("latin-1")).encode("latin-1")
_CODE = re.compile("`[^`]*`")
_MIN_LETTERS = 3
"""Minimum letters of an abbreviation that may get a capital where a sentence begins: `Lt.` is no `lt.`"""
_LONGEST_NUMBER = 24


class Abbreviations:
    """The abbreviations of a language. Safe to use from several threads."""

    def __init__(
        self,
        table: Table,
        also_words: Collection[str],
        not_with: Mapping[str, Collection[str]],
        function_words: Collection[str],
    ) -> None:
        """Prepare a table.

        Args:
            table: what to read for each abbreviation.
            also_words: abbreviations that are words or names as well.
            not_with: by abbreviation, words of texts in which it means something else, in lower case.
            function_words: words in lower case that begin a sentence if they have a capital.
        """
        self._table = table
        self._also_words = frozenset(map(_key, also_words))
        self._not_with = {_key(each): words for each, words in not_with.items()}
        self._function_words = function_words

    def find(self, text: str) -> Iterator[Found]:
        """Yield the abbreviations and units of a text, in order, with what the model reads."""
        code = [found.span() for found in _CODE.finditer(text)]
        for found in self._pattern.finditer(text):
            start, end = found.span()
            section = found.lastgroup or ""
            if any(first < end and start < last for first, last in code) or not self._means_it(
                found, section
            ):
                continue
            forms = self._forms[section][_key(found[0])]
            read = forms[0] if _ONE.search(text, max(0, start - 3), start) else forms[-1]
            if section == "after_number" and text[start - 1].isdigit():
                read = f" {read}"
            ends_sentence = text[end - 1] == "." and self._sentence_ends(text, end)
            yield Span(start, end - ends_sentence), read

    def may_find(self, texts: Texts) -> list[int]:
        """Return the positions of the texts that have a part of an abbreviation."""
        signs = self._signs
        return [number for number, text in enumerate(texts.texts) if not signs.isdisjoint(_parts(text))]

    def _means_it(self, found: re.Match[str], section: str) -> bool:
        """Return whether an abbreviation can be nothing else."""
        text, (start, end), key = found.string, found.span(), _key(found[0])
        is_quoted = text[start - 1 : start] == '"' == text[end : end + 1]  # the letters themselves
        if is_quoted or any(map(text.lower().__contains__, self._not_with.get(key, ()))):
            return False
        if section == "after_number":
            return not _NO_QUANTITY.search(text, max(0, start - _LONGEST_NUMBER), start)
        if section == "before_name":
            return not self._sentence_ends(text, end)
        return key not in self._also_words or self._is_no_word(text, end, section)

    def _is_no_word(self, text: str, end: int, section: str) -> bool:
        """Return whether no sentence can end after an abbreviation that is a word or a name as well."""
        if section in {"before_number", "at_start"}:
            return refers(text, end, self._function_words)
        following = _FOLLOWING.match(text, end)
        return following is not None and following[1][0].islower()

    def _sentence_ends(self, text: str, end: int) -> bool:
        """Return whether a sentence ends there: the text ends, or a word that begins sentences follows."""
        following = _FOLLOWING.match(text, end)
        if following is None:
            return not any(map(str.isalnum, text[end:]))
        word = following[1]
        return word[0].isupper() and word.lower() in self._function_words

    @cached_property
    def _forms(self) -> Table:
        """The forms of each abbreviation as `_key` returns it; those that may get a capital also with it."""
        return {
            section: {_key(each): forms for each, forms in _spellings(words)}
            for section, words in self._table.items()
        }

    @cached_property
    def _signs(self) -> frozenset[bytes]:
        """One part of each abbreviation, with its dot if it has any; few texts have one."""
        every = [_parts(each) for words in self._table.values() for each, _ in _spellings(words)]
        signs = [max(parts, key=lambda part: (part[-1:] == b".", len(part))) for parts in every]
        return frozenset((*signs, *(sign + b"." for sign in signs)))  # a unit may end a sentence

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        """Finds abbreviations; its groups have the names of the sections."""
        return re.compile(
            "|".join(
                rf"{before}(?P<{section}>{_any_of(self._table[section], section)}){_WORD_END}{after}"
                for section, (before, after) in SECTIONS.items()
                if self._table.get(section)
            )
        )


def _parts(text: str) -> list[bytes]:
    """Return the runs of letters of a text, each with the slash before it and the dot after it."""
    letters = text.encode("latin-1", "replace").translate(_LETTERS_AND_SIGNS)
    return letters.replace(b".", b". ").replace(b"/ ", b"/").replace(b"/", b" /").split()


def _spellings(words: Mapping[str, tuple[str, ...]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the abbreviations of a section, also with a capital, and what they are read as."""
    for abbreviation, full in words.items():
        yield abbreviation, full
        yield from _with_capital(abbreviation, full)


def _with_capital(abbreviation: str, full: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield an abbreviation with a capital, and what it is read as, if it may begin a sentence."""
    if len(full) == 1 and abbreviation.islower() and sum(map(str.isalpha, abbreviation)) >= _MIN_LETTERS:
        yield _capitalised(abbreviation), (_capitalised(full[0]),)


def _capitalised(words: str) -> str:
    return words[0].upper() + words[1:]


def _any_of(words: Mapping[str, tuple[str, ...]], section: str) -> str:
    """Return the pattern of any of a section's abbreviations, the longest first."""
    start = "" if section == "before_number" else _SENTENCE_START
    every = [(-len(each), "", each) for each in words]
    every += [(-len(each), start, each) for item in words.items() for each, _ in _with_capital(*item)]
    together = groupby(sorted(every), key=itemgetter(0, 1))  # so that what is before is looked at once
    return "|".join(
        f"{before}(?:{'|'.join(_pattern(each) for _, _, each in group)})" for (_, before), group in together
    )


def _pattern(abbreviation: str) -> str:
    """Return the pattern of one; a single letter is none beside another one, as in `k. u. k.`."""
    escaped = re.escape(abbreviation).replace(r"\ ", f"{SPACE}?").replace(r"\-", DASH)
    if not abbreviation.endswith("."):
        return rf"{escaped}(?!\.?\w)"
    if abbreviation[1] == ".":
        escaped = rf"(?<!\b{_LETTER}\.{SPACE}){escaped}"
    is_letter = sum(map(str.isalpha, abbreviation)) == 1
    following = rf"{SPACE}?{_LETTER}\b" if is_letter else _LETTER
    return rf"{escaped}(?!{following})"


def _key(abbreviation: str) -> str:
    """Return an abbreviation without spaces, and with hyphens for dashes."""
    return re.sub(DASH, "-", re.sub(SPACE, "", abbreviation))
