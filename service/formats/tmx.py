"""Translation memories (TMX 1.4b): units without a variant in the target language get one."""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import IO, BinaryIO

from service.formats.entries import Entry, FileOptions
from service.formats.errors import FileFormatError
from service.formats.inline_codes import parse_segment, write_segment
from service.formats.inline_runs import TextRun
from service.formats.language_tags import matches_language
from service.formats.text_units import TextUnit, entries_of
from service.formats.xml_text_units import write_xml
from service.formats.xml_units import XML_NAMESPACE, Chars, Element, Name, xml_units

_UNIT, _HEADER = Name("", "tu"), Name("", "header")
UNDETERMINED = "und"
ANY_SOURCE = "*all*"
"""Source language in the header of a file whose units are from different languages."""


class TmxFormat:
    """A translation memory; an entry is a source segment whose unit has no target segment."""

    def __init__(self, options: FileOptions) -> None:
        """Store the languages, which select the variants; `de` matches `de-AT` too.

        If the source is `und`, the file determines it: the header's `srclang`, or else the language of each
        unit's first variant.
        """
        self._source = options.source
        self._target = options.target

    def read(self, source: BinaryIO) -> Iterator[Entry]:
        """See `FileFormat`."""
        return entries_of(self._parts(source))

    def write(self, source: BinaryIO, texts: Iterator[str], target: BinaryIO) -> None:
        """See `FileFormat`; texts equal to their entries add variants too, an empty text adds none."""
        write_xml(source, texts, target, self._parts)

    def _parts(self, source: IO[bytes]) -> Iterator[str | TextUnit]:
        numbers = count(1)
        has_source = False
        number = 0
        wanted = "" if self._source == UNDETERMINED else self._source
        for part in xml_units(source, frozenset([_UNIT, _HEADER]), allows_doctype=True):
            if isinstance(part, str):
                yield part
                continue
            if part.name == _HEADER:
                declared = part.attribute("srclang") or ANY_SOURCE
                wanted = wanted or ("" if declared == ANY_SOURCE else declared.replace("_", "-"))
                yield part.raw
                continue
            number = next(numbers)
            variants = [(variant, _language(variant)) for variant in part.children("tuv")]
            source_variants = [
                variant for variant, language in variants if not wanted or matches_language(language, wanted)
            ]
            has_source = has_source or bool(source_variants)
            has_target = any(matches_language(language, self._target) for _, language in variants)
            yield (
                part.raw
                if has_target or not source_variants
                else self._unit(part, source_variants[0], number)
            )
        if number and not has_source:
            raise FileFormatError(
                f"none of its {number} units has a segment in {wanted or UNDETERMINED}; name its language"
            )

    def _unit(self, unit: Element, variant: Element, number: int) -> TextUnit | str:
        place = f"unit {unit.attribute('tuid') or number}"
        segments = variant.children("seg")
        found = parse_segment(segments[0], place) if segments else []
        entries = tuple(running.entry for running in found if isinstance(running, TextRun))
        if not entries:
            return unit.raw
        attribute = "xml:lang" if Name(XML_NAMESPACE, "lang") in variant.attributes else "lang"

        def spell(texts: Sequence[str]) -> str:
            if not any(texts):
                return unit.raw
            inner = f"<seg>{write_segment(found, texts)}</seg>"
            return _insert_variant(unit, f'<tuv {attribute}="{self._target}">{inner}</tuv>')

        return TextUnit(entries, spell)


def _language(variant: Element) -> str:
    return variant.attribute("lang", XML_NAMESPACE) or variant.attribute("lang") or ""


def _insert_variant(unit: Element, variant: str) -> str:
    """Return the unit with a variant added after its last one, with the same white space before it."""
    last = unit.nodes.index(unit.children("tuv")[-1])
    before = unit.nodes[last - 1] if last else None
    space = before.raw if isinstance(before, Chars) and not before.text.strip() else ""
    nodes = [node.raw for node in unit.nodes]
    return "".join([unit.open, *nodes[: last + 1], space, variant, *nodes[last + 1 :], unit.close])
