"""Escapes text for HTML and XML."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from service.text.options import MarkupLanguage

_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot represent."""


def escape(text: str, language: MarkupLanguage) -> str:
    """Escape text for a markup language."""
    return escape_xml(text) if language is MarkupLanguage.XML else escape_html(text)


def escape_html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def escape_xml(text: str) -> str:
    """Escape text for XML; forbidden characters become U+FFFD. Escape a last `]`: it may begin a `]]>`."""
    escaped = escape_html(_FORBIDDEN.sub("\ufffd", text)).replace("\r", "&#13;")
    return escaped.removesuffix("]") + "&#93;" if escaped.endswith("]") else escaped


_REFERENCE = re.compile(
    r"&(?:#x(?P<hexadecimal>[0-9a-fA-F]+)|#(?P<decimal>[0-9]+)|(?P<name>amp|lt|gt|quot|apos));"
)
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}


class Characters(NamedTuple):
    """A text with the source form of each of its characters."""

    text: str
    raws: Sequence[str]


def read_xml(raw: str) -> Characters:
    """Decode text of well-formed XML that declares no entities."""
    if "&" not in raw:
        return Characters(raw, raw)
    text: list[str] = []
    raws: list[str] = []
    at = 0
    for found in _REFERENCE.finditer(raw):
        raws += [*raw[at : found.start()], found[0]]
        text += [*raw[at : found.start()], _character(found)]
        at = found.end()
    raws += raw[at:]
    text += raw[at:]
    return Characters("".join(text), raws)


def _character(reference: re.Match[str]) -> str:
    if reference["name"]:
        return _NAMED[reference["name"]]
    digits = reference["hexadecimal"] or reference["decimal"]
    significant = digits.lstrip("0") or "0"
    return chr(int(significant, 16 if reference["hexadecimal"] else 10))  # at most 7 digits, says the parser
