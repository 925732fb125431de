"""Numbers and identifiers of a text: where they are, and which of them a translation keeps as they are.

All patterns take linear time, like those of `patterns`.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from service.text.marked_text import OBJECT, fill
from service.text.searching import find_all, never_pause


class NumberKind(Enum):
    """Kind of number."""

    IDENTIFIER = "identifier"
    """UUID, hash, account, address of a device, ISO date, nine digits or more, decimal with four places or
    more, mixture of letters and digits: any change would be an error, so it is an object at once.
    """
    NUMBER = "number"
    """Digits, with signs between them: `1.234,50`, `17:30`, the `10` of `10-jährig`."""
    WORD = "word"
    """Letters and digits that belong together: `CO2`, `A4`, `3D`. Its digits count."""
    IN_WORDS = "in words"
    """A part of a text in whose place the model reads digits: `dreihundertzwölf`. See `NumberForms`."""


class Number(NamedTuple):
    """A number or an identifier of a text."""

    start: int
    end: int
    kind: NumberKind
    read: str = ""
    """Digits that the model reads there if it is one in words."""


_L = r"0-9A-Za-z\u00c0-\u024f\u0370-\u052f"
"""Letters and digits of scripts with spaces between words: no identifier is a part of such a word."""
_B, _E = rf"(?<![{_L}_])", rf"(?![{_L}_])"
# Where one can begin: saying so once makes the search of prose several times as fast.
_START = rf"(?=[A-Za-z+\u2212]{{0,10}}+[\d:.-])(?!(?<=[{_L}_])[A-Za-z])"
_H = "[0-9A-Fa-f]"
_HEX_GROUPS = rf"{_H}{{1,4}}(?::{_H}{{1,4}}){{0,6}}+"
_OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_SHAPES = re.compile(
    rf"""
    {_START}(?:
      {_B}{_H}{{8}}(?:-{_H}{{4}}){{3}}-{_H}{{12}}{_E}                                   # UUID
    | {_B}{_H}{{2}}(?:[:-]{_H}{{2}}){{5,7}}+{_E} | {_B}{_H}{{4}}(?:\.{_H}{{4}}){{2}}{_E}    # MAC
    | {_B}(?:{_H}{{1,4}}:){{7}}{_H}{{1,4}}{_E}                                          # IPv6
    | (?<![{_L}_:])(?:{_HEX_GROUPS})?::(?:{_HEX_GROUPS})?(?:/\d{{1,3}}+)?{_E}
    | (?<![{_L}_.,-]){_OCTET}(?:\.{_OCTET}){{3}}(?:/\d{{1,2}}+|:\d{{1,5}}+)?+(?![.,]?\d){_E}    # IPv4
    | {_B}\d{{4}}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])                             # ISO date
      (?:T[0-2]\d:?[0-5]\d(?::?[0-5]\d(?:[.,]\d{{1,9}}+)?)?(?:Z|[+-][0-2]\d(?::?[0-5]\d)?)?)?{_E}
    | {_B}[A-Z]{{2}}\d{{2}}[ ][A-Z0-9]{{4}}(?:[ ]\d{{4}}){{2,6}}(?:[ ][A-Z0-9]{{1,4}})?{_E}  # IBAN in groups
    | {_B}[A-Z]{{2}}\d{{2}}[A-Z0-9]{{11,30}}+{_E}
    | (?<![\w.,+])\d{{4}}(?:[ -]\d{{4}}){{3,4}}{_E}                                     # card
    | (?<![\w+])\+\d{{1,3}}+(?=(?:[ ./()-]{{0,3}}\d){{7}})                              # telephone
      (?:[ ./()-]{{1,3}}\d{{1,14}}+){{1,5}}(?![\w-])
    | (?<![\w-])(?=(?:-?\d){{9}})\d++(?:-\d++){{2,}}+(?:-X)?(?![\w-])                   # ISBN
    | (?<==)\d{{1,4}}+(?:,\d{{1,4}}+)+(?![\w.,])                                             # list
    | (?:(?<=[\[{{])|(?<=[\"'„“”»«])(?!\d{{1,3}}(?:,\d{{3}})++(?![\d,])))
      \d{{1,4}}+(?:,\d{{1,4}}+)+(?=[\]}}\"'“”»«])
    | (?<![{_L}_.,])(?P<one>\d{{1,2}}+),(?P<two>\d{{1,2}}+)(?=[ ](?:  # list
      (?:und|oder|and|or)[ ](?P<three>\d{{1,3}}+)(?![.,]?\d|[ ]?[%€$])|sind\b|[a-zß-ÿ]{{3,}}+(?<=[en]n)\b))
    | (?<![{_L}_.,-])(?!\d{{1,2}}\.\d{{1,2}}\.)\d{{1,5}}+(?:[./]\d{{1,5}}+){{2,4}}-\d{{1,2}}
      (?![{_L}_.,-]?\d|[{_L}_])  # number of a person or a firm
    | {_B}[A-Za-z]{{0,10}}\d{{9,}}+[A-Za-z]{{0,3}}+{_E}
    | {_B}[A-Z]{{2,5}}-(?=[A-Z-]{{0,20}}\d{{3}})[A-Z0-9]++(?:-[A-Z0-9]++){{0,15}}+(?![{_L}_-])  # article
    | (?<![{_L}_.,])[-\u2212]?\d{{1,3}}\.\d{{4,}}+(?:,[ ]?[-\u2212]?\d{{1,3}}\.\d{{4,}}+)++    # coordinates
    | (?:(?<![{_L}_.,-])[-\u2212])?(?<![\d.,])\d++[.,]\d{{4,}}+(?![.,]?\d)
    )
    """,
    re.VERBOSE,
)
_TOKEN = re.compile(
    rf"(?<![{_L}_+/-])(?=[A-Za-z_+/-]*+[0-9])[A-Za-z0-9](?:[A-Za-z0-9_]|[+/-](?=[A-Za-z0-9+/=-]))*+"
    rf"(?:={{1,2}}(?![{_L}=]))?(?P<rest>[{_L}][{_L}_-]*+)?+"
)
"""A candidate for a mixture, with a digit; `rest`: other letters."""
_MIN_CHARACTERS, _MIN_CHANGES, _LONG_DIGITS = 8, 3, 9
_PART = re.compile(rf"(?<![A-Za-z0-9_])[A-Za-z0-9_]{{{_MIN_CHARACTERS},}}+")
"""Part of a candidate that is long enough for a mixture."""
_WORD_PART = re.compile(r"(?<![A-Za-z0-9_])(?:[a-z]{2,}+|[A-Z][a-z]{2,}+)(?![A-Za-z0-9_])")
_CHANGE = re.compile(r"(?<=[A-Za-z])[+/=_-]*+[0-9]|(?<=[0-9])[+/=_-]*+[A-Za-z]")

_SIGN_BEFORE = rf"(?:(?<![{_L}_.,;:!?)\]%°'\u2019-])[-\u2212])?"
_BLANK = r"[ \u00a0\u2009\u202f]"
_NO_GROUP_BEFORE = rf"(?<!(?<![\d.,])\d{{3}}{_BLANK})"
"""A number in groups is read from its first one: otherwise a long one is read again from each."""
SEPARATORS = r".,'\u2019\u066b\u066c\u00a0\u2009\u202f"
_NUMBER = re.compile(
    rf"""
    {_START}(?:
      {_B}[A-Za-z]{{1,10}}+\d++(?:[A-Za-z]{{0,2}}\d++)*+(?:[A-Z]{{1,2}}+{_E})?+(?P<word>)
    | (?<![\d:.,])(?:[01]?\d|2[0-4])(?::[0-5]\d(?::[0-5]\d)?(?![\d:])|h[0-5]\d{_E})             # time of day
    | {_SIGN_BEFORE}(?<![\d.,])(?:\d{{1,2}}|{_NO_GROUP_BEFORE}\d{{3}})
      (?:{_BLANK}\d{{3}}(?!\d))++(?:[.,]\d++)?+(?![.,]\d)
    | {_SIGN_BEFORE}\d++(?:[{SEPARATORS}]\d++)*+(?:[eE][-+]?\d++{_E}|[A-Z]{{1,2}}+{_E}(?P<capitals>))?+
    )
    """,
    re.VERBOSE,
)
_SHORT_NUMBER = re.compile(
    r"[('\"\u201e\u201c\u201a\u00bb\u00ab\[]*(\d{1,8})[a-z]{0,3}[)'\"\u201c\u201d\u2019\u00ab\u00bb\].,;:!?%]*"
)
_NOUN = re.compile(r"(?<!\w)[A-ZÄÖÜ][a-zäöüß]{3,} \Z")
_LONG = re.compile(rf"\d{{{_LONG_DIGITS}}}")
_DIGIT = re.compile(r"\d")


def find_numbers(
    text: str, objects: Iterable[tuple[int, int]] = (), pause: Callable[[], None] = never_pause
) -> tuple[Number, ...]:
    """Return the numbers and identifiers of a text, in order; they do not overlap.

    Args:
        text: any text; one of 100,000 characters takes less than 0.2 s.
        objects: spans in which none is looked for, in order and apart from each other.
        pause: called now and then.
    """
    if _DIGIT.search(text) is None:
        return ()
    masked = mask(text, objects)
    shapes = (one for one in find_all(_SHAPES, masked, pause) if one["one"] is None or _is_list(masked, one))
    found = [Number(*one.span(), NumberKind.IDENTIFIER) for one in shapes]
    masked = mask(masked, (one[:2] for one in found))
    mixtures = list(_find_mixtures(find_all(_TOKEN, masked, pause), masked))
    masked = mask(masked, mixtures)
    found += (Number(*span, NumberKind.IDENTIFIER) for span in mixtures)
    numbers = (Number(*one.span(), _kind(one)) for one in find_all(_NUMBER, masked, pause))
    return tuple(sorted((*found, *numbers), key=lambda number: number.start) if found else numbers)


def short_numbers(text: str) -> list[str] | None:
    """Return the numbers of a text, sorted, if all are short and whole, and none is beside another one.

    None for all other texts. Of these numbers none is an identifier.
    """
    words = text.split()
    found: list[str] = []
    last = -2
    for i, word in enumerate(words):
        if word.isalpha() or _DIGIT.search(word) is None:
            continue
        short = _SHORT_NUMBER.fullmatch(word)
        if short is None or i == last + 1:
            return None
        found.append(short[1])
        last = i
    return None if "::" in text else sorted(found)


def _is_list(text: str, found: re.Match[str]) -> bool:
    """Return whether integers rise after a noun, before a further one or a verb in the plural."""
    one, two, three = (int((digits or "999")[:9]) for digits in found.group("one", "two", "three"))
    is_counted = _NOUN.search(text[max(0, found.start() - 30) : found.start()]) is not None
    return 0 < one < two < three and is_counted


def _kind(found: re.Match[str]) -> NumberKind:
    if found.end() - found.start() >= _LONG_DIGITS and _LONG.search(found[0]):
        return NumberKind.IDENTIFIER
    return NumberKind.NUMBER if found.lastgroup is None else NumberKind.WORD


def _find_mixtures(tokens: Iterable[re.Match[str]], text: str) -> Iterator[tuple[int, int]]:
    """Yield the words, or else their parts, that change between letters and digits three times or more."""
    for token in tokens:
        end = token.end() if token["rest"] is None else token.start("rest")
        if end - token.start() < _MIN_CHARACTERS or _DIGIT.search(text, token.start(), end) is None:
            continue
        parts = [part.span() for part in _PART.finditer(text, token.start(), end)]
        has_word = _WORD_PART.search(text, token.start(), end) is not None
        if token["rest"] is None and not has_word and _is_mixture(text, token.start(), end):
            yield token.start(), end
            continue
        if token["rest"] is not None and parts and parts[-1][1] == end:
            parts.pop()
        yield from (part for part in parts if _is_mixture(text, *part))


def _is_mixture(text: str, start: int, end: int) -> bool:
    if end - start < _MIN_CHARACTERS:
        return False
    changes = _CHANGE.finditer(text, start, end)
    return sum(1 for _, _ in zip(changes, range(_MIN_CHANGES), strict=False)) == _MIN_CHANGES


def mask(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return a text of the same length in which each character of the spans is one that is no letter."""
    return fill(text, ((start, end, OBJECT * (end - start)) for start, end in spans))
