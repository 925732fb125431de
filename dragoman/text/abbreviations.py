"""Abbreviations and units that models translate wrong unless they read other words: `evtl.`, `2 Std.`.

`abbreviations.toml` has them.
"""

import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

from dragoman.languages import primary_subtag
from dragoman.types import Span

_SPACE = "[ \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}]"
_DASH = "[-\N{NON-BREAKING HYPHEN}\N{EN DASH}]"
_LETTER = r"[^\W\d_]"
_STARTS = (
    "A|An|And|But|He|I|If|In|It|She|The|There|They|This|We|When|"
    "Aber|Auch|Dann|Das|Der|Die|Ein|Eine|Er|Es|Ich|Sie|Und|Wenn|Wir"
)
"""Words with a capital that begin a sentence if they follow an abbreviation."""
_SENTENCE = rf"{_SPACE}(?:{_STARTS})\b"
_WORD_START = r"(?<![\w.])"
_CONTEXTS = {
    "at_start": (r"\A", rf"(?={_SPACE}?\d)"),
    "before_date": (_WORD_START, rf"(?={_SPACE}\d\d?[.:])"),
    "before_number": (_WORD_START, rf"(?={_SPACE}?\d)"),
    "after_number": (rf"(?:(?<=\d)|(?<=\d{_SPACE})|(?<=[%$][ds]{_SPACE}))", ""),
    "before_name": (_WORD_START, rf"(?={_SPACE}[A-ZÄÖÜ])(?!{_SENTENCE})"),
    "before_words": (_WORD_START, r"(?=\W*\w)"),
    "anywhere": (_WORD_START, ""),
}
"""Patterns around the abbreviations of a section; the first section that fits counts."""
_MAY_END = frozenset({"anywhere", "after_number"})
"""Sections whose abbreviations may end a sentence."""
_MIN_LETTERS = 3
"""Minimum letters of an abbreviation that may get a capital where a sentence begins: `Lt.` is no `lt.`"""
_ONE = re.compile(rf"(?<![\d.,])1{_SPACE}?\Z")
_END = re.compile(rf"\W*\Z|{_SENTENCE}")
_PART = re.compile("(?<![A-ZÄÖÜa-zäöüß])[A-ZÄÖÜa-zäöüß]++")
_DOTTED = re.compile(rf"({_PART.pattern})\.")
_MAX_CHARACTERS = 20
"""Maximum length of an abbreviation, spaces included."""


@dataclass(frozen=True, slots=True)
class _Abbreviations:
    """The abbreviations of a language."""

    pattern: re.Pattern[str]
    """Its groups have the names of the sections."""
    words: Mapping[str, Mapping[str, tuple[str, ...]]]
    """By section and abbreviation, as `_key` returns it: the singular and the plural, or one form."""
    signs: frozenset[str]
    """One part of each abbreviation; few texts have any."""
    last: frozenset[str]
    """The last part of each."""


def find_abbreviations(text: str, language: str) -> Iterator[tuple[Span, str]]:
    """Yield the abbreviations and units of a text, in order, with what models read best.

    Args:
        text: any.
        language: `de` or `en`; no abbreviation of another one is known.
    """
    known = _abbreviations(language)
    if known is None or known.signs.isdisjoint(_PART.findall(text)):
        return
    for found in known.pattern.finditer(text):
        start, end = found.span()
        forms = known.words[found.lastgroup or ""][_key(found[0])]
        read = forms[0] if _ONE.search(text, max(0, start - 3), start) else forms[-1]
        if found.lastgroup == "after_number" and text[start - 1].isdigit():
            read = f" {read}"
        ends_sentence = text[end - 1] == "." and _END.match(text, end) is not None
        yield Span(start, end - ends_sentence), read


def sentence_goes_on(text: str, end: int, language: str) -> bool:
    """Return whether the sentence goes on after an abbreviation, and any white space, that end there."""
    known = _abbreviations(primary_subtag(language))
    start = max(0, end - _MAX_CHARACTERS)
    dot = start + len(text[start:end].rstrip())
    if known is None or known.last.isdisjoint(_PART.findall(text, start, dot)[-1:]):
        return False
    following = text[end : end + 1]
    return any(
        found.end() == dot and (found.lastgroup not in _MAY_END or following.islower() or following.isdigit())
        for found in known.pattern.finditer(text, start, end + _MAX_CHARACTERS)
        if found.start() < dot
    )


@lru_cache(256)
def _abbreviations(language: str) -> _Abbreviations | None:
    """Return the abbreviations of a language; None if the table has none."""
    table = tomllib.loads(files("dragoman.text").joinpath("abbreviations.toml").read_text("utf-8"))
    if language not in table:
        return None
    sections = {section: dict(_forms(table[language].get(section, {}))) for section in _CONTEXTS}
    every = [each for words in sections.values() for each in words]
    patterns = [
        rf"{before}(?P<{section}>{_any_of(sections[section])}){after}"
        for section, (before, after) in _CONTEXTS.items()
        if sections[section]
    ]
    return _Abbreviations(
        re.compile("|".join(patterns)),
        {
            section: {_key(each): forms for each, forms in words.items()}
            for section, words in sections.items()
        },
        frozenset(max(_DOTTED.findall(each) or _PART.findall(each), key=len) for each in every),
        frozenset(_PART.findall(each)[-1] for each in every),
    )


def _forms(section: Mapping[str, str | list[str]]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the abbreviations of a section with their forms, and those that may get a capital with it."""
    for abbreviation, full in section.items():
        yield abbreviation, (full,) if isinstance(full, str) else tuple(full)
        if isinstance(full, str) and abbreviation.islower() and _num_letters(abbreviation) >= _MIN_LETTERS:
            yield abbreviation[0].upper() + abbreviation[1:], (full[0].upper() + full[1:],)


def _num_letters(abbreviation: str) -> int:
    return sum(map(str.isalpha, abbreviation))


def _any_of(abbreviations: Iterable[str]) -> str:
    """Return the pattern of any of some abbreviations."""
    return "|".join(map(_pattern, sorted(abbreviations, key=len, reverse=True)))


def _pattern(abbreviation: str) -> str:
    """Return the pattern of one; a single letter is none beside another one, as in `k. u. k.`."""
    escaped = re.escape(abbreviation).replace(r"\ ", f"{_SPACE}?").replace(r"\-", _DASH)
    if not abbreviation.endswith("."):
        return rf"{escaped}(?!\.?\w)"
    if abbreviation[1] == ".":
        escaped = rf"(?<!\b{_LETTER}\.{_SPACE}){escaped}"
    following = rf"{_SPACE}?{_LETTER}\b" if _num_letters(abbreviation) == 1 else _LETTER
    return rf"{escaped}(?!{following})"


def _key(abbreviation: str) -> str:
    """Return an abbreviation without spaces, and with hyphens for dashes."""
    return re.sub(_DASH, "-", re.sub(_SPACE, "", abbreviation))
