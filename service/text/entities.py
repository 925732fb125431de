"""Reads character references in plain strings, such as `&amp;`, and writes them as the source wrote them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from html import unescape
from itertools import accumulate

from dragoman.types import Link, Span, Translation

_REFERENCE = re.compile(r"&(?:[A-Za-z][A-Za-z0-9]{1,31}+|#\d{1,7}+|#[xX][0-9A-Fa-f]{1,6}+);")


@dataclass(frozen=True, slots=True)
class References:
    """A text in which references mean characters."""

    text: str
    """The text as it is meant."""
    forms: Mapping[str, str]
    """Reference of each character that has one."""

    def write(self, text: str) -> str:
        """Return a text with references."""
        return "".join(self.forms.get(character, character) for character in text)

    def write_translation(self, translation: Translation) -> Translation:
        """Return a translation with references, and with positions in the texts that have them."""
        sources, targets = self._positions(self.text), self._positions(translation.text)

        def moved(span: Span, positions: list[int]) -> Span:
            return Span(*(positions[min(at, len(positions) - 1)] for at in span))

        segments = tuple(
            each._replace(
                source=self.write(each.source),
                text=self.write(each.text),
                source_span=moved(each.source_span, sources),
                span=moved(each.span, targets),
                links=None
                if each.links is None
                else tuple(
                    Link(moved(one.source, sources), moved(one.target, targets)) for one in each.links
                ),
            )
            for each in translation.segments
        )
        others = tuple(each._replace(text=self.write(each.text)) for each in translation.alternatives)
        return translation._replace(text=self.write(translation.text), segments=segments, alternatives=others)

    def _positions(self, text: str) -> list[int]:
        lengths = (len(self.forms.get(character, character)) for character in text)
        return list(accumulate(lengths, initial=0))


def read_references(text: str) -> References | None:
    """Return the text that references to signs and letters mean; None if it has none.

    One stays as it is if its character also occurs without: nothing would say how to write it again.
    """
    forms = {unescape(found): found for found in reversed(_REFERENCE.findall(text))}
    rest = _REFERENCE.sub("", text)
    forms = {
        one: form for one, form in forms.items() if len(one) == 1 and one.isprintable() and one not in rest
    }
    meant = _REFERENCE.sub(lambda found: one if (one := unescape(found[0])) in forms else found[0], text)
    is_clear = forms and not ("&" in forms and _REFERENCE.search(meant))
    return References(meant, forms) if is_clear else None
