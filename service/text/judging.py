"""Finds stand-ins in a translation, and says which objects a segment lacks."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from dragoman.scripts import is_word_character
from dragoman.types import Span
from service.text.showing import STAND_IN, StandIn


class FoundStandIn(NamedTuple):
    """A stand-in in a translation."""

    span: Span
    """Position in the translation, with the blanks that were added around the stand-in."""
    stand_in: StandIn


class Match(NamedTuple):
    """The stand-ins of a segment in its translation."""

    found: tuple[FoundStandIn, ...]
    """In the order of the translation; to be used only if none is missing."""
    missing: frozenset[int]
    """Beginnings of objects that are not there once, in their order and outside of words."""


def match_stand_ins(stand_ins: Sequence[StandIn], translated: str, target: Span) -> Match:
    """Find the stand-ins of a segment.

    Args:
        stand_ins: those in the source of the segment, in order.
        translated: the whole translation.
        target: position of the segment in it.
    """
    if not stand_ins:
        return Match((), frozenset())
    everything = frozenset(stand_in.extent.start for stand_in in stand_ins)
    by_text: dict[str, list[StandIn]] = {}
    for stand_in in stand_ins:
        by_text.setdefault(_key(stand_in.text), []).append(stand_in)
    matches = list(STAND_IN.finditer(translated, *target))
    counts = Counter(_key(match[0]) for match in matches)
    ordered = [stand_in.text for stand_in in by_text.get(_ORDERED, ())]
    is_in_order = [match[0] for match in matches if _key(match[0]) == _ORDERED] == ordered
    if not counts.keys() <= by_text.keys():
        return Match((), everything)  # there are stand-ins that the text does not have
    missing = {
        stand_in.extent.start
        for key, expected in by_text.items()
        if not (is_in_order if key == _ORDERED else counts[key] == len(expected))
        for stand_in in expected
    }
    remaining = {key: iter(expected) for key, expected in by_text.items()}
    found: list[FoundStandIn] = []
    for match in matches:
        one = next(remaining[_key(match[0])], None)
        if one is None:
            continue
        span = _with_blanks(one, translated, Span(*match.span()), target)
        if span is None:
            missing.add(one.extent.start)
        else:
            found.append(FoundStandIn(span, one))
    return Match(tuple(found), frozenset(missing))


_MAX_ENDING = 2
"""Letters that the ending of a name has; more are a word of their own."""
_ORDERED = "ordered"


def _key(stand_in: str) -> str:
    return _ORDERED if stand_in in {"%s", "%d"} else stand_in


def _with_blanks(stand_in: StandIn, translated: str, span: Span, target: Span) -> Span | None:
    """Return the position of a stand-in with the blanks that were added; None if it is part of a word.

    A blank stays if other letters follow than in the text, but not beside a tag. One letter may follow: it is
    the ending of a name.
    """
    start, end = span
    if stand_in.is_space:
        has_before, has_after = translated[start - 1 : start] == " ", translated.startswith(" ", end)
        return Span(start - (has_before and start > target.start), end + (has_after and end < target.end))
    before, after = ("", "") if stand_in.is_tag else (stand_in.before, stand_in.after)
    if stand_in.before and translated.endswith(f"{before} ", target.start, start):
        start -= 1
    elif any(map(is_word_character, translated[max(target.start, start - 1) : start])):
        return None
    after = after if len(after) <= _MAX_ENDING else ""
    if stand_in.after and translated.startswith(f" {after}", end, target.end):
        end += 1
    else:
        following = translated[end : min(end + 2, target.end)]
        if len(following) > 1 and all(map(is_word_character, following)):
            return None
    return Span(start, end)
