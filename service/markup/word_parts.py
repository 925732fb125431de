"""Links of words that contain marks, such as H<sub>2</sub>O, cut at the marks.

A word that recurs in the translation is linked character by character, and so are the common beginning and
the common end of a word and its translation. Other parts of a word are linked to the rest of the translation.
"""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from dragoman.types import Link, Span

_WORD = re.compile(r"\w+[-\u2212+]\d+|\w+")  # 10-3 may come from 10<sup>-3</sup>


@dataclass(frozen=True, slots=True)
class SplitLinks:
    """Links of a stretch, cut at marks."""

    links: tuple[Link, ...]
    whole_only: frozenset[int]
    """Indexes of links that hold for their whole source only: signs in it are not in the translation."""


def split_links(
    text: str, translated: str, stretch: tuple[Span, Span], links: Sequence[Link], cuts: Sequence[int]
) -> SplitLinks:
    """Cut links at marks.

    Args:
        text: source text.
        translated: its translation.
        stretch: parts of both that contain the links.
        links: links between words.
        cuts: positions of marks in the source, in ascending order.
    """
    copies = list(_copied_words(text, translated, stretch, cuts))
    copied = [source for source, _ in copies]
    found = [
        Link(Span(source.start + first, source.start + last), Span(target.start + first, target.start + last))
        for source, target in copies
        for first, last in _parts(source, cuts)
    ]
    whole_only: list[Link] = []
    for link in links:
        i = bisect_right(copied, link.source.start, key=lambda source: source.end)
        if i < len(copied) and copied[i].start < link.source.end:
            continue
        if not _is_cut(link.source, cuts):
            found.append(link)
            continue
        parts, has_lost = _common_parts(text, translated, link, cuts)
        found += parts
        whole_only += [link] if has_lost else []
    first_whole = len(found)
    return SplitLinks((*found, *whole_only), frozenset(range(first_whole, first_whole + len(whole_only))))


def _is_cut(span: Span, cuts: Sequence[int]) -> bool:
    return bisect_right(cuts, span.start) < bisect_left(cuts, span.end)


def _parts(span: Span, cuts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Return the parts into which the cuts divide a span, counted from its start."""
    inner = cuts[bisect_right(cuts, span.start) : bisect_left(cuts, span.end)]
    return pairwise([0, *(cut - span.start for cut in inner), span.end - span.start])


def _copied_words(
    text: str, translated: str, stretch: tuple[Span, Span], cuts: Sequence[int]
) -> Iterator[tuple[Span, Span]]:
    """Yield the words that are cut, each with the same word in the translation, matched in order."""
    sources = _words(text, stretch[0])
    wanted = {text[span.start : span.end] for span in sources if _is_cut(span, cuts)}
    if not wanted:
        return
    targets: defaultdict[str, list[Span]] = defaultdict(list)
    for span in _words(translated, stretch[1]):
        targets[translated[span.start : span.end]].append(span)
    remaining_targets = {word: iter(targets[word]) for word in wanted}
    for span in sources:
        word = text[span.start : span.end]
        copy = next(remaining_targets[word], None) if word in wanted else None
        if copy is not None:
            yield span, copy


def _words(text: str, span: Span) -> list[Span]:
    return [Span(*found.span()) for found in _WORD.finditer(text, *span)]


def _common_parts(text: str, translated: str, link: Link, cuts: Sequence[int]) -> tuple[list[Link], bool]:
    """Return the links of the parts of a word, and whether a part without letters has no counterpart."""
    source, target = (
        text[link.source.start : link.source.end],
        translated[link.target.start : link.target.end],
    )
    num_first = _num_common(zip(source, target, strict=False))
    if num_first == 0 and source.isalpha() and link.source.start + 1 in cuts:
        num_first = 1  # a large first letter, such as a drop cap
    most = min(len(source), len(target)) - num_first
    num_last = min(most, _num_common(zip(reversed(source), reversed(target), strict=False)))
    ends = len(source) - num_last, len(target) - num_last
    found: list[Link] = []
    has_lost = False
    for first, last in _parts(link.source, cuts):
        start, stop = min(last, num_first), max(first, ends[0])
        found += _link_parts(link, (first, start), (first, start))
        found += _link_parts(link, (stop, last), (ends[1] + stop - ends[0], ends[1] + last - ends[0]))
        middle = max(first, num_first), min(last, ends[0])
        if any(map(str.isalpha, source[middle[0] : middle[1]])):
            found += _link_parts(link, middle, (num_first, ends[1]))
        else:
            has_lost = has_lost or middle[0] < middle[1]
    return found, has_lost


def _link_parts(link: Link, source: tuple[int, int], target: tuple[int, int]) -> list[Link]:
    """Return a link between two parts, or nothing if one is empty."""
    if source[0] >= source[1] or target[0] >= target[1]:
        return []
    spans = (
        Span(whole.start + part[0], whole.start + part[1])
        for whole, part in ((link.source, source), (link.target, target))
    )
    return [Link(*spans)]


def _num_common(pairs: Iterable[tuple[str, str]]) -> int:
    """Return the number of leading characters that are equal, whatever their case."""
    num = 0
    for left, right in pairs:
        if left.lower() != right.lower():
            break
        num += 1
    return num
