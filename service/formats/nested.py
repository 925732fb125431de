"""Paragraphs inside paragraphs: text boxes and footnotes in place of a word of another paragraph."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from service.formats.inline_runs import Item, TextRun
from service.formats.text_units import TextUnit, joined
from service.formats.xml_units import Element

WriteNested = Callable[[Element], str]
"""Returns a paragraph inside another one as it is written."""


@dataclass(frozen=True, slots=True)
class ParagraphFormat:
    """How a format finds and writes its paragraphs."""

    is_paragraph: Callable[[Element], bool]
    is_left_alone: Callable[[Element], bool]
    """Whether an element is copied with all paragraphs in it."""
    find: Callable[[Element, str, WriteNested], list[TextRun | Item]]
    """Returns the content of a paragraph, given its location and how to write the paragraphs in it."""
    spell: Callable[[Element, Sequence[Item]], str]
    """Returns a paragraph with this content."""

    def passage(self, element: Element, place: str) -> TextUnit:
        """Return a paragraph as a unit: its own entries, then those of the paragraphs in it."""
        nested = list(self._nested(element))
        inner = [self.passage(other, f"{place}, inside") for other in nested]
        found = self.find(element, place, _raw)
        own = tuple(running.entry for running in found if isinstance(running, TextRun))

        def spell(texts: Sequence[str]) -> str:
            spelt: dict[int, str] = {}
            at = len(own)
            for other, passage in zip(nested, inner, strict=True):
                spelt[id(other)] = passage.write(texts[at : at + len(passage.entries)])
                at += len(passage.entries)
            if list(texts[: len(own)]) == [entry.text for entry in own]:
                return self._outer(element, lambda other: spelt[id(other)])
            items: list[Item] = []
            given = iter(texts[: len(own)])
            for running in self.find(element, place, lambda other: spelt[id(other)]):
                items += [running] if isinstance(running, Item) else running.with_text(next(given))
            return self.spell(element, items)

        return TextUnit(own + joined(inner).entries, spell, element.raw)

    def written(self, element: Element, spelt: WriteNested) -> str:
        """Return an element with the paragraphs in it as `spelt` writes them."""
        if self.is_paragraph(element):
            return spelt(element)
        return element.raw if self.is_left_alone(element) else self._outer(element, spelt)

    def _outer(self, element: Element, spelt: WriteNested) -> str:
        inner = [
            self.written(node, spelt) if isinstance(node, Element) else node.raw for node in element.nodes
        ]
        return f"{element.open}{''.join(inner)}{element.close}"

    def _nested(self, element: Element) -> Iterator[Element]:
        for child in element.elements:
            if self.is_paragraph(child):
                yield child
            elif not self.is_left_alone(child):
                yield from self._nested(child)


def _raw(element: Element) -> str:
    return element.raw
