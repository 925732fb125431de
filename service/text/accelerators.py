"""Accelerator keys in labels of menus and buttons: `&` of Qt and Windows, `_` of GTK."""

import re
from dataclasses import dataclass
from unicodedata import category

from service.text.patterns import find_spans

MAX_LABEL_CHARACTERS = 100

_SIGN = {
    "&": re.compile(r"(?<![^\W_])&(?=[^\W_])|(?<=[^\W\d_])&(?=[a-z\xdf-\xff])"),
    "_": re.compile(r"(?<![^\W_])_(?=[^\W_])|(?<=[^\W\d_])_(?=[a-z\xdf-\xff])"),
}
"""Not in `R&D` or `user_name`: within a word, a small letter follows, and of `_` see `find_label`."""
_AT_END = re.compile(r"\s?\((?:&|_)(\w)\)\s*")
"""`(&O)`, as Chinese and Japanese labels have it."""
_LONG = 4
"""Words of a label within which `_` inside of a word is a key; longer texts may name variables."""


@dataclass(frozen=True, slots=True)
class Label:
    """A label without its accelerator."""

    text: str
    sign: str
    """`&` or `_`."""
    key: str
    """Letter or digit after the sign."""

    def mark(self, translated: str) -> str:
        """Return a translation with the sign before the same letter, or else before the first one."""
        at = _position(translated, self.key)
        if at is None:
            return translated if not translated else f"{translated} ({self.sign}{self.key.upper()})"
        return f"{translated[:at]}{self.sign}{translated[at:]}"


def find_label(text: str) -> Label | None:
    """Return a label without its accelerator; None for a text that has none, or more than one."""
    if len(text) > MAX_LABEL_CHARACTERS or "\n" in text or ("&" in text) == ("_" in text):
        return None
    sign = "&" if "&" in text else "_"
    found = _SIGN[sign].findall(text)
    if len(found) != 1 or text.count(sign) != 1:
        return None
    at = text.index(sign)
    if any(span.start <= at < span.end for span in find_spans(text)):
        return None
    is_in_word = at > 0 and text[at - 1].isalnum()
    if sign == "_" and is_in_word and (len(text.split()) > _LONG or not text[:1].isupper()):
        return None
    at_end = _AT_END.search(text)
    if at_end is not None and at_end.start() <= at < at_end.end():
        return Label(text[: at_end.start()] + text[at_end.end() :], sign, at_end[1])
    return Label(text[:at] + text[at + 1 :], sign, text[at + 1])


def _position(text: str, key: str) -> int | None:
    """Return where the sign goes: before the key, if possible as the first letter of a word, or the first
    letter.
    """
    excluded = find_spans(text)
    best: tuple[int, int] | None = None
    for at, character in enumerate(text):
        if not character.isalnum() or any(span.start <= at < span.end for span in excluded):
            continue
        if category(character) == "Lo":  # no keyboard has a key for it
            continue
        begins_word = at == 0 or not text[at - 1].isalnum()
        is_key = character.lower() == key.lower()
        rank = (0 if begins_word else 1) if is_key else 2
        if best is None or rank < best[0]:
            best = (rank, at)
    return None if best is None else best[1]
