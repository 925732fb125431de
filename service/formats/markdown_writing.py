"""Writes the text of a Markdown block with its translations: only words change.

A sign is written as the source writes it, and one that the source lacks is escaped if it would be read as
syntax. If `*` or `_` next to new words would not be read as emphasis, it moves past punctuation or a word, or
the other delimiter is used. A text has as many lines as its source.
"""

import re
import unicodedata
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, pairwise

from service.formats.entries import TargetText
from service.formats.inline_runs import TextRun
from service.formats.markdown_blocks import Block, BlockKind, BlockParser
from service.formats.markdown_inline import InlineParser, shape_of, without_containers
from service.text.marked_text import MarkedText
from service.text.tokens import InlineItem, TokenKind

DELIMITERS = {"em": "*", "strong": "**", "s": "~~"}
"""Delimiters by meaning; unlike `_`, `*` may stand within a word."""

_ALTERNATIVE_DELIMITERS = (DELIMITERS, DELIMITERS | {"em": "_"}, DELIMITERS | {"strong": "__"})


def name_of(item: InlineItem) -> str:
    """Return the meaning of an emphasis element; an empty string for anything else."""
    name = (item.note or "").removeprefix("/")
    return name if item.kind in {TokenKind.OPEN, TokenKind.CLOSE} and name in DELIMITERS else ""


def spellings(items: Sequence[InlineItem]) -> Iterator[list[InlineItem]]:
    """Yield ways to write emphasised text: as close to the original as possible first, plain text last.

    Args:
        items: elements have no white space at their edges, and no emphasis element is empty.
    """
    yield list(items)
    moved = _move_delimiters(items)
    yield moved
    for marks in _ALTERNATIVE_DELIMITERS:
        yield [replace(item, raw=marks[name_of(item)]) if name_of(item) else item for item in moved]
    yield [item for item in items if not name_of(item)]


def _move_delimiters(items: Sequence[InlineItem]) -> list[InlineItem]:
    """Move delimiters between a letter and punctuation past the punctuation, else past the letters."""
    units: list[InlineItem] = []
    for item in items:
        is_text = item.kind is TokenKind.TEXT
        units += [InlineItem(TokenKind.TEXT, one) for one in item.text] if is_text else [item]
    for kind in (TokenKind.OPEN, TokenKind.CLOSE):
        units = _move_halves(units, kind)[::-1]
    moved: list[InlineItem] = []
    for is_text, group in groupby(units, key=lambda unit: unit.kind is TokenKind.TEXT):
        found = list(group)
        moved += [InlineItem(TokenKind.TEXT, "".join(unit.text for unit in found))] if is_text else found
    return moved


def _move_halves(units: Sequence[InlineItem], kind: TokenKind) -> list[InlineItem]:
    """Return characters and elements with the delimiters of a kind, which come before their text, moved."""
    moved: list[InlineItem] = []
    at = 0
    while at < len(units):
        unit = units[at]
        at = last = at + 1
        is_moved = unit.kind is kind and name_of(unit) and moved and _is_letter(moved[-1].text)
        while is_moved and last < len(units) and units[last].text and not _is_letter(units[last].text):
            last += 1
        if is_moved and last < len(units) and units[last].text:
            moved += units[at:last]
            at = last
        elif is_moved:
            first = len(moved)
            while first and _is_letter(moved[first - 1].text):
                first -= 1
            moved.insert(first, unit)
            unit = InlineItem(TokenKind.TEXT)  # keeps the other half from moving into these letters
        moved.append(unit)
    return moved


def _is_letter(character: str) -> bool:
    """Return whether CommonMark's rules for delimiters count a character as neither space nor punctuation."""
    return bool(character) and not character.isspace() and unicodedata.category(character)[0] not in "PS"


_SPECIAL = re.compile(
    r"""
      [\\`\[\]$]
    | (?<!\s)\* | \*(?!\s)
    | (?<![^\W_])_ | _(?![^\W_])                   # within a word it is none
    | <(?=[A-Za-z/!?%\#])
    | &(?=\#?\w+;)
    | ~(?=~) | (?<=~)~ | =(?==) | (?<==)=
    | (?<!\#)\#++\Z                                # at the end of a heading
    | \{(?=[{%\#.:+=>*-]) | (?<![\w:]):(?=[a-z][\w+-]*:)
    """,
    re.VERBOSE,
)
_BLOCK = re.compile(r"(\s*+)(?:([#>+\-=~:|]|!(?=!!)|\?(?=\?\?))|(\d{1,9})([.)])(?=\s|\Z))")
"""Beginnings of a block at the beginning of a line."""
_LINE_END = re.compile(r"[\r\n]")
_NUM_TRIED = 4
"""Spaces at each side of a place that a line break could be at."""


@dataclass(frozen=True, slots=True)
class InlineWriter:
    """Writes the text of one block."""

    blocks: BlockParser
    inlines: InlineParser
    """These read what was written, to check that it still has its meaning."""
    block: Block
    found: Sequence[TextRun | InlineItem]
    """Content of the block."""
    items: Sequence[InlineItem]
    """The same as it was read."""

    def write(self, texts: Sequence[TargetText]) -> str:
        """Return the block with translations, one for each text."""
        given = iter(texts)
        items = list[InlineItem]()
        for run in self.found:
            items += [run] if isinstance(run, InlineItem) else run.with_text(_wrapped(run, next(given)))
        tidied, signs = _tidy_emphasis(items), self._signs()
        written = ""
        for way, level in chain([(tidied, 0), (tidied, 1)], ((way, 2) for way in spellings(tidied))):
            written = self._written(way, level, signs)
            if self._is_read_as(written, way):
                break
        return written

    def _is_read_as(self, written: str, items: Sequence[InlineItem]) -> bool:
        block, text = self.block, without_containers(written)
        found = self.blocks.only_block(f"{block.before}{text}{block.after}")
        if found is None or (found.start, found.source) != (len(block.before), text):
            return False
        is_same = found.kind is (BlockKind.HEADING if block.kind is BlockKind.CELL else block.kind)
        return is_same and shape_of(self.inlines.read(text, text)) == shape_of(items)

    def _written(self, items: Sequence[InlineItem], level: int, signs: Mapping[str, Sequence[str]]) -> str:
        """Return items as Markdown.

        Args:
            items: texts and elements.
            level: signs to escape: 0 for none but those that the source escapes, 1 for what is syntax and
                does not occur in the source, 2 for all that is syntax.
            signs: how the source writes each sign, each time.
        """
        seen = Counter[str]()
        pieces = list[str]()
        opened = list[int]()
        for item in items:
            if item.kind is TokenKind.OPEN:
                opened.append(len(pieces) + 1)
            if item.kind is not TokenKind.TEXT:
                first = opened.pop() if item.kind is TokenKind.CLOSE and opened else 0
                # Without a label, the text is the label, and must name the target still.
                label = (item.note or "").partition("/link ")[2]
                is_other = label and " ".join("".join(pieces[first:]).split()) != label
                pieces.append(f"][{label}]" if is_other else item.raw)
                continue
            syntax = {found.start() for found in _SPECIAL.finditer(item.text)} if level else set[int]()
            if level and (not pieces or _LINE_END.search(pieces[-1])) and self.block.before != "# ":
                syntax |= _block_signs(item.text)
            for at, sign in enumerate(item.text):
                raws = signs.get(sign, ())
                raw = raws[min(seen[sign], len(raws) - 1)] if raws else sign
                seen[sign] += 1
                is_escaped = raw == sign and (
                    (at in syntax and (level > 1 or not raws))
                    or (sign == "|" and self.block.kind is BlockKind.CELL)
                )
                pieces.append(f"\\{sign}" if is_escaped else raw)
        return "".join(pieces)

    def _signs(self) -> dict[str, list[str]]:
        """Return how the source writes each sign, each time."""
        signs = defaultdict[str, list[str]](list)
        for item in self.items:
            for sign, raw in zip(item.text, item.raws, strict=True):
                if not sign.isalnum() and sign not in " \t":
                    signs[sign].append(raw)
        return signs


def _block_signs(text: str) -> set[int]:
    """Return the positions of signs that would begin a block."""
    found = _BLOCK.match(text)
    return set() if found is None else {found.start(2) if found[2] else found.start(4)}


def _wrapped(run: TextRun, text: TargetText) -> TargetText:
    """Return a translation with as many line breaks as its source, at about the same places."""
    source, target = run.read.marked.text, text.text
    breaks = [at for at, raw in enumerate(run.read.characters) if source[at] == " " and _LINE_END.search(raw)]
    if not breaks or target == source:
        return text
    spaces = [i for i, (one, after) in enumerate(pairwise(target)) if one == " " and after.isalpha()]
    kept = _unbroken(run, text.marked)
    spaces = [i for i in spaces if i not in kept]
    characters = list(target)
    first = 0
    for number, at in enumerate(breaks, start=1):
        ideal = at * len(target) / len(source)
        last = len(spaces) - (len(breaks) - number)
        near = bisect_left(spaces, ideal, first)
        tried = range(max(first, min(near, last) - _NUM_TRIED), min(last, near + _NUM_TRIED))
        if not tried:
            break
        ends = [source[at - 1] in _STOPS and target[spaces[i] - 1] in _STOPS for i in tried]
        best = min(
            zip(tried, ends, strict=True), key=lambda one: abs(spaces[one[0]] - ideal) / (1 + 9 * one[1])
        )
        characters[spaces[best[0]]] = "\n"
        first = best[0] + 1
    return replace(text, marked=replace(text.marked, text="".join(characters)))


_STOPS = ".!?:;"


def _unbroken(run: TextRun, translated: MarkedText) -> set[int]:
    """Return the positions of spaces in a link of a wiki, and of those before a tag, which begins a block."""
    positions = set[int]()
    for mark in translated.marks:
        item = run.read.items[mark.number]
        if item.raw[0] == "<":
            positions.add(mark.at - 1)
        elif item.note == "wiki open" and mark.partner is not None:
            positions |= set(range(mark.at, translated.marks[mark.partner].at))
    return positions


def _tidy_emphasis(items: Sequence[InlineItem]) -> list[InlineItem]:
    """Move white space at the edges of elements outside: delimiters must touch words. Drop empty emphasis."""
    tidied: list[InlineItem] = []
    for item in items:
        last = tidied[-1] if tidied else InlineItem(TokenKind.BREAK)
        is_first = last.kind is TokenKind.OPEN
        is_last = item.kind is TokenKind.CLOSE
        if is_first and item.kind is TokenKind.TEXT and item.text[:1].isspace():
            text = item.text.lstrip()
            tidied[-1:] = [InlineItem(TokenKind.TEXT, " "), last]
            if text:
                tidied.append(replace(item, text=text))
        elif is_first and is_last and name_of(item):
            tidied.pop()
        elif is_last and last.kind is TokenKind.TEXT and last.text[-1:].isspace():
            text = last.text.rstrip()
            tidied[-1:] = [replace(last, text=text)] if text else []
            tidied += [item, InlineItem(TokenKind.TEXT, " ")]
        else:
            tidied.append(item)
    return tidied
