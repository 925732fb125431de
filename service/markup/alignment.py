"""Finds the part of a translation that corresponds to a part of the source, by links between words."""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple

from dragoman.types import Link, Span
from service.markup.stretches import Stretch
from service.markup.word_parts import split_links

_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\s\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+")
"""A word between white space, or a character of a script that puts no space between words."""


class ScoredSpan(NamedTuple):
    """A part of the target, with its score for a part of the source."""

    score: float
    """How much it corresponds to the part of the source, minus how much to other parts."""
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
        self._source = stretch.source
        links = stretch.links or tuple(_guess_links(text, translated, stretch))
        split = split_links(text, translated, (stretch.source, stretch.target), links, cuts)
        self._links, self._whole_only = split.links, split.whole_only
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

    def best_start(self, source: Span, within: Span) -> int:
        """Return where the best part ends if it must begin where `within` begins."""
        inside = self._inside(source, within)
        best_score = score = 0.0
        best_end = within.start
        for atom in self._atoms_in(within):
            score += inside.get(atom, -self._num_links[atom])
            if score > best_score:
                best_score, best_end = score, self._edges[atom + 1]
        return best_end

    def best_end(self, source: Span, within: Span) -> int:
        """Return where the best part begins if it must end where `within` ends."""
        inside = self._inside(source, within)
        best_score = score = 0.0
        best_start = within.end
        for atom in reversed(self._atoms_in(within)):
            score += inside.get(atom, -self._num_links[atom])
            if score > best_score:
                best_score, best_start = score, self._edges[atom]
        return best_start

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
            if i in self._whole_only and num < link.end - link.start:
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
