"""XML files with texts in two languages, whose missing translations are filled in: XLIFF 1.2 and 2, TMX 1.4b.

A target of XLIFF gets the inline codes of its source, and its segments if a unit of XLIFF 1.2 marks some; its
state names who translated it. An XLIFF 2 document that names no target language gets one. A unit of TMX
without a variant in the target language gets one. Everything else stays byte for byte, as do units with
`translate="no"`. Attributes, notes and properties mark translations for review. Specifications: XLIFF 1.2 and
XLIFF 2.1 (OASIS), TMX 1.4b (LISA).
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import IO

from service.formats.entries import FileFormatError, TargetText
from service.formats.inline_runs import (
    TextRun,
    enclosed,
    entries_in,
    fill_runs,
    messages_in,
    pair_halves,
    text_runs,
    xml_of,
)
from service.formats.language_tags import check_target, matches_language
from service.formats.parts import TextPart, TextUnit, Unit, joined
from service.formats.review_marks import TOOL, confidence_of, origin_of
from service.formats.xml_tree import XML_NAMESPACE, Chars, Element, Miscellaneous, Name
from service.formats.xml_units import XmlFormat, through_root, xml_units
from service.text.outcome import TextOrigin
from service.text.tokens import InlineItem, TokenKind

_TRANSLATED = 'state="translated"'
_XLIFF_1: Mapping[TextOrigin | None, str] = {
    TextOrigin.MACHINE: 'state="needs-review-translation" state-qualifier="mt-suggestion"',
    TextOrigin.MEMORY: f'{_TRANSLATED} state-qualifier="exact-match"',
    TextOrigin.SOURCE: 'state="needs-translation"',
    None: _TRANSLATED,
}
_XLIFF_2: Mapping[TextOrigin | None, str] = {
    TextOrigin.MACHINE: f'{_TRANSLATED} subState="{TOOL}:machine"',
    TextOrigin.MEMORY: f'{_TRANSLATED} subState="{TOOL}:memory-exact"',
    TextOrigin.SOURCE: f'state="initial" subState="{TOOL}:untranslated"',
    None: _TRANSLATED,
}
_TMX: Mapping[TextOrigin | None, tuple[str, str]] = {
    TextOrigin.MACHINE: (f' creationid="{TOOL}"', ""),
    TextOrigin.MEMORY: (f' creationid="{TOOL}"', '<prop type="x-memory">exact</prop>'),
    TextOrigin.SOURCE: (f' creationid="{TOOL}"', '<prop type="x-state">untranslated</prop>'),
    None: ("", ""),
}
"""Attributes and properties of a variant."""
_STATE = re.compile(r"\s(?:state|state-qualifier|subState)\s*=\s*(?:\"[^\"]*\"|'[^']*')")


def with_state(tag: str, version: int, texts: Sequence[TargetText]) -> str:
    """Return a start tag of XLIFF with the state of texts in place of its own."""
    state = (_XLIFF_1 if version == 1 else _XLIFF_2)[origin_of(texts)]
    return f"{_STATE.sub('', tag)} {state}"


def confidence_note(prefix: str, texts: Sequence[TargetText]) -> str:
    """Return a note of XLIFF 1.2 with the confidence of texts; empty if it is unknown.

    Args:
        prefix: prefix of XLIFF's elements, with its colon.
        texts: texts of a target.
    """
    confidence = confidence_of(texts)
    if confidence is None:
        return ""
    return f'<{prefix}note from="{TOOL}" annotates="target">confidence: {confidence}</{prefix}note>'


def add_unit_note(unit: Element, written: str, texts: Sequence[TargetText]) -> str:
    """Return a unit of XLIFF 2 with a note about the confidence of its texts, if that is known.

    Args:
        unit: the unit as it was read.
        written: the same with translations; before its first segment, nothing has changed.
        texts: the translations.
    """
    confidence = confidence_of(texts)
    if confidence is None:
        return written
    prefix = unit.prefix
    note = f'<{prefix}note category="{TOOL}" appliesTo="target">confidence: {confidence}</{prefix}note>'
    at = len(unit.open)
    for node in unit.nodes:
        local = node.local if isinstance(node, Element) and node.name.uri == unit.name.uri else None
        if local == "notes" and isinstance(node, Element) and node.close:
            at += len(node.raw) - len(node.close)
            return f"{written[:at]}{note}{written[at:]}"
        if local in {"originalData", "segment", "ignorable"}:
            break
        at += len(node.raw)
    return f"{written[:at]}<{prefix}notes>{note}</{prefix}notes>{written[at:]}"


def variant_marks(texts: Sequence[TargetText]) -> tuple[str, str]:
    """Return the attributes and the properties of a variant of TMX."""
    attributes, properties = _TMX[origin_of(texts)]
    confidence = confidence_of(texts)
    if confidence is not None:
        properties += f'<prop type="x-confidence">{confidence}</prop>'
    return attributes, properties


_UNIT, _HEADER = Name("", "tu"), Name("", "header")
UNDETERMINED = "und"
ANY_SOURCE = "*all*"
"""Source language in the header of a file whose units are from different languages."""


class TmxFormat(XmlFormat):
    """A translation memory; an entry is a source segment whose unit has no target segment.

    The languages of the options select the variants; `de` matches `de-AT` too. If the source is `und`, the
    file determines it: the header's `srclang`, or else the language of each unit's first variant. Texts equal
    to their entries add variants too, an empty text adds none.
    """

    def parts(self, source: IO[bytes]) -> Iterator[TextPart]:
        """See `XmlFormat`."""
        numbers = count(1)
        has_source = False
        number = 0
        wanted = "" if self.options.source == UNDETERMINED else self.options.source
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
            variants = [(variant, variant.language) for variant in part.children("tuv")]
            source_variants = [
                variant for variant, language in variants if not wanted or matches_language(language, wanted)
            ]
            has_source = has_source or bool(source_variants)
            has_target = any(matches_language(language, self.options.target) for _, language in variants)
            yield (
                part.raw
                if has_target or not source_variants
                else self._unit(part, source_variants[0], number)
            )
        if number and not has_source:
            raise FileFormatError(
                f"none of its {number} units has a segment in {wanted or UNDETERMINED}; name its language"
            )

    def _unit(self, unit: Element, variant: Element, number: int) -> TextPart:
        location = f"unit {unit.attribute('tuid') or number}"
        segments = variant.children("seg")
        found = parse_segment(segments[0], location) if segments else []
        entries = entries_in(found)
        if not entries:
            return unit.raw
        attribute = "xml:lang" if Name(XML_NAMESPACE, "lang") in variant.attributes else "lang"

        def render(texts: Sequence[TargetText]) -> str:
            if not any(text.text for text in texts):
                return unit.raw
            attributes, properties = variant_marks(texts)
            inner = f"{properties}<seg>{write_segment(found, texts)}</seg>"
            opened = f'<tuv {attribute}="{self.options.target}"{attributes}>'
            return _insert_variant(unit, f"{opened}{inner}</tuv>")

        return Unit(entries, render)


def _insert_variant(unit: Element, variant: str) -> str:
    """Return the unit with a variant added after its last one, with the same white space before it."""
    last = unit.children("tuv")[-1]
    return unit.rewritten({id(last): f"{last.raw}{unit.space_before(last)}{variant}"})


_CONTAINERS = frozenset(["g", "mrk", "pc", "hi"])
_ANGULAR_HALF = re.compile(r"(START|CLOSE)_(\w+?)(?:_\d+)?")
"""Ids of the halves of an element in files that Angular writes: `START_LINK_1`, `CLOSE_LINK`."""
_HALVES = {
    **dict.fromkeys(["bx", "bpt", "sc", "sm"], "open"),
    **dict.fromkeys(["ex", "ept", "ec", "em"], "close"),
}
_KEYS = ("startRef", "rid", "i", "id")
"""Attributes that pair the halves of a code, the most reliable first."""
_LINE_BREAKS = frozenset(["lb", "x-br", "br"])


def parse_segment(
    element: Element, location: str, translated_segments: Mapping[str, Element] | None = None
) -> list[TextRun | InlineItem]:
    """Return the content of a `source`, `seg-source` or `seg` element; its white space is significant.

    Args:
        element: segments marked in it (`mrk` of type `seg`) are separate texts.
        location: that of the texts.
        translated_segments: segments of the target that are already translated, by their `mid`.
    """
    return list(
        text_runs(pair_halves(list(_content(element, translated_segments or {}))), location, keeps_space=True)
    )


def marked_segments(element: Element) -> Iterator[Element]:
    """Yield the segments marked in a `seg-source` or `target`, in order."""
    for child in element.elements:
        if _is_segment(child):
            yield child
        else:
            yield from marked_segments(child)


def has_text_between_segments(element: Element) -> bool:
    return any(
        bool(node.text.strip())
        if isinstance(node, Chars)
        else isinstance(node, Element) and not _is_segment(node) and has_text_between_segments(node)
        for node in element.nodes
    )


def write_segment(found: Sequence[TextRun | InlineItem], texts: Sequence[TargetText]) -> str:
    """Return the content of a `target` or `seg` with translations, one for each text of the source."""
    return xml_of(fill_runs(found, texts))


def _content(parent: Element, translated_segments: Mapping[str, Element]) -> Iterator[InlineItem]:
    for node in parent.nodes:
        if isinstance(node, Chars):
            yield InlineItem(TokenKind.TEXT, node.text)
        elif isinstance(node, Miscellaneous):
            yield InlineItem(TokenKind.POINT, raw=node.raw)
        elif _is_segment(node):
            yield from _segment(node, translated_segments)
        elif node.local in _CONTAINERS and node.close and not _is_protected(node):
            yield from enclosed(node.open, _content(node, translated_segments), node.close)
        elif node.local in _HALVES:
            key = next((found for name in _KEYS if (found := node.attribute(name)) is not None), "")
            yield InlineItem(TokenKind.POINT, raw=node.raw, note=f"{_HALVES[node.local]}:{key}")
        else:
            ends_line = (node.attribute("ctype") or node.attribute("type")) in _LINE_BREAKS
            half = _ANGULAR_HALF.fullmatch(node.attribute("id") or "")
            note = None if half is None else f"{'open' if half[1] == 'START' else 'close'}:{half[2]}"
            yield InlineItem(TokenKind.WORD, raw=node.raw, note=note, ends_line=ends_line)


def _segment(segment: Element, translated_segments: Mapping[str, Element]) -> Iterator[InlineItem]:
    translated = translated_segments.get(segment.attribute("mid") or "")
    if translated is not None:
        yield InlineItem(TokenKind.BREAK, raw=translated.raw)
        return
    yield InlineItem(TokenKind.BREAK, raw=segment.open)
    yield from _content(segment, translated_segments)
    yield InlineItem(TokenKind.BREAK, raw=segment.close)


def _is_segment(element: Element) -> bool:
    return element.local == "mrk" and element.attribute("mtype") == "seg"


def _is_protected(element: Element) -> bool:
    return element.attribute("mtype") == "protected" or element.attribute("translate") == "no"


_V1 = ("urn:oasis:names:tc:xliff:document:1.2", "urn:oasis:names:tc:xliff:document:1.1", "")
_V2 = ("urn:oasis:names:tc:xliff:document:2.0", "urn:oasis:names:tc:xliff:document:2.2")
_UNITS = frozenset([*(Name(uri, "trans-unit") for uri in _V1), *(Name(uri, "unit") for uri in _V2)])
_ROOT = re.compile(r"<(?:[\w.-]++:)?xliff\s")
_VERSION_2 = re.compile(r"\sversion\s*=\s*[\"']2")
_NAMED_TARGET = re.compile(
    r"<(?:[\w.-]++:)?(?:xliff|file)\s(?:[^<>]*?\s)?(?:trgLang|target-language)\s*=\s*([\"'])(.*?)\1",
    re.DOTALL,
)
_TARGET_LANGUAGE = re.compile(r"\strgLang\s*=")


class XliffFormat(XmlFormat):
    """An XLIFF file; an entry is the source of a unit or segment that has no target.

    In XLIFF 1.2, `seg-source` marks the segments; text between them is an entry too. Texts equal to
    their entries fill targets too, an empty text leaves none. XLIFF 2 documents that name no target
    language get that of the options.
    """

    def parts(self, source: IO[bytes]) -> Iterator[TextPart]:
        """See `XmlFormat`."""
        numbers = count(1)
        parts = self._checked(xml_units(source, _UNITS, allows_doctype=True))
        for part in through_root(parts, _ROOT, "it is not an XLIFF file: <xliff> is missing"):
            yield self._with_language(part) if _ROOT.match(part) else part
        for found in parts:
            yield found if isinstance(found, str) else _unit(found, next(numbers))

    def _checked(self, parts: Iterable[str | Element]) -> Iterator[str | Element]:
        """Yield the parts of a file; raise FileFormatError if it names another target language."""
        for part in parts:
            named = _NAMED_TARGET.search(part) if isinstance(part, str) else None
            if named is not None:
                check_target(named[2], self.options.target)
            yield part

    def _with_language(self, root: str) -> str:
        if not _VERSION_2.search(root) or _TARGET_LANGUAGE.search(root):
            return root
        return f'{root[:-1]} trgLang="{self.options.target}">'


def _unit(unit: Element, number: int) -> TextPart:
    if unit.attribute("translate") == "no":
        return unit.raw
    location = f"unit {unit.attribute('id') or number}"
    if unit.local == "trans-unit":
        return _target_unit(unit, location, unit) or unit.raw
    parts: list[TextPart] = [unit.open]
    for node in unit.nodes:
        is_segment = isinstance(node, Element) and node.name == Name(unit.name.uri, "segment")
        passage = _target_unit(node, location, unit) if isinstance(node, Element) and is_segment else None
        parts.append(passage or node.raw)
    segments = joined([*parts, unit.close])
    return Unit(
        segments.entries, lambda texts: add_unit_note(unit, segments.write(texts), texts), segments.raw
    )


def _target_unit(parent: Element, location: str, unit: Element) -> TextUnit | None:
    """Return the element around a source as a unit with a target; None if there is nothing to translate."""
    sources, targets = parent.children("source"), parent.children("target")
    if len(sources) != 1:
        return None
    source = next((one for one in parent.children("seg-source") if any(marked_segments(one))), sources[0])
    done = {
        segment.attribute("mid") or "": segment
        for target in targets
        for segment in marked_segments(target)
        if segment.inner.strip()
    }
    mids = {segment.attribute("mid") or "" for segment in marked_segments(source)}
    if mids <= done.keys() if mids else any(target.inner.strip() for target in targets):
        return None
    if any(map(has_text_between_segments, targets)) or not done.keys() <= mids:
        return None  # it was translated in other segments
    found = parse_segment(source, location, done)
    entries = messages_in(found)
    if not entries:
        return None
    is_first = parent is unit

    def render(texts: Sequence[TargetText]) -> str:
        if not any(text.text for text in texts):
            return parent.raw
        inner = write_segment(found, texts)
        start_tag = targets[0].bare_tag if targets else f"<{source.prefix}target"
        note = ""
        if is_first:
            start_tag = with_state(start_tag, 1, texts)
            note = confidence_note(source.prefix, texts)
        target = f"{start_tag}>{inner}</{source.prefix}target>{note}"
        last = (parent.children("seg-source") or parent.children("source"))[-1]
        written = parent.rewritten(
            {id(one): target for one in targets}
            or {id(last): f"{last.raw}{parent.space_before(last)}{target}"}
        )
        opened = parent.open if is_first else f"{with_state(parent.bare_tag, 2, texts)}>"
        return f"{opened}{written[len(parent.open) :]}"

    return Unit(entries, render)
