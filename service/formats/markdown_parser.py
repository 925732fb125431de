"""Markdown parser that reports the position of each mark in a text."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.reference import reference
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from service.formats.entries import FileFormatError
from service.formats.inline_runs import pair_halves
from service.formats.markdown_dialects import add_dialects
from service.text.tokens import InlineItem, TokenKind

_VERBATIM = re.compile(r"\[\^[^\[\]\s]++\](?::[ \t]+)?|\{\{[^{}]*\}\}|\{%[^{}%]*%\}")
"""Footnotes, as many applications support them, and template expressions."""
_TASK = re.compile(r"\[[ xX]\][ \t]+")
"""Checkbox of a task in a list, in GitHub's Markdown."""
_FOOTNOTE = re.compile(r"\[\^[^\[\]\s]++\]")
_NEXT_LINE = re.compile(r"\n[ \t>]+")
_TAG = re.compile(r"<(?P<end>/?)(?P<name>[A-Za-z][\w-]*)")
_OPEN = {"link_open": "link", "em_open": "em", "strong_open": "strong", "s_open": "s"}
_CLOSE = {"link_close": "link", "em_close": "em", "strong_close": "strong", "s_close": "s"}
_VERBATIM_RULES = frozenset(["image", "autolink", "html_inline", "verbatim", "backticks"])
"""Rules whose text stays as it is as a whole."""

_Rule = Callable[[StateInline, bool], bool]
SourceSlice = Callable[[int, int], str]
"""Returns a part of a text as the document has it."""


class MarkdownParser:
    """Finds the blocks of one document, and the text and other items in them."""

    def __init__(self) -> None:
        self._markdown = MarkdownIt("commonmark").enable(["table", "strikethrough"])
        add_dialects(self._markdown)
        rules = self._markdown.inline.ruler
        rules.before("link", "verbatim", _verbatim_rule)
        names = rules.get_active_rules()
        for name, rule in zip(names, rules.getRules(""), strict=True):
            rules.at(name, _record_positions(name, rule))
        self._markdown.block.ruler.at("reference", _link_definition_rule)
        self._env: dict[str, Any] = {}
        """Link definitions, known once a document is parsed."""

    def parse(self, text: str) -> Iterator[Token]:
        """Yield the tokens of a document; those of cells, headings and list items are marked in `meta`."""
        before: Token | None = None
        is_item_begun = False
        for token in self._markdown.parse(text, self._env):
            if token.type == "inline" and before is not None:
                token.meta["begins_item"] = is_item_begun
                token.meta["is_cell"] = before.type in {"th_open", "td_open"}
                token.meta["num_marks"] = len(before.markup) if before.markup.startswith("#") else 0
            is_item_begun = (
                token.type == "paragraph_open" and before is not None and before.type == "list_item_open"
            )
            before = token
            yield token

    def items(self, token: Token, written: SourceSlice) -> list[InlineItem]:
        """Return the text of a block and its inline elements."""
        items = pair_halves(list(_items(token.children or [], written)))
        return _split_task(items) if token.meta.get("begins_item") else items

    def shape(self, text: str) -> list[str]:
        """Parse a text and return its shape: see `shape_of`."""
        [token] = self._markdown.parseInline(text, self._env)
        return shape_of(pair_halves(list(_items(token.children or [], lambda first, last: text[first:last]))))


def _split_task(items: list[InlineItem]) -> list[InlineItem]:
    """Separate the checkbox of a task from the text after it."""
    num_texts = next((i for i, item in enumerate(items) if item.kind is not TokenKind.TEXT), len(items))
    text = "".join(item.text for item in items[:num_texts])
    task = _TASK.match(text)
    if task is None:
        return items
    rest = [InlineItem(TokenKind.TEXT, text[task.end() :])] if task.end() < len(text) else []
    return [InlineItem(TokenKind.POINT, task[0], raw=task[0]), *rest, *items[num_texts:]]


def shape_of(items: Iterable[InlineItem]) -> list[str]:
    """Return the names of the inline elements of a text, and the text between them without white space."""
    shape: list[str] = []
    words: list[str] = []
    for item in items:
        if item.kind is TokenKind.TEXT or item.text:
            words += item.text.split()
            continue
        shape += ["".join(words), item.note or without_containers(item.raw).strip()]
        words = []
    return [*shape, "".join(words)]


def without_containers(raw: str) -> str:
    """Return a mark without what begins the next line in a quotation or a list."""
    return _NEXT_LINE.sub("\n", raw)


def _link_definition_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 -- the parser's own
    """Parse a link definition, unless it is a footnote, which CommonMark does not know."""
    if state.src.startswith("[^", state.bMarks[start] + state.tShift[start]):
        return False
    return reference(state, start, end, silent)


def _verbatim_rule(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 -- the parser's own
    found = _VERBATIM.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if found[0].rstrip().endswith(":") and state.pos:
        found = _FOOTNOTE.match(state.src, state.pos, state.posMax)
        if found is None:
            return False
    if not silent:
        state.push("verbatim", "", 0)
    state.pos = found.end()
    return True


def _record_positions(name: str, rule: _Rule) -> _Rule:
    """Wrap a rule so that its tokens report their positions."""

    def noting(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 -- the parser's own
        start, num_before = state.pos, len(state.tokens)
        has_pending = bool(state.pending)
        if not rule(state, silent):
            return False
        if not silent:
            tokens = state.tokens[num_before:]
            # Text before comes first, unless it was blanks, of which a line break is made.
            has_text = has_pending and bool(tokens) and tokens[0].type not in {"hardbreak", "softbreak"}
            tokens = tokens[has_text:]
            _record_position(name, state, start, tokens)
        return True

    return noting


def _record_position(name: str, state: StateInline, start: int, tokens: list[Token]) -> None:
    if not tokens:
        return
    if name in _VERBATIM_RULES:
        tokens[0].meta["span"] = start, state.pos
        for token in tokens[1:]:
            token.meta["is_in_whole"] = True
    elif name in {"emphasis", "strikethrough"}:
        at = start
        for token in tokens:
            token.meta["span"] = at, at + len(token.content)
            at += len(token.content)
    elif name == "link":
        stop = state.pos
        label_end = state.md.helpers.parseLinkLabel(state, start, True)  # noqa: FBT003 -- the parser's own
        tokens[0].meta["span"] = start, start + 1
        tokens[-1].meta["span"] = label_end, stop
        tokens[-1].meta["label"] = state.src[start + 1 : label_end]
    elif name in {"newline", "escape"} and tokens[-1].type == "hardbreak":
        while start and state.src[start - 1] == " ":
            start -= 1
        tokens[-1].meta["span"] = start, state.pos


def _items(tokens: list[Token], written: SourceSlice) -> Iterator[InlineItem]:
    for token in tokens:
        if token.meta.get("is_in_whole"):
            continue
        span = token.meta.get("span")
        if token.type in {"text", "text_special", "softbreak"} or span is None:
            yield InlineItem(TokenKind.TEXT, "\n" if token.type == "softbreak" else token.content)
        elif token.type in _OPEN:
            first, last = span
            yield InlineItem(
                TokenKind.OPEN,
                raw=written(first - (token.type == "strong_open"), last),
                note=_OPEN[token.type],
            )
        elif token.type in _CLOSE:
            yield InlineItem(
                TokenKind.CLOSE, raw=_closing_source(token, written), note=f"/{_CLOSE[token.type]}"
            )
        else:
            to_item = _dialect_item if token.type == "dialect" else _verbatim_item
            yield to_item(token, written(*span))


def _closing_source(token: Token, written: SourceSlice) -> str:
    first, last = token.meta["span"]
    raw = written(first, last + (token.type == "strong_close"))
    if token.type == "link_close" and raw in {"]", "][]"}:
        return f"][{' '.join(token.meta['label'].split())}]"  # the label was the text, which has changed
    return raw


_DIALECT_KINDS = {
    "break": TokenKind.BREAK,
    "word": TokenKind.WORD,
    "point": TokenKind.POINT,
    "open": TokenKind.OPEN,
    "close": TokenKind.CLOSE,
}


def _dialect_item(token: Token, raw: str) -> InlineItem:
    kind = _DIALECT_KINDS[token.meta["kind"]]
    note = {TokenKind.OPEN: "wiki", TokenKind.CLOSE: "/wiki"}.get(kind)
    return InlineItem(kind, raw=raw, note=note, ends_line="\n" in raw)


def _verbatim_item(token: Token, raw: str) -> InlineItem:
    if token.type == "hardbreak":
        return InlineItem(TokenKind.WORD, raw=raw, ends_line=True)
    if token.type == "verbatim" and raw.startswith("[^") and raw.rstrip().endswith(":"):
        return InlineItem(TokenKind.BREAK, raw=raw)
    tag = _TAG.match(raw) if token.type == "html_inline" else None
    if tag is None:
        return InlineItem(TokenKind.WORD if not raw.startswith("<!--") else TokenKind.POINT, raw=raw)
    name = tag["name"].lower()
    if name == "br":
        return InlineItem(TokenKind.WORD, raw=raw, ends_line=True)
    if name == "img" or raw.endswith("/>"):
        return InlineItem(TokenKind.WORD, raw=raw)
    return InlineItem(TokenKind.POINT, raw=raw, note=f"{'close' if tag['end'] else 'open'}:{name}")


@dataclass(frozen=True, slots=True)
class BlockPosition:
    """Position of a block's text: where each of its lines begins in the text and in the document."""

    line: int
    """First line of the block in the document."""
    starts: tuple[int, ...]
    columns: tuple[tuple[int, ...], ...]
    """Column of each character of each line, and of its end."""

    def at(self, position: int) -> tuple[int, int]:
        """Return the line and column of a character of the text, or of its end."""
        k = bisect_right(self.starts, position) - 1
        columns = self.columns[k]
        return self.line + k, columns[min(position - self.starts[k], len(columns) - 1)]

    def column(self, position: int) -> int:
        return self.at(position)[1]


def locate_lines(content: str, lines: Sequence[str], first: int, num_marks: int) -> BlockPosition:
    """Locate the text of a paragraph or a heading.

    Args:
        content: one line for each line of the document, without the marks of containers and headings.
        lines: lines of the document.
        first: line where the block begins.
        num_marks: number of `#` before the text of a heading.
    """
    starts: list[int] = []
    columns: list[tuple[int, ...]] = []
    at = 0
    for k, content_line in enumerate(content.split("\n")):
        line = lines[first + k]
        stripped = content_line.lstrip(" \t")
        if num_marks:
            column = line.find(stripped, line.find("#" * num_marks) + num_marks)
        else:
            column = len(line.rstrip(" \t")) - len(stripped.rstrip(" \t"))
            column = column if line.startswith(stripped.rstrip(" \t"), column) else -1
        if column < 0:
            raise _not_found(first + k)
        num_left = len(content_line) - len(stripped)
        starts.append(at)
        columns.append(tuple([column] * num_left + [column + i for i in range(len(stripped) + 1)]))
        at += len(content_line) + 1
    return BlockPosition(first, tuple(starts), tuple(columns))


def locate_cell(content: str, lines: Sequence[str], line: int, after: int) -> BlockPosition:
    r"""Locate the text of a table cell, for whose `|` the document has `\|`.

    Args:
        content: text of the cell.
        lines: lines of the document.
        line: line of the cell.
        after: a column before the cell and after all previous cells.
    """
    for start in range(after, len(lines[line])):
        columns = _match_cell(content, lines[line], start)
        if columns is not None:
            return BlockPosition(line, (0,), (columns,))
    raise _not_found(line)


def _match_cell(content: str, line: str, start: int) -> tuple[int, ...] | None:
    columns: list[int] = []
    at = start
    for character in content:
        if character == "|" and not line.startswith("\\|", at):
            return None
        if not line.startswith("\\|" if character == "|" else character, at):
            return None
        columns.append(at)
        at += 1 + (character == "|")
    return (*columns, at)


def _not_found(line: int) -> FileFormatError:
    return FileFormatError(f"the paragraph at line {line + 1} mixes text and markup ambiguously; split it")
