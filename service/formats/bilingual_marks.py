"""Review marks in XLIFF 1.2, XLIFF 2 and TMX: attributes, notes and properties."""

import re
from collections.abc import Mapping, Sequence

from service.formats.review_marks import TOOL, confidence_of, origin_of
from service.formats.xml_tree import Element
from service.text.outcome import TextOrigin

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


def with_state(tag: str, version: int, texts: Sequence[str]) -> str:
    """Return a start tag of XLIFF with the state of texts in place of its own."""
    state = (_XLIFF_1 if version == 1 else _XLIFF_2)[origin_of(texts)]
    return f"{_STATE.sub('', tag)} {state}"


def confidence_note(prefix: str, texts: Sequence[str]) -> str:
    """Return a note of XLIFF 1.2 with the confidence of texts; empty if it is unknown.

    Args:
        prefix: prefix of XLIFF's elements, with its colon.
        texts: texts of a target.
    """
    confidence = confidence_of(texts)
    if confidence is None:
        return ""
    return f'<{prefix}note from="{TOOL}" annotates="target">confidence: {confidence}</{prefix}note>'


def add_unit_note(unit: Element, written: str, texts: Sequence[str]) -> str:
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


def variant_marks(texts: Sequence[str]) -> tuple[str, str]:
    """Return the attributes and the properties of a variant of TMX."""
    attributes, properties = _TMX[origin_of(texts)]
    confidence = confidence_of(texts)
    if confidence is not None:
        properties += f'<prop type="x-confidence">{confidence}</prop>'
    return attributes, properties
