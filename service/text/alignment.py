"""Finds the part of a translation that corresponds to a part of the source, by links between words."""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NamedTuple

from dragoman.types import Link, Span

_CUT_WORD = re.compile(r"\w+[-\u2212+]\d+|\w+")  # 10-3 may come from 10<sup>-3</sup>


@dataclass(frozen=True, slots=True)
class Stretch:
    """Part of a text, with its translation."""

    source: Span
    """Part of the source, never empty."""
    target: Span
    links: tuple[Link, ...]
    """Links within the two spans."""


def _split_links(
    text: str, translated: str, stretch: Stretch, links: Iterable[Link], cuts: Sequence[int]
) -> tuple[list[Link], list[Link]]:
    """Return links cut at marks, and those for their whole source only, as signs in it were lost."""
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
    return found, whole_only


def _is_cut(span: Span, cuts: Sequence[int]) -> bool:
    return bisect_right(cuts, span.start) < bisect_left(cuts, span.end)


def _parts(span: Span, cuts: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Return the parts into which the cuts divide a span, counted from its start."""
    inner = cuts[bisect_right(cuts, span.start) : bisect_left(cuts, span.end)]
    return pairwise([0, *(cut - span.start for cut in inner), span.end - span.start])


def _copied_words(
    text: str, translated: str, stretch: Stretch, cuts: Sequence[int]
) -> Iterator[tuple[Span, Span]]:
    """Yield the words that are cut, each with the same word in the translation, matched in order."""
    sources = _words(text, stretch.source)
    wanted = {text[span.start : span.end] for span in sources if _is_cut(span, cuts)}
    if not wanted:
        return
    targets: defaultdict[str, list[Span]] = defaultdict(list)
    for span in _words(translated, stretch.target):
        targets[translated[span.start : span.end]].append(span)
    remaining_targets = {word: iter(targets[word]) for word in wanted}
    for span in sources:
        word = text[span.start : span.end]
        copy = next(remaining_targets[word], None) if word in wanted else None
        if copy is not None:
            yield span, copy


def _words(text: str, span: Span) -> list[Span]:
    return [Span(*found.span()) for found in _CUT_WORD.finditer(text, *span)]


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


_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\s\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
"""A word between white space, or a character of a script that puts no space between words."""


class ScoredSpan(NamedTuple):
    """A part of the target, with its score for a part of the source."""

    score: float
    """Correspondence with the part of the source, minus that with other parts."""
    span: Span


class Alignment:
    """Word alignment of one stretch. Atoms are the pieces into which the links divide the target."""

    def __init__(self, text: str, translated: str, stretch: Stretch, cuts: Sequence[int] = ()) -> None:
        """Prepare the links; without any, assume the same word order at a constant pace.

        Args:
            text: text of the whole block.
            translated: translation of the whole block.
            stretch: stretch with at least one character of the source.
            cuts: positions of marks in the source, in ascending order; links of words that contain marks are
                cut there.
        """
        self.is_linked = bool(stretch.links)
        """Whether the model said which words correspond."""
        self._source = stretch.source
        links = stretch.links or _guess_links(text, translated, stretch)
        parts, whole_only = _split_links(text, translated, stretch, links, cuts)
        self._links, self._first_whole_only = (*parts, *whole_only), len(parts)
        self._edges = sorted({edge for link in self._links for edge in link.target})
        self._atoms_of = [
            range(bisect_left(self._edges, link.target.start), bisect_left(self._edges, link.target.end))
            for link in self._links
        ]
        num_links = [0] * max(0, len(self._edges) - 1)
        for atoms in self._atoms_of:
            for atom in atoms:
                num_links[atom] += 1
        self._num_links = num_links
        self._links_before = [0, *accumulate(num_links)]
        self._links_at: list[list[int]] = [[] for _ in range(self._source.end - self._source.start)]
        for i, link in enumerate(self._links):
            for at in range(link.source.start, link.source.end):
                self._links_at[at - self._source.start].append(i)
        self._linked_at = [self._source.start + at for at, links in enumerate(self._links_at) if links]

    def best(self, source: Span, within: Span, assigned: Sequence[Span]) -> ScoredSpan | None:
        """Return the contiguous part that covers most of `source` and least of all else; None without any.

        Args:
            source: part of the stretch.
            within: where to search.
            assigned: parts of `within` that are already assigned, in order.
        """
        inside = self._inside(source, within)
        best: ScoredSpan | None = None
        begin, score, before = 0, 0.0, -1
        for atom in sorted(inside):
            span = Span(self._edges[atom], self._edges[atom + 1])
            i = bisect_right(assigned, span.start, key=lambda other: other.end)
            if i < len(assigned) and assigned[i].start < span.end:
                continue
            score -= 0 if before < 0 else self._links_before[atom] - self._links_before[before + 1]
            is_cut_off = i > 0 and assigned[i - 1].end > begin
            if before < 0 or score <= 0 or is_cut_off:
                begin, score = span.start, 0.0
            score += inside[atom]
            before = atom
            if best is None or score > best.score:
                best = ScoredSpan(score, Span(begin, span.end))
        return best

    def best_edge(self, source: Span, within: Span, *, is_first: bool) -> int:
        """Return where the best part ends that begins where `within` does; or begins, if it is the last."""
        inside, atoms = self._inside(source, within), self._atoms_in(within)
        best_score = score = 0.0
        best = within.start if is_first else within.end
        for atom in atoms if is_first else reversed(atoms):
            score += inside.get(atom, -self._num_links[atom])
            if score > best_score:
                best_score, best = score, self._edges[atom + is_first]
        return best

    def after(self, at: int) -> int | None:
        """Return where the translation of the last linked character before `at` ends; None without one."""
        i = bisect_left(self._linked_at, at)
        return None if i == 0 else max(link.target.end for link in self._at(self._linked_at[i - 1]))

    def before(self, at: int) -> int | None:
        """Return where the translation of the first linked character at or after `at` begins, or None."""
        i = bisect_left(self._linked_at, at)
        if i == len(self._linked_at):
            return None
        return min(link.target.start for link in self._at(self._linked_at[i]))

    def _at(self, at: int) -> Iterator[Link]:
        return (self._links[i] for i in self._links_at[at - self._source.start])

    def _atoms_in(self, span: Span) -> range:
        return range(bisect_left(self._edges, span.start), bisect_right(self._edges, span.end) - 1)

    def _inside(self, source: Span, within: Span) -> dict[int, float]:
        """Return the atoms that correspond to `source`, with how much more to it than to everything else.

        A link that is partly in `source` counts for it in proportion, and never against it.
        """
        num_characters: defaultdict[int, int] = defaultdict(int)
        for at in range(source.start, source.end):
            for i in self._links_at[at - self._source.start]:
                num_characters[i] += 1
        atoms = self._atoms_in(within)
        scores: dict[int, float] = {}
        for i, num in num_characters.items():
            link = self._links[i].source
            if i >= self._first_whole_only and num < link.end - link.start:
                continue
            share = num / (link.end - link.start)
            for atom in self._atoms_of[i]:
                if atoms.start <= atom < atoms.stop:
                    scores[atom] = scores.get(atom, -self._num_links[atom]) + 1 + share
        return scores


def _guess_links(text: str, translated: str, stretch: Stretch) -> Iterator[Link]:
    source = [Span(*found.span()) for found in _WORD.finditer(text, *stretch.source)]
    target = [Span(*found.span()) for found in _WORD.finditer(translated, *stretch.target)]
    if not source or not target:
        return
    pairs = {(i, i * len(target) // len(source)) for i in range(len(source))}
    pairs |= {(j * len(source) // len(target), j) for j in range(len(target))}
    for i, j in sorted(pairs):
        yield Link(source[i], target[j])
