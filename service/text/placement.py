"""Finds where marks and hidden objects go in the translation of a segment.

An element goes around the part of the target that word alignment gives it: parents first, children inside
them, siblings by score, each in what the others left. What is between words goes next to the translation of
its neighbour. Nothing goes inside a word unless it was inside a word.
"""

import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dragoman.scripts import is_word_character
from dragoman.types import Span
from service.text.accelerators import key_position
from service.text.alignment import Alignment, ScoredSpan, Stretch
from service.text.marked_text import MarkKind

MAX_DEPTH = 64
"""Maximum nesting of elements within a sentence that are placed one by one; with more, all marks stay in
their order."""

_NOWHERE = Span(0, 0)


_MAX_WORD = 200
"""Characters of a word that are skipped at most."""
_WORD = re.compile(r"(?<![\w%$])[^\W_]+(?:['\u2019-][^\W_]+)*(?![\w$])")
"""A whole word, and no part of what stands for an object."""


class Movable(NamedTuple):
    """A mark, or an object that the model does not see."""

    at: int
    """Position in the text that the model sees."""
    kind: MarkKind
    source_index: int
    """Index among the marks, or the objects, of the text."""
    is_object: bool
    partner: int | None = None
    """For OPEN and CLOSE: index of the other half among the movables, if it is there."""
    keeps_order: bool = False
    is_attached: bool = False
    """Whether white space is before it, but not after it."""
    is_in_word: bool = False
    """Whether it is inside a word."""
    key: str = ""
    """Letter of an accelerator; empty for all else."""


class Placement(NamedTuple):
    """Position of a movable in the translation."""

    at: int
    movable: int


def moving_in(movables: Sequence[Movable], source: Span, first: int) -> range:
    """Return which movables move within a segment. Others stay in the gaps between segments.

    Of those at its edges, only a half moves whose other half is inside it, with what is between.

    Args:
        movables: all of the text, in order.
        source: position of the segment.
        first: the first that is not before the segment.
    """

    def is_inside(partner: int | None) -> bool:
        return partner is not None and source.start < movables[partner].at < source.end

    while first < len(movables) and movables[first].at <= source.start:
        is_here = movables[first].at == source.start
        is_open = movables[first].kind is MarkKind.OPEN and is_inside(movables[first].partner)
        if is_here and (is_open or movables[first].key):
            break
        first += 1
    end = first
    while end < len(movables) and movables[end].at < source.end:
        end += 1
    last = end
    while last < len(movables) and movables[last].at == source.end:
        last += 1
        is_close = movables[last - 1].kind is MarkKind.CLOSE and is_inside(movables[last - 1].partner)
        if is_close or movables[last - 1].key:
            end = last
    return range(first, end)


@dataclass(slots=True, eq=False)
class _Node:
    """An element of a segment, or a single movable."""

    source: Span
    order: int
    """Position among the segment's nodes."""
    opens: int | None = None
    """The movable; None if it is before the segment, and for a single one."""
    closes: int | None = None
    """The movable; None if it is after the segment, and for a single one."""
    single: int | None = None
    children: list["_Node"] = field(default_factory=list)
    target: Span = _NOWHERE


def place(
    text: str, translated: str, movables: Sequence[Movable], segment: Stretch, moving: range
) -> list[Placement]:
    """Return the movables of a changed segment in the order of the output, properly nested.

    Args:
        text: the text that the model saw.
        translated: its translation.
        movables: all marks and hidden objects of the text, in order.
        segment: the segment, with at least one character of the source.
        moving: which of the movables are in it.
    """
    if not moving:
        return []
    cuts = list(dict.fromkeys(movables[i].at for i in moving))
    alignment = Alignment(text, translated, segment, cuts)
    root, depth = _tree(movables, segment.source, moving)
    if depth > MAX_DEPTH or any(movables[i].keeps_order for i in moving):
        return list(_keep_order(translated, movables, segment.target, moving, alignment))
    root.target = segment.target
    placer = _NodePlacer(text, translated, movables, alignment)
    pending = [root]
    while pending:
        node = pending.pop()
        placer.arrange(node)
        pending += [child for child in node.children if child.single is None]
    return list(_in_order(root))


def _keep_order(
    translated: str, movables: Sequence[Movable], target: Span, moving: range, alignment: Alignment
) -> Iterator[Placement]:
    """Yield movables in the order of the source, each next to its neighbour's translation or later."""
    at = target.start
    for i in moving:
        movable = movables[i]
        is_close = movable.kind is MarkKind.CLOSE
        after, before = alignment.after(movable.at), alignment.before(movable.at)
        is_after = is_close or (movable.kind is MarkKind.POINT and not movable.is_attached)
        wanted = (before if after is None else after) if is_after else (after if before is None else before)
        if wanted is not None and not movable.is_in_word:
            wanted = _word_end(translated, wanted) if is_close else _word_start(translated, wanted)
        if wanted is not None and wanted > at:
            at = wanted
        yield Placement(at, i)


def _is_in_word(text: str, at: int) -> bool:
    """Return whether a position is inside a word or a number."""
    if not 0 < at < len(text):
        return False
    left, right = text[at - 1], text[at]
    if is_word_character(left):
        if is_word_character(right):
            return True
        return _joins(right, left, text[at + 1 : at + 2])
    return is_word_character(right) and _joins(left, text[max(0, at - 2) : at - 1], right)


def _joins(sign: str, left: str, right: str) -> bool:
    if sign in _APOSTROPHES:
        return left.isalpha() and right.isalpha()
    return sign in ".,:" and left.isdigit() and right.isdigit()


_APOSTROPHES = "'\u2019"
_CLAUSE_SIGNS = ",;:"
"""Signs between words, which word alignment gives to one of them."""
_SIGNS_AFTER = f"{_CLAUSE_SIGNS}.!?"
"""Signs that end what is before an element: `24. <b>Mai</b>` for `24 <b>May</b>`."""


def _word_start(text: str, at: int) -> int:
    least = at - _MAX_WORD
    while at > least and _is_in_word(text, at):
        at -= 1
    return at


def _word_end(text: str, at: int) -> int:
    most = at + _MAX_WORD
    while at < most and _is_in_word(text, at):
        at += 1
    return at


def _tree(movables: Sequence[Movable], source: Span, moving: range) -> tuple[_Node, int]:
    """Return the tree of elements, and its depth."""
    root = _Node(source, -1)
    path = [root]
    depth = num_begun = 0
    for i in moving:
        movable = movables[i]
        if movable.kind is MarkKind.OPEN:
            node = _Node(Span(movable.at, source.end), i, opens=i)
            path[-1].children.append(node)
            path.append(node)
            depth = max(depth, len(path) - 1)
        elif movable.kind is MarkKind.CLOSE and movable.partner is not None and movable.partner in moving:
            node = path.pop()
            node.closes, node.source = i, Span(node.source.start, movable.at)
        elif movable.kind is MarkKind.CLOSE:
            begun = _Node(Span(source.start, movable.at), -1, closes=i, children=path[-1].children)
            path[-1].children = [begun]
            num_begun += 1
        else:
            path[-1].children.append(_Node(Span(movable.at, movable.at), i, single=i))
    return root, max(depth, num_begun)


def _in_order(node: _Node) -> Iterator[Placement]:
    """Yield what is in a node, at most `MAX_DEPTH` levels of it, in the order of the output."""
    first = node.opens if node.single is None else node.single
    if first is not None:
        yield Placement(node.target.start, first)
    for child in sorted(node.children, key=lambda child: (*child.target, child.order)):
        yield from _in_order(child)
    if node.closes is not None:
        yield Placement(node.target.end, node.closes)


def _free_span(parent: _Node, placed: Sequence[_Node]) -> Span:
    """Return the free part of a parent: after what began before the stretch, before what ends after it."""
    starts = [node.target.end for node in placed if node.opens is None]
    ends = [node.target.start for node in placed if node.closes is None]
    return Span(max(starts, default=parent.target.start), min(ends, default=parent.target.end))


class _NodePlacer:
    """Assigns positions in the target to nodes."""

    def __init__(self, text: str, translated: str, movables: Sequence[Movable], alignment: Alignment) -> None:
        self._text = text
        self._translated = translated
        self._movables = movables
        self._alignment = alignment

    def arrange(self, parent: _Node) -> None:
        """Place the children of a node that is already placed."""
        elements = [child for child in parent.children if child.single is None]
        placed, free = self._place_bound(parent, elements)
        best = ((self._best(node, parent, ()), node) for node in free)
        candidates = [(-found.score, node.order, node) for found, node in best if found is not None]
        taken = sorted(node.target for node in placed if node.target.start < node.target.end)
        for _, _, node in sorted(candidates):
            found = self._best(node, parent, taken)
            if found is not None:
                node.target = found.span
                insort(taken, node.target)
                placed.append(node)
        placed.sort(key=lambda node: node.target)
        self._widen(parent, placed)
        is_placed = set(map(id, placed))
        free_span = _free_span(parent, placed)
        for node in parent.children:
            if id(node) not in is_placed:
                at = self._nearest_position(node, free_span, placed)
                node.target = Span(at, at)
                if node.single is None and _WORD.search(self._text, *node.source):
                    following = self._alignment.before(node.source.end)
                    at = at if following is None else min(max(following, free_span.start), free_span.end)
                    node.target = self._word_near(at, free_span, placed)
                    insort(placed, node, key=lambda sibling: sibling.target)

    def _best(self, node: _Node, parent: _Node, taken: Sequence[Span]) -> ScoredSpan | None:
        """Return the part of a parent that alignment gives to an element; None if its words got none."""
        found = self._alignment.best(node.source, parent.target, taken)
        if found is not None and any(map(str.isalnum, self._text[slice(*node.source)])):
            return found if any(map(str.isalnum, self._translated[slice(*found.span)])) else None
        return found

    def _place_bound(self, parent: _Node, elements: Sequence[_Node]) -> tuple[list[_Node], list[_Node]]:
        """Place elements that reach an edge of the stretch or fill their parent; return these and others."""
        within = parent.target
        bound: list[_Node] = []
        free: list[_Node] = []
        for node in elements:
            if node.source == parent.source and parent.order >= 0:
                node.target = within
            elif node.opens is None:
                end = self._alignment.best_edge(node.source, within, is_first=True)
                node.target, within = Span(within.start, end), Span(end, within.end)
            elif node.closes is None:
                start = self._alignment.best_edge(node.source, within, is_first=False)
                node.target, within = Span(start, within.end), Span(within.start, start)
            else:
                free.append(node)
                continue
            bound.append(node)
        return bound, free

    def _widen(self, parent: _Node, placed: Sequence[_Node]) -> None:
        """Extend elements to whole words, and over adjacent white space if they had white space inside."""
        start = parent.target.start
        for i, node in enumerate(placed):
            if node.target.start == node.target.end:
                continue
            end = placed[i + 1].target.start if i + 1 < len(placed) else parent.target.end
            first, last = self._whole_words(node, Span(start, parent.target.end))
            if node.opens is not None and self._text[node.source.start].isspace():
                first = start + len(self._translated[start:first].rstrip())
            if node.closes is not None and self._text[node.source.end - 1].isspace():
                blanks = self._translated[last:end]
                last += len(blanks) - len(blanks.lstrip())
            node.target = Span(first, last)
            start = last

    def _whole_words(self, node: _Node, within: Span) -> Span:
        """Return the target of an element, without parts of words unless it is around such a part."""
        first, last = node.target
        if node.opens is not None and not self._movables[node.opens].is_in_word:
            first = _word_start(self._translated, first)
        if first < within.start:
            first = min(_word_end(self._translated, within.start), within.end)
        if node.closes is not None and not self._movables[node.closes].is_in_word:
            last = min(_word_end(self._translated, last), within.end)
            if self._text[node.source.end - 1] not in _CLAUSE_SIGNS:
                last = first + len(self._translated[first:last].rstrip(_CLAUSE_SIGNS))
        if node.opens is not None and self._text[node.source.start] not in _SIGNS_AFTER:
            words = self._translated[first:last].lstrip(_SIGNS_AFTER)
            first = (
                last - len(words.lstrip() if len(words) < last - first else words) if words.strip() else first
            )
        return Span(first, max(first, last))

    def _nearest_position(self, node: _Node, within: Span, placed: Sequence[_Node]) -> int:
        """Return a position next to the neighbours' translation, and not inside the node's siblings."""
        key = "" if node.single is None else self._movables[node.single].key
        if key:
            words = self._translated[within.start : within.end]
            position = key_position(words, key, self._aligned_word(node, within))
            return within.end if position is None else within.start + position
        at = self._neighbour_position(node)
        at = within.start if at is None else min(max(at, within.start), within.end)
        if node.single is not None and not self._movables[node.single].is_in_word:
            at = self._word_edge(at, within, is_start=self._movables[node.single].is_attached)
        i = bisect_left(placed, at, key=lambda sibling: sibling.target.end)
        if i < len(placed) and placed[i].target.start < at < placed[i].target.end:
            is_before = node.order < placed[i].order
            at = placed[i].target.start if is_before else placed[i].target.end
        return at

    def _aligned_word(self, node: _Node, within: Span) -> Span | None:
        """Return the translation of the word at a node, counted from where a part begins."""
        at = self._alignment.before(node.source.end) if self._alignment.is_linked else None
        if at is None or not within.start <= at < within.end:
            return None
        start, end = _word_start(self._translated, at), _word_end(self._translated, at + 1)
        return Span(start - within.start, end - within.start)

    def _word_near(self, at: int, free: Span, placed: Sequence[_Node]) -> Span:
        """Return the next word that no sibling has, or else the last one: an element is around a word."""
        i = bisect_right(placed, at, key=lambda sibling: sibling.target.end)
        start = max(free.start, at - _MAX_WORD, placed[i - 1].target.end if i else 0)
        end = min(free.end, at + _MAX_WORD, placed[i].target.start if i < len(placed) else free.end)
        at = min(_word_end(self._translated, at), end)
        after = next(_WORD.finditer(self._translated, at, end), None)
        found = after or next(reversed([*_WORD.finditer(self._translated, start, at)]), None)
        return Span(at, at) if found is None else Span(*found.span())

    def _word_edge(self, at: int, within: Span, *, is_start: bool) -> int:
        edges = _word_start(self._translated, at), _word_end(self._translated, at)
        edges = edges if is_start else edges[::-1]
        return next((edge for edge in edges if within.start <= edge <= within.end), at)

    def _neighbour_position(self, node: _Node) -> int | None:
        """Return the position of the neighbour after an attached node; of the one before, for other nodes."""
        after = self._alignment.after(node.source.start)
        before = self._alignment.before(node.source.end)
        if node.single is not None:
            is_attached = self._movables[node.single].is_attached
        else:
            start, end = node.source
            is_attached = self._text[start - 1 : start].isspace() and not self._text[end : end + 1].isspace()
        first, other = (before, after) if is_attached else (after, before)
        return other if first is None else first
