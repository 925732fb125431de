"""XLIFF 1.2 and 2: missing and empty targets are filled in.

A target gets the inline codes of its source, and its segments if a unit of XLIFF 1.2 marks some; its state
becomes `translated`. An XLIFF 2 document that names no target language gets one. Everything else stays byte
for byte, as do units with `translate="no"`. Specifications: XLIFF 1.2 and XLIFF 2.1 (OASIS).
"""

import re
from collections.abc import Iterator, Sequence
from itertools import count
from typing import IO, BinaryIO

from service.formats.entries import Entry, FileOptions
from service.formats.errors import FileFormatError
from service.formats.inline_codes import (
    has_text_between_segments,
    marked_segments,
    parse_segment,
    write_segment,
)
from service.formats.inline_runs import TextRun
from service.formats.text_units import TextUnit, entries_of, joined
from service.formats.xml_text_units import write_xml
from service.formats.xml_units import Chars, Element, Name, xml_units

_V1 = ("urn:oasis:names:tc:xliff:document:1.2", "urn:oasis:names:tc:xliff:document:1.1", "")
_V2 = ("urn:oasis:names:tc:xliff:document:2.0", "urn:oasis:names:tc:xliff:document:2.2")
_UNITS = frozenset([*(Name(uri, "trans-unit") for uri in _V1), *(Name(uri, "unit") for uri in _V2)])
_ROOT = re.compile(r"<(?:[\w.-]++:)?xliff\s")
_TAG = re.compile(r"<[^!?]")
_VERSION_2 = re.compile(r"\sversion\s*=\s*[\"']2")
_TARGET_LANGUAGE = re.compile(r"\strgLang\s*=")
_STATE = re.compile(r"\sstate\s*=\s*(?:\"[^\"]*\"|'[^']*')")
_STATE_FOR_TRANSLATED = ' state="translated"'


class XliffFormat:
    """An XLIFF file; an entry is the source of a unit or segment that has no target.

    In XLIFF 1.2, `seg-source` marks the segments; text between them is an entry too.
    """

    def __init__(self, options: FileOptions) -> None:
        """Store the target language, which is written into XLIFF 2 documents that name none."""
        self._target = options.target

    def read(self, source: BinaryIO) -> Iterator[Entry]:
        """See `FileFormat`."""
        return entries_of(self._parts(source))

    def write(self, source: BinaryIO, texts: Iterator[str], target: BinaryIO) -> None:
        """See `FileFormat`; texts equal to their entries fill targets too, an empty text leaves none."""
        write_xml(source, texts, target, self._parts)

    def _parts(self, source: IO[bytes]) -> Iterator[str | TextUnit]:
        numbers = count(1)
        is_begun = False
        for part in xml_units(source, _UNITS, allows_doctype=True):
            if isinstance(part, Element):
                yield _unit(part, next(numbers))
                continue
            is_root = not is_begun and _TAG.match(part) is not None  # a separate part: see `xml_units`
            if is_root and not _ROOT.match(part):
                raise _no_xliff_error()
            is_begun = is_begun or is_root
            yield self._with_language(part) if is_root else part
        if not is_begun:
            raise _no_xliff_error()

    def _with_language(self, root: str) -> str:
        if not _VERSION_2.search(root) or _TARGET_LANGUAGE.search(root):
            return root
        return f'{root[:-1]} trgLang="{self._target}">'


def _no_xliff_error() -> FileFormatError:
    return FileFormatError("it is not an XLIFF file: <xliff> is missing")


def _unit(unit: Element, number: int) -> TextUnit | str:
    if unit.attribute("translate") == "no":
        return unit.raw
    place = f"unit {unit.attribute('id') or number}"
    if unit.local == "trans-unit":
        return _target_unit(unit, place, unit) or unit.raw
    parts: list[str | TextUnit] = [unit.open]
    for node in unit.nodes:
        is_segment = isinstance(node, Element) and node.name == Name(unit.name.uri, "segment")
        passage = _target_unit(node, place, unit) if isinstance(node, Element) and is_segment else None
        parts.append(passage or node.raw)
    return joined([*parts, unit.close])


def _target_unit(parent: Element, place: str, unit: Element) -> TextUnit | None:
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
    found = parse_segment(source, place, done)
    entries = tuple(running.entry for running in found if isinstance(running, TextRun))
    if not entries:
        return None
    is_first = parent is unit

    def spell(texts: Sequence[str]) -> str:
        if not any(texts):
            return parent.raw
        inner = write_segment(found, texts)
        start_tag = targets[0].open if targets else f"<{source.prefix}target>"
        target = f"{_start_tag(start_tag, sets_state=is_first)}{inner}</{source.prefix}target>"
        opened = parent.open if is_first else _start_tag(parent.open, sets_state=True)
        return f"{opened}{''.join(_nodes(parent, target))}{parent.close}"

    return TextUnit(entries, spell)


def _start_tag(tag: str, *, sets_state: bool) -> str:
    """Return a start tag, from that of an empty element too, with the state `translated` if `sets_state`."""
    start_tag = tag.removesuffix(">").removesuffix("/").rstrip()
    if sets_state:
        start_tag = _STATE.sub("", start_tag) + _STATE_FOR_TRANSLATED
    return f"{start_tag}>"


def _nodes(parent: Element, target: str) -> Iterator[str]:
    """Yield the content of a unit, with the target in place of the existing one or after the source."""
    has_target = bool(parent.children("target"))
    after = (parent.children("seg-source") or parent.children("source"))[-1]
    space = ""
    for i, node in enumerate(parent.nodes):
        if isinstance(node, Element) and node.local == "target" and node.name.uri == parent.name.uri:
            yield target
            continue
        yield node.raw
        if node is after and not has_target:
            before = parent.nodes[i - 1] if i else None
            space = before.raw if isinstance(before, Chars) and not before.text.strip() else ""
            yield space + target
