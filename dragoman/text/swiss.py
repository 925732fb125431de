"""Swiss spelling of German: ss for ß, and guillemets for quotation marks."""

from collections.abc import Iterator
from itertools import accumulate

SWISS = "de-CH"
_LETTERS = {
    "ß": "ss",
    "\N{LATIN CAPITAL LETTER SHARP S}": "SS",
    "\N{DOUBLE LOW-9 QUOTATION MARK}": "«",
    "\N{LEFT DOUBLE QUOTATION MARK}": "»",
    "\N{RIGHT DOUBLE QUOTATION MARK}": "»",
    "\N{SINGLE LOW-9 QUOTATION MARK}": "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}",
    "\N{LEFT SINGLE QUOTATION MARK}": "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}",
}


def is_swiss(requested: str, served: str) -> bool:
    """Return whether Swiss German is requested where a model serves German without this region."""
    wanted, found = (code.replace("_", "-").casefold().split("-") for code in (requested, served))
    return wanted[0] == found[0] == "de" and "ch" in wanted[1:] and "ch" not in found[1:]


def to_swiss(text: str) -> str:
    """Return a German text in Swiss spelling."""
    return "".join(_characters(text))


def offsets_in_swiss(text: str) -> list[int]:
    """Map each offset of `text`, and its end, to the offset in `to_swiss(text)`."""
    return [*accumulate(map(len, _characters(text)), initial=0)]


def _characters(text: str) -> Iterator[str]:
    """Yield what each character becomes. Models may use English marks, of which one closes German ones."""
    before = " "
    for character in text:
        opens = character == "“" and (before.isspace() or before == "(")
        yield "«" if opens else _LETTERS.get(character, character)
        before = character
