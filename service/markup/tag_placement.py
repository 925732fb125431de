"""Finds where the marks of a stretch go in its translation.

An element goes around the part of the target that word alignment gives it: parents first, children inside
them, siblings by score, each in what the others left. A mark between words goes next to the translation of
its neighbour.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dragoman.types import Span
from service.markup.alignment import Alignment
from service.markup.blocks import Block, Mark
from service.markup.stretches import StretchMarks
from service.markup.tokens import TokenKind

MAX_DEPTH = 64
"""Maximum nesting of elements within a sentence that are placed one by one; with more, all marks stay in
their order."""

_NOWHERE = Span(0, 0)


class PlacedMark(NamedTuple):
    """Position of a mark in the translation."""

    at: int
    mark: int


@dataclass(slots=True, eq=False)
class _Node:
    """An element of a stretch, or a single mark."""

    source: Span
    order: int
    """Position among the stretch's nodes in the markup."""
    opens: int | None = None
    """Index of the mark; None if it is before the stretch, and for a single mark."""
    closes: int | None = None
    """Index of the mark; None if it is after the stretch, and for a single mark."""
    single: int | None = None
    children: list["_Node"] = field(default_factory=list)
    target: Span = _NOWHERE


def place(block: Block, translated: str, placed: StretchMarks) -> list[PlacedMark]:
    """Return the marks of a changed stretch in the order of the output, properly nested.

    Args:
        block: block with the marks.
        translated: translation of the whole block.
        placed: the stretch, and the marks that move in it.
    """
    if not placed.moving:
        return []
    cuts = [block.marks[i].at for i in placed.moving if block.marks[i].kind is not TokenKind.TEXT]
    alignment = Alignment(block.text, translated, placed.stretch, cuts)
    root, depth = _tree(block.marks, placed)
    if depth > MAX_DEPTH:
        return list(_keep_order(block.marks, placed, alignment))
    root.target = placed.stretch.target
    arranger = _NodePlacer(block, translated, alignment, placed.moving)
    pending = [root]
    while pending:
        node = pending.pop()
        arranger.arrange(node)
        pending += [child for child in node.children if child.single is None]
    return list(_marks_in_order(root))


def _keep_order(marks: Sequence[Mark], placed: StretchMarks, alignment: Alignment) -> Iterator[PlacedMark]:
    """Yield marks in the order of the source, each next to its neighbour's translation or later."""
    at = placed.stretch.target.start
    for i in placed.moving:
        wanted = (
            alignment.after(marks[i].at)
            if marks[i].kind is TokenKind.CLOSE
            else alignment.before(marks[i].at)
        )
        at = at if wanted is None else max(at, wanted)
        yield PlacedMark(at, i)


def _tree(marks: Sequence[Mark], placed: StretchMarks) -> tuple[_Node, int]:
    """Return the tree of elements, and its depth."""
    source, moving = placed.stretch.source, placed.moving
    root = _Node(source, -1)
    path = [root]
    depth = num_begun = 0
    for i in moving:
        mark = marks[i]
        if mark.kind is TokenKind.OPEN:
            node = _Node(Span(mark.at, source.end), i, opens=i)
            path[-1].children.append(node)
            path.append(node)
            depth = max(depth, len(path) - 1)
        elif mark.kind is TokenKind.CLOSE and mark.partner in moving:
            node = path.pop()
            node.closes, node.source = i, Span(node.source.start, mark.at)
        elif mark.kind is TokenKind.CLOSE:
            begun = _Node(Span(source.start, mark.at), -1, closes=i, children=path[-1].children)
            path[-1].children = [begun]
            num_begun += 1
        else:
            path[-1].children.append(_Node(Span(mark.at, mark.at), i, single=i))
    return root, max(depth, num_begun)


def _marks_in_order(root: _Node) -> Iterator[PlacedMark]:
    pending: list[_Node | PlacedMark] = [root]
    while pending:
        node = pending.pop()
        if isinstance(node, PlacedMark):
            yield node
        elif node.single is not None:
            yield PlacedMark(node.target.start, node.single)
        else:
            if node.opens is not None:
                yield PlacedMark(node.target.start, node.opens)
            if node.closes is not None:
                pending.append(PlacedMark(node.target.end, node.closes))
            children = sorted(node.children, key=lambda child: (*child.target, child.order))
            pending += reversed(children)


def _free_span(parent: _Node, placed: Sequence[_Node]) -> Span:
    """Return the free part of a parent: after what began before the stretch, before what ends after it."""
    starts = [node.target.end for node in placed if node.opens is None]
    ends = [node.target.start for node in placed if node.closes is None]
    return Span(max(starts, default=parent.target.start), min(ends, default=parent.target.end))


class _NodePlacer:
    """Assigns positions in the target to nodes."""

    def __init__(self, block: Block, translated: str, alignment: Alignment, moving: range) -> None:
        self._block = block
        self._text = block.text
        self._translated = translated
        self._alignment = alignment
        self._last_spaces = {block.marks[i].at: i for i in moving if block.marks[i].kind is TokenKind.TEXT}
        """Last white space mark at each position: marks before it have white space after them."""

    def arrange(self, parent: _Node) -> None:
        """Place the children of a node that is already placed."""
        elements = [child for child in parent.children if child.single is None]
        placed, free = self._place_bound(parent, elements)
        candidates = []
        for node in free:
            found = self._alignment.best(node.source, parent.target, ())
            if found is not None:
                candidates.append((-found.score, node.order, node))
        taken = sorted(node.target for node in placed if node.target.start < node.target.end)
        for _, _, node in sorted(candidates):
            found = self._alignment.best(node.source, parent.target, taken)
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

    def _place_bound(self, parent: _Node, elements: Sequence[_Node]) -> tuple[list[_Node], list[_Node]]:
        """Place elements that reach an edge of the stretch or fill their parent; return these and others."""
        within = parent.target
        bound: list[_Node] = []
        free: list[_Node] = []
        for node in elements:
            if node.source == parent.source and parent.order >= 0:
                node.target = within
            elif node.opens is None:
                end = self._alignment.best_start(node.source, within)
                node.target, within = Span(within.start, end), Span(end, within.end)
            elif node.closes is None:
                start = self._alignment.best_end(node.source, within)
                node.target, within = Span(start, within.end), Span(within.start, start)
            else:
                free.append(node)
                continue
            bound.append(node)
        return bound, free

    def _widen(self, parent: _Node, placed: Sequence[_Node]) -> None:
        """Extend elements over adjacent white space if they had white space inside."""
        start = parent.target.start
        for i, node in enumerate(placed):
            if node.target.start == node.target.end:
                continue
            end = placed[i + 1].target.start if i + 1 < len(placed) else parent.target.end
            first, last = node.target
            if node.opens is not None and self._is_space(self._text, node.source.start):
                first = self._skip_back(first, start)
            if node.closes is not None and self._is_space(self._text, node.source.end - 1):
                last = self._skip(last, end)
            node.target = Span(first, last)
            start = last

    def _skip_back(self, at: int, start: int) -> int:
        while at > start and self._is_space(self._translated, at - 1):
            at -= 1
        return at

    def _skip(self, at: int, end: int) -> int:
        while at < end and self._is_space(self._translated, at):
            at += 1
        return at

    def _nearest_position(self, node: _Node, within: Span, placed: Sequence[_Node]) -> int:
        """Return a position next to the neighbours' translation, and not inside the node's siblings."""
        at = self._neighbour_position(node)
        at = within.start if at is None else min(max(at, within.start), within.end)
        i = bisect_left(placed, at, key=lambda sibling: sibling.target.end)
        if i < len(placed) and placed[i].target.start < at < placed[i].target.end:
            is_before = node.order < placed[i].order
            at = placed[i].target.start if is_before else placed[i].target.end
        return at

    def _neighbour_position(self, node: _Node) -> int | None:
        """Return the position of the neighbour after an attached node; of the one before, for other nodes."""
        after = self._alignment.after(node.source.start)
        before = self._alignment.before(node.source.end)
        if self._is_attached(node):
            return after if before is None else before
        return before if after is None else after

    def _is_attached(self, node: _Node) -> bool:
        """Return whether white space is before the node, but not after it."""
        start, end = node.source
        if self._last_spaces.get(end, -1) > node.order:
            return False
        return self._text[start - 1 : start].isspace() and not self._text[end : end + 1].isspace()

    def _is_space(self, text: str, at: int) -> bool:
        return text[at].isspace()
