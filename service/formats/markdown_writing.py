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
from itertools import groupby, pairwise

from service.formats.inline_runs import TextRun
from service.formats.markdown_blocks import Block, BlockKind, BlockParser
from service.formats.markdown_inline import InlineParser, shape_of, without_containers
from service.formats.review_marks import TargetText
from service.text.tokens import InlineItem, TokenKind

DELIMITERS = {"em": "*", "strong": "**", "s": "~~"}
"""Delimiters by meaning; unlike `_`, `*` may stand within a word."""

_ALTERNATIVE_DELIMITERS = (DELIMITERS, DELIMITERS | {"em": "_"}, DELIMITERS | {"strong": "__"})


def name_of(item: InlineItem) -> str:
    """Return the meaning of an emphasis element; an empty string for anything else."""
    name = (item.note or "").removeprefix("/")
    return name if item.kind in {TokenKind.OPEN, TokenKind.CLOSE} and name in DELIMITERS else ""


def spellings(items: Sequence[InlineItem]) -> list[list[InlineItem]]:
    """Return ways to write emphasised text: as close to the original as possible first, plain text last.

    Args:
        items: elements have no white space at their edges, and no emphasis element is empty.
    """
    moved = _move_delimiters(items)
    others = [
        [replace(item, raw=marks[name_of(item)]) if name_of(item) else item for item in moved]
        for marks in _ALTERNATIVE_DELIMITERS
    ]
    return [list(items), moved, *others, [item for item in items if not name_of(item)]]


def _move_delimiters(items: Sequence[InlineItem]) -> list[InlineItem]:
    """Move delimiters between a letter and punctuation past the punctuation, else past the letters."""
    moved = list(items)
    for step in (1, -1):
        kind = TokenKind.OPEN if step > 0 else TokenKind.CLOSE
        i = 0 if step > 0 else len(moved) - 1
        while 0 <= i < len(moved):
            if moved[i].kind is kind and name_of(moved[i]):
                i = _move_delimiter(moved, i, step)
            i += step
    return list(_merge_texts(moved))


def _merge_texts(items: Sequence[InlineItem]) -> Iterator[InlineItem]:
    for is_text, group in groupby(items, key=lambda item: item.kind is TokenKind.TEXT):
        if is_text:
            yield InlineItem(TokenKind.TEXT, "".join(item.text for item in group))
        else:
            yield from group


def _move_delimiter(items: list[InlineItem], i: int, step: int) -> int:
    """Move a delimiter if necessary; return where it is then, or the last item that was inspected.

    Args:
        items: changed in place.
        i: position of the delimiter.
        step: direction of the emphasised text: 1 for after the delimiter, -1 for before it.
    """
    outside, inside = _text(items, i - step), _text(items, i + step)
    if not _is_letter(_edge(outside, -step)) or _is_letter(_edge(inside, step)):
        return i
    num_signs = next((n for n, one in enumerate(inside[::step]) if _is_letter(one)), None)
    if num_signs is not None:
        over, kept = _split_off(inside, num_signs, step)
        items[i + step] = replace(items[i + step], text=kept)
        items.insert(i + (step < 0), InlineItem(TokenKind.TEXT, over))
        return i + (step > 0)
    num_letters = next((n for n, one in enumerate(outside[::-step]) if not _is_letter(one)), len(outside))
    over, kept = _split_off(outside, num_letters, -step)
    items[i - step] = replace(items[i - step], text=kept)
    items.insert(i + (step > 0), InlineItem(TokenKind.TEXT, over))
    return i + (step < 0)


def _text(items: Sequence[InlineItem], i: int) -> str:
    return items[i].text if 0 <= i < len(items) and items[i].kind is TokenKind.TEXT else ""


def _edge(text: str, step: int) -> str:
    """Return the first character (1) or the last (-1)."""
    return text[:1] if step > 0 else text[-1:]


def _split_off(text: str, num: int, step: int) -> tuple[str, str]:
    """Split off characters at the beginning (1) or the end (-1); return them and the rest."""
    return (text[:num], text[num:]) if step > 0 else (text[len(text) - num :], text[: len(text) - num])


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
_LINE_END = re.compile(r"[ \t]*[\r\n]")
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
    raw: str
    """The block as the file has it."""

    def write(self, texts: Sequence[TargetText]) -> str:
        """Return the block with translations, one for each text."""
        given = iter(texts)
        items = list[InlineItem]()
        for run in self.found:
            items += [run] if isinstance(run, InlineItem) else run.with_text(_wrapped(run, next(given)))
        ways, signs = spellings(_tidy_emphasis(items)), self._signs()
        tried = [(ways[0], 0), (ways[0], 1), *((way, 2) for way in ways)]
        written = list[str]()
        for way, level in tried:
            written.append(self._written(way, level, signs))
            if self._is_read_as(written[-1], way):
                return written[-1]
        return written[-1]

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
        for item in items:
            if item.kind is not TokenKind.TEXT:
                pieces.append(item.raw)
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
        for item in self.inlines.read(self.block.source, self.raw):
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
    tags = {mark.at for mark in text.marked.marks if run.read.items[mark.number].raw[0] == "<"}
    spaces = [i for i, (one, after) in enumerate(pairwise(target)) if one == " " and after.isalpha()]
    spaces = [i for i in spaces if i + 1 not in tags]  # which could begin a block of HTML
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
