"""Shows a text to the model: stand-ins for objects, line breaks for breaks, and neither marks nor pairs.

The models are trained with `%1$s` to `%9$s`, so stand-ins are counted anew in each sentence if a text has
more, and a tenth object of one sentence is hidden. On a line of objects only they have no letter, `%1$`, and
the engine copies the line.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dragoman.scripts import is_word_character
from dragoman.text.segmentation import has_letters, segment
from dragoman.types import Span
from service.text.accelerators import LONG_LABEL, written_accelerator
from service.text.marked_text import OBJECT, Mark, MarkedText, MarkKind, Object, Shown
from service.text.placement import Movable
from service.text.position_map import PositionMap, Run
from service.text.searching import never_pause

_SPACES = frozenset(["&nbsp;", "&#160;", "&#xa0;"])
MAX_SHOWN = 9
"""Stand-ins of one sentence."""
STAND_IN = re.compile(r"%%|%(?P<number>\d+)\$s?|(?<!\d)%[sd]")

_HIDDEN = dict.fromkeys((Shown.LINE, Shown.NOTE, Shown.KEY), MarkKind.POINT)
_HIDDEN |= {Shown.OPEN: MarkKind.OPEN, Shown.CLOSE: MarkKind.CLOSE}
_TAGS = ("{%", "{\\", "<", "[", "\\")
_ORDERED = {Shown.STRING: "%s", Shown.NUMBER: "%d"}
_MAX_BESIDE = 10
"""Characters in which the neighbour of a hidden object is looked for beyond other objects."""
MAX_LETTERS = 40
"""Letters that touch an object and are looked at."""
_LETTERS_BEFORE = re.compile(r"(?<![^\W\d_])[^\W\d_]*+\Z")
_LETTERS_AFTER = re.compile(rf"[^\W\d_]{{0,{MAX_LETTERS}}}")


class StandIn(NamedTuple):
    """Text that the model sees instead of an object."""

    object_index: int
    """Index of the object."""
    text: str
    extent: Span
    """Position of the object in its text."""
    shown: Span
    """Position in the text that the model sees, with added blanks."""
    before: str
    """Letters that touch the object, and are shown with a blank between."""
    after: str
    is_space: bool = False
    """Whether the object is a reference to a space, so that blanks around it were added in any case."""
    is_tag: bool = False
    """Whether the object is no part of a word, as `{% if %}`, so that no blank must be added beside it."""


@dataclass(frozen=True, slots=True)
class MarkedPart:
    """Part of a text that the model sees at once."""

    marked: MarkedText
    extent: Span
    """Position in the text."""
    marks: range
    """Range of the marks that belong to it."""
    language: str
    """BCP-47 code of the text's language, for its sentences."""
    pause: Callable[[], None] = never_pause
    """Called now and then."""

    def marks_before(self, each: Object, first: int) -> int:
        """Return the end of the marks, from one on, that are before a break.

        At one without width, these are those up to the last CLOSE there.
        """
        end = last = first
        marks = self.marked.marks
        while last < self.marks.stop and marks[last].at <= each.start:
            last += 1
            has_width = each.start < each.end
            if has_width or marks[last - 1].at < each.start or marks[last - 1].kind is MarkKind.CLOSE:
                end = last
        return end


@dataclass(frozen=True, slots=True, eq=False)
class ShownText:
    """A text, or part of one, as the model sees it in a call."""

    part: MarkedPart
    text: str
    stand_ins: tuple[StandIn, ...]
    """One for each object that is shown, in order."""
    movables: tuple[Movable, ...]
    """Marks and hidden objects, in order."""
    positions: PositionMap
    """Maps positions of the shown text to those of the text itself."""
    hidden: frozenset[int]
    """Beginnings of the objects that the model must not see."""
    trial: int
    """1 for the first call; each further one is for a segment alone."""

    @property
    def is_aligned(self) -> bool:
        """Return whether its translation must have links. A short label needs none for its accelerator."""
        return not all(movable.key for movable in self.movables) or (
            bool(self.movables) and self.text.count(" ") >= LONG_LABEL
        )

    @property
    def is_plain(self) -> bool:
        """Return whether it is the text itself, without marks and objects."""
        return not self.stand_ins and not self.movables


def show(part: MarkedPart, hidden: frozenset[int] = frozenset(), trial: int = 1) -> ShownText:
    """Return a part of a text as the model sees it.

    Args:
        part: the part.
        hidden: where the objects begin that the model must not see.
        trial: number of the call.
    """
    objects = part.marked.objects
    within = part.marked.objects_in(*part.extent)
    if not within and not part.marks:  # as most texts
        return _as_it_is(part, hidden, trial)

    def build(stand_ins: Mapping[int, str]) -> ShownText:
        builder = _Builder(part, stand_ins, hidden, trial)
        for i in within:
            builder.add(i)
            part.pause()
        return builder.finish()

    not_shown = {i for i in within if objects[i].start in hidden or objects[i].shown in _HIDDEN}
    shown = [i for i in within if i not in not_shown and objects[i].shown is not Shown.BREAK]
    if shown and any(map(STAND_IN.search, _between(part, within))):
        return build({})  # a stand-in could be mistaken for the text's own
    copied = _on_copied_lines(part, within, not_shown)
    stand_ins = {i: f"%{n}$" for n, i in enumerate(sorted(copied), 1)}
    counted = [i for i in shown if i not in copied]
    if sum(objects[i].shown is not Shown.LITERAL for i in counted) <= MAX_SHOWN:
        return build(stand_ins | _numbered(objects, counted))
    draft = build(stand_ins | dict.fromkeys(counted, "%1$s"))
    is_counted = set(counted)
    sentences = _sentences(draft.text, part.language)
    sentence = next(sentences, Span(0, 0))
    members: list[int] = []
    for stand_in in draft.stand_ins:
        while sentence.end < stand_in.shown.end and (following := next(sentences, None)) is not None:
            stand_ins |= _numbered(objects, members[:MAX_SHOWN])
            sentence, members = following, []
        if stand_in.object_index in is_counted:
            members.append(stand_in.object_index)
    return build(stand_ins | _numbered(objects, members[:MAX_SHOWN]))


def _as_it_is(part: MarkedPart, hidden: frozenset[int], trial: int) -> ShownText:
    extent = part.extent
    runs = [Run(0, extent.end - extent.start, extent)] if extent.start < extent.end else []
    text = part.marked.text[extent.start : extent.end]
    return ShownText(part, text, (), (), PositionMap(runs, extent.start), hidden, trial)


def _numbered(objects: Sequence[Object], indexes: Sequence[int]) -> dict[int, str]:
    """Return a stand-in for each of these objects."""
    found: dict[int, str] = {}
    for i in indexes:
        shown = objects[i].shown
        found[i] = _ORDERED.get(shown) or ("%%" if shown is Shown.LITERAL else f"%{len(found) + 1}$s")
    return found


def _between(part: MarkedPart, within: range) -> Iterator[str]:
    """Yield the words between objects."""
    at = part.extent.start
    for i in within:
        yield part.marked.text[at : part.marked.objects[i].start]
        at = part.marked.objects[i].end
    yield part.marked.text[at : part.extent.end]


def _on_copied_lines(part: MarkedPart, within: range, hidden: Collection[int]) -> set[int]:
    """Return the indexes of objects that are shown on lines without letters."""
    objects = part.marked.objects
    copied: set[int] = set()
    line: list[int] = []
    is_worded = False
    for i, words in zip([*within, None], _between(part, within), strict=True):
        first, *others = words.split("\n")
        is_worded = is_worded or has_letters(first)
        is_break = i is None or objects[i].shown is Shown.BREAK
        if (others or is_break) and not is_worded:
            copied.update(line)
        if others or is_break:
            line, is_worded = [], not is_break and has_letters(others[-1])
        if i is not None and i not in hidden and objects[i].shown not in {Shown.BREAK, Shown.LITERAL}:
            line.append(i)
    return copied


def _sentences(text: str, language: str) -> Iterator[Span]:
    document = segment(text, language)
    at = len(document.gaps[0])
    for sentence, gap in zip(document.segments, document.gaps[1:], strict=True):
        yield Span(at, at + len(sentence))
        at += len(sentence) + len(gap)


@dataclass(slots=True, eq=False)
class _Builder:
    part: MarkedPart
    stand_in_of: Mapping[int, str]
    hidden: frozenset[int]
    trial: int
    pieces: list[str] = field(default_factory=list)
    length: int = 0
    at: int = field(init=False)
    next_mark: int = field(init=False)
    stand_ins: list[StandIn] = field(default_factory=list)
    movables: list[Movable] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    mark_indices: dict[int, int] = field(default_factory=dict)
    """Index among the movables of each mark."""
    object_indices: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.at = self.part.extent.start
        self.next_mark = self.part.marks.start

    def add(self, i: int) -> None:
        """Add an object, with the text and the marks before it."""
        found = self.part.marked.objects[i]
        self._copy_until(found.start, self.part.marks_before(found, self.next_mark))
        if found.shown is Shown.BREAK:
            self._show(i, found, "\n", ("", ""))
        elif i in self.stand_in_of:
            self._show(i, found, self.stand_in_of[i], self._letters_around(found))
        else:
            self._hide(i, found)

    def finish(self) -> ShownText:
        """Return the shown text."""
        extent = self.part.extent
        self._copy_until(extent.end, self.part.marks.stop)
        partners = _partners(self.mark_indices, self.part.marked.marks)
        partners |= _partners(self.object_indices, self.part.marked.objects)
        movables = [
            movable._replace(at=min(movable.at, self.length), partner=partners.get(i))
            for i, movable in enumerate(self.movables)
        ]
        positions = PositionMap(self.runs, extent.start)
        text, stand_ins = "".join(self.pieces), tuple(self.stand_ins)
        return ShownText(self.part, text, stand_ins, tuple(movables), positions, self.hidden, self.trial)

    def _letters_around(self, found: Object) -> tuple[str, str]:
        """Return the letters that touch an object: with them it would be a word that the model translates."""
        text, extent = self.part.marked.text, self.part.extent
        before, after = "", ""
        if self._touches(found.start):
            run = text[max(self.runs[-1].other.start, found.start - MAX_LETTERS) : found.start]
            before = "".join(_LETTERS_BEFORE.findall(run))
        if not self._has_mark(found.end):
            letters = _LETTERS_AFTER.match(text, found.end, extent.end)
            after = letters[0] if letters is not None and _is_letter(letters[0][:1]) else ""
        return before, after

    def _copy_until(self, end: int, last_mark: int) -> None:
        """Copy text and marks up to a position."""
        marks = self.part.marked.marks
        while self.next_mark < last_mark and marks[self.next_mark].at <= end:
            mark = marks[self.next_mark]
            self._copy(mark.at)
            self.mark_indices[self.next_mark] = len(self.movables)
            self._move(self.next_mark, mark.kind, Span(mark.at, mark.at), None, keeps_order=mark.keeps_order)
            self.next_mark += 1
        self._copy(end)

    def _copy(self, end: int) -> None:
        if self.at < end:
            self.runs.append(Run(self.length, self.length + end - self.at, Span(self.at, end)))
            self._write(self.part.marked.text[self.at : end])
            self.at = end

    def _write(self, text: str) -> None:
        self.pieces.append(text)
        self.length += len(text)

    def _show(self, i: int, found: Object, text: str, letters: tuple[str, str]) -> None:
        start, extent, self.at = self.length, Span(found.start, found.end), found.end
        self._write(f"{' ' if letters[0] else ''}{text}{' ' if letters[1] else ''}")
        self.runs.append(Run(start, self.length, extent, is_copy=False))
        is_space = self.part.marked.text[extent.start : extent.end].lower() in _SPACES
        is_tag = found.shown is Shown.TAG or self.part.marked.text.startswith(_TAGS, extent.start)
        self.stand_ins.append(StandIn(i, text, extent, Span(start, self.length), *letters, is_space, is_tag))

    def _hide(self, i: int, found: Object) -> None:
        kind = _HIDDEN.get(found.shown, MarkKind.POINT)
        self.object_indices[i] = len(self.movables)
        touches = self._touches(found.start)
        is_point = kind is MarkKind.POINT and found.shown is not Shown.KEY
        if is_point and found.shown is not Shown.LINE and found.end == self.part.extent.end:
            self._drop_last_spaces()
        self._move(i, kind, Span(found.start, found.end), found, keeps_order=found.shown in _ORDERED)
        self.at = found.end
        if found.shown is Shown.LINE:
            self.runs.append(Run(self.length, self.length + 1, Span(found.start, found.end), is_copy=False))
            self._write(" ")
        if not is_point or found.shown is Shown.LINE:
            return
        following = self.part.marked.text[found.end : min(found.end + 1, self.part.extent.end)]
        if touches and _is_letter(following):
            self._write(" ")  # its neighbours are two words
        elif following == " " and not self._has_mark(found.end) and self._ends_with_space():
            self.at += 1

    def _move(
        self, index: int, kind: MarkKind, extent: Span, found: Object | None, *, keeps_order: bool
    ) -> None:
        text = self.part.marked.text
        before = text[max(0, extent.start - _MAX_BESIDE) : extent.start].rstrip(OBJECT)[-1:]
        after = text[extent.end : extent.end + _MAX_BESIDE].lstrip(OBJECT)[:1]
        is_attached = before.isspace() and not after.isspace()
        is_in_word = all(one and is_word_character(one) for one in (before, after))
        is_in_word = is_in_word and (found is None or found.shown is not Shown.LINE)
        is_key = found is not None and found.shown is Shown.KEY
        key = written_accelerator(text, found)[1] if found is not None and is_key else ""
        head = self.length, kind, index, found is not None, None
        self.movables.append(Movable(*head, keeps_order, is_attached, is_in_word, key))

    def _drop_last_spaces(self) -> None:
        """Drop the white space before an object at the end."""
        if not self.runs or not self.runs[-1].is_copy or not self.pieces[-1].endswith(" "):
            return
        words, run = self.pieces[-1].rstrip(" "), self.runs[-1]
        num_spaces = len(self.pieces[-1]) - len(words)
        self.pieces[-1] = words
        self.length -= num_spaces
        other = Span(run.other.start, run.other.end - num_spaces)
        self.runs[-1] = run._replace(end=run.end - num_spaces, other=other)

    def _ends_with_space(self) -> bool:
        last = next((piece for piece in reversed(self.pieces) if piece), "")
        return last[-1:] in {"", " ", "\n"}

    def _touches(self, at: int) -> bool:
        """Return whether the last character shown is a letter that touches a position."""
        extent = self.part.extent
        is_copied = bool(self.runs) and self.runs[-1].is_copy and self.runs[-1].other.end == at
        has_mark = bool(self.movables) and self.movables[-1].at == self.length
        return is_copied and not has_mark and at > extent.start and _is_letter(self.part.marked.text[at - 1])

    def _has_mark(self, at: int) -> bool:
        marks = self.part.marked.marks
        return self.next_mark < self.part.marks.stop and marks[self.next_mark].at == at


def _partners(indices: Mapping[int, int], found: Sequence[Mark] | Sequence[Object]) -> dict[int, int]:
    return {
        at: indices[partner]
        for i, at in indices.items()
        if (partner := found[i].partner) is not None and partner in indices
    }


def _is_letter(character: str) -> bool:
    return character.isalpha() and is_word_character(character)
