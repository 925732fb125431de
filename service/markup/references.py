"""Text whose characters may be written as references (`&amp;`, `&#8211;`)."""

import re
from collections.abc import Sequence
from typing import NamedTuple

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
    # Python parses at most 4,300 digits, but a number may begin with any number of zeros.
    return chr(int(digits.lstrip("0") or "0", 16 if reference["hexadecimal"] else 10))
