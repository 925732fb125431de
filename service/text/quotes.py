"""Keeps the kind and the number of quotation marks, which models change."""

import re
from collections.abc import Iterator

from service.text.marked_text import Object, Shown

_DOUBLE = re.compile(r"[\"“”„«»]")
_PAIR = re.compile(
    r"„[^\"“”„\n]{1,500}+[\"“”]|“[^“”\n]{1,500}+”|(?<!\w)\"(?=\S)[^\"\n]{1,500}+(?<=\S)\"(?!\w)|«[^«»\n]{1,500}+»|»[^«»\n]{1,500}+«"
)
_SINGLE = re.compile(r"(?<!\w)['‘](?=\S)(?:[^'‘’\n]|(?<=\w)['’](?=\w)){1,500}+(?<=\S)['’](?!\w)")  # noqa: RUF001 -- quotation marks
_OF_LANGUAGE = {"de": ("„", "“")}
"""Opening and closing sign; English ones for other languages."""


def with_quotes(source: str, target: str) -> str:
    """Return a translation with double quotation marks in place of single ones, if the source has those.

    The length does not change.
    """
    num_missing = len(_PAIR.findall(source)) - len(_DOUBLE.findall(target)) // 2
    if num_missing <= 0:
        return target
    return _SINGLE.sub(lambda found: _doubled(found[0]), target, count=num_missing)


def _doubled(quoted: str) -> str:
    first, last = '""' if quoted[0] == "'" else "“”"
    return f"{first}{quoted[1:-1]}{last}"


def has_lost_quotes(source: str, target: str) -> bool:
    """Return whether a translation has fewer or more double quotation marks than a text with pairs."""
    num_signs = len(_DOUBLE.findall(source))
    if num_signs == len(_DOUBLE.findall(target)):
        return False
    return num_signs == 2 * len(_PAIR.findall(source)) > 0  # in pairs


def quote_objects(text: str, start: int, language: str) -> Iterator[Object]:
    """Yield the signs of each pair of quotation marks, with those of the target language in their place."""
    first_index = 0
    signs = _OF_LANGUAGE.get(language.partition("-")[0], ("“", "”"))
    for found in _PAIR.finditer(text):
        opening, closing = ('"', '"') if found[0][0] == '"' else signs
        at, end = start + found.start(), start + found.end()
        yield Object(at, at + 1, Shown.OPEN, partner=first_index + 1, put=opening, is_syntax=False)
        yield Object(end - 1, end, Shown.CLOSE, partner=first_index, put=closing, is_syntax=False)
        first_index += 2
