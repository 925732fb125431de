"""Blocks of a Markdown file: where its texts are, in CommonMark and in dialects with lines of their own.

A line that a dialect owns is part of no text, or only its title is: `{: .x}`, `:::note[Title]`,
`!!! note "Title"`, `> [!NOTE] Title`, `*[HTML]: Title`, `{{% alert %}}`, `{% if %}`, `<Tabs>`,
`$$`, `import`.
"""

import re
from collections import ChainMap
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.reference import reference
from markdown_it.token import Token

if TYPE_CHECKING:
    from markdown_it.ruler import RuleOptionsType

_TAG = r"(?:\{%(?:[^%]|%(?!\}))*+%\}|\{\{(?:[^{}]|\}(?!\})|\{(?!\{))*+\}\})"
_ATTRIBUTES = r"(?:[^<>\"'{}]|\"[^\"]*+\"|'[^']*+'|\{(?:[^{}]|\{[^{}]*+\})*+\})*+"
_KEPT = re.compile(
    rf"""(?:
      (?:{_TAG}[ \t]*+)+ | \$\$.+\$\$ | \\\[.+\\\] | %%[^%]++%%
    | \{{(?::[^{{}}]*+|[ ]?[.\#][\w.\#:-][^{{}}]*+)\}} | \{{/\*.*?\*/\}} | </?[A-Z][\w.]*+{_ATTRIBUTES}>
    | \([\w.:-]+\)= | \[\[?_?(?:toc|TOC)_?\]\]? | \[![A-Za-z]++(?:\|[^\[\]]*+)?\][-+]?
    | :{{3,}}[ \t]*+(?:[\w-]++)?(?:\{{[^{{}}]*+\}}(?:[ \t]+\S++)?)?
    | import[ \t]+(?:[\w$*{{}},\t ]+[ \t]from[ \t]+)?(?:'[^']++'|\"[^\"]++\");?
    | export[ \t]+(?:const|default|function|let)\b.*
    )[ \t]*\Z""",
    re.VERBOSE,
)
"""A line without words."""
_UNTIL = tuple(
    (re.compile(rf"\A(?:{begin})"), re.compile(end))
    for begin, end in (
        (r"\$\$(?!.*\$\$)", r"\$\$[ \t]*(?:\{#[^{}]*\})?[ \t]*\Z"),
        (r"\\\[[ \t]*\Z", r"\\\][ \t]*\Z"),
        (r"\\begin\{\w+\*?\}(?!.*\\end)", r"\\end\{\w+\*?\}[ \t]*\Z"),
        (
            r"\{%[-+]?\s*(?:highlight|raw|comment|verbatim)\b(?!.*%\}.*%\}).*%\}",
            r"\{%[-+]?\s*end(?:highlight|raw|comment|verbatim)\b",
        ),
        (r"\{\{[<%]\s*(?:highlight\b|\w+\s.*\bcode=\"?true).*[>%]\}\}", r"\{\{[<%]\s*/"),
        (r"\{\{[<%](?!.*[>%]\}\})", r"[>%]\}\}[ \t]*\Z"),
        (r"\{/\*(?!.*\*/)", r"\*/\}[ \t]*\Z"),
        (rf"<[A-Z][\w.]*+(?=\s|\Z){_ATTRIBUTES}\Z", r"(?<!=)>[ \t]*\Z"),
        (r"import[ \t]+\{[^}]*\Z", r"\}[ \t]*from[ \t]"),
        (r"export[ \t].*[\[{(][ \t]*\Z", r"\A[\]})]"),
        (r"%%[ \t]*\Z", r"%%[ \t]*\Z"),
    )
)
"""Beginnings of blocks without words, with their ends; without an end, one line at most is such a block."""
_TITLES = (
    re.compile(r"\A:{3,}[ \t]*+[\w-]*+(?:\{[^{}]*+\})?\[(?P<title>.*)\](?:\{[^{}]*+\})?[ \t]*\Z"),
    re.compile(r"\A:{3,}[ \t]*+[\w-]++[ \t]+(?P<title>[^\s{].*)\Z"),
    re.compile(r"\[![A-Za-z]++(?:\|[^\[\]]*+)?\][-+]?[ \t]+(?P<title>\S.*)\Z"),
    re.compile(r"\*\[[^\[\]]++\]:[ \t]*+(?P<title>\S.*)\Z"),
)
_FIRST_SIGNS = frozenset(":[(*{$\\<ie%")
_DIRECTIVE = re.compile(r"\A:{3,}[ \t]*+\{")
_OPTION = re.compile(r":[\w-]+:(?:[ \t]|\Z)")
_INDENTED = re.compile(
    r"(?P<note>(?:!!!|\?\?\?\+?|===[!+]?)[ \t]+(?:[a-z][\w-]*+(?:[ \t]+[a-z][\w-]*+)*+)?[ \t]*"
    r"(?:\"(?P<title>.*)\")?[ \t]*\Z) | \[\^[^\[\]\s]++\]:[ \t]*+ | :[ \t]+(?=\S)",
    re.VERBOSE,
)
"""Beginning of a block whose further lines are indented."""
_INDENT = 4
MAX_TITLE_CHARACTERS = 1000
"""Characters of a line that is a mark with a title."""


class BlockKind(StrEnum):
    """Kind of a text in a file."""

    PARAGRAPH = "paragraph"
    HEADING = "heading"
    CELL = "cell"
    TITLE = "title"
    HTML = "html"


@dataclass(frozen=True, slots=True)
class Block:
    """A text of a file."""

    kind: BlockKind
    start: int
    stop: int
    source: str
    """The text, with blanks in place of what begins its further lines in a quotation or a list."""
    line: int
    """Number of its first line, from 0."""
    before: str = ""
    """Text before it on its line, if the line is a dialect's, or what makes a line a heading or a cell."""
    after: str = ""


class BlockParser:
    """Finds the blocks of one file."""

    def __init__(self) -> None:
        self._markdown = MarkdownIt("commonmark").enable("table")
        rules = self._markdown.block.ruler
        interrupts: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
        rules.before("table", "kept", _kept_rule, interrupts)
        rules.before("table", "indented", _indented_rule, interrupts)
        rules.at("reference", _definition_rule)
        self.references: dict[str, Any] = {}
        """Definitions of links, known once a file was parsed."""

    def blocks(self, text: str) -> Iterator[Block]:
        """Yield the blocks of a file; the definitions in it count for all texts after."""
        return self._blocks(text, {"references": self.references})

    def only_block(self, text: str) -> Block | None:
        """Return the block of a text that is a single one."""
        found = list(self._blocks(text, {"references": ChainMap({}, self.references)}))
        return found[0] if len(found) == 1 else None

    def _blocks(self, text: str, env: dict[str, Any]) -> Iterator[Block]:
        tokens: list[Token] = []
        page = text.replace("\r\n", " \n").replace("\r", "\n")
        self._markdown.block.parse(page, self._markdown, env, tokens)
        lines = _Lines(text, page)
        for before, token in pairwise([Token("", "", 0), *tokens]):
            block = lines.block(token, before)
            if block is not None:
                yield block


class _Lines:
    """The lines of a file."""

    def __init__(self, text: str, page: str) -> None:
        self._text = text
        self._page = page
        self._starts = [0, *accumulate(len(line) + 1 for line in page.split("\n"))]
        self._cell_end = 0

    def block(self, token: Token, before: Token) -> Block | None:
        """Return the block of a token; None if it has none, or if it cannot be located."""
        if token.map is None or token.type not in {"inline", "html_block"}:
            return None
        line = token.map[0]
        if token.type == "html_block":
            start, stop = self._starts[line], min(self._starts[token.map[1]], len(self._text))
            is_inner = bool(token.level)
            return None if is_inner else Block(BlockKind.HTML, start, stop, self._text[start:stop], line)
        content = token.content.strip()
        if not content:
            return None
        first, end = self._starts[line], self._starts[line + 1] - 1
        kind, frame = BlockKind.HEADING, ("# ", "")
        if "title" in token.meta:
            kind, first = BlockKind.TITLE, token.meta["title"]
        elif before.type in {"th_open", "td_open"}:
            kind, content = BlockKind.CELL, content.replace("|", r"\|")
            first = max(first, self._cell_end)
        elif before.markup.startswith("#"):
            first = self._page.find(before.markup, first) + len(before.markup)
        else:
            return self._paragraph(token.content.split("\n"), line)
        start = self._page.find(content, first, end)
        self._cell_end = stop = start + len(content)
        if kind is BlockKind.TITLE:
            frame = self._page[token.meta["first"] : start], self._page[stop:end]
        return None if start < 0 else Block(kind, start, stop, self._text[start:stop], line, *frame)

    def _paragraph(self, contents: list[str], line: int) -> Block | None:
        pieces: list[str] = []
        start = stop = 0
        for k, content in enumerate(contents):
            stripped, begin = content.strip(), self._starts[line + k]
            whole = self._page[begin : self._starts[line + k + 1]].rstrip()
            if not whole.endswith(stripped):
                return None
            column = len(whole) - len(stripped)
            if k == 0:
                start = begin + column
            else:
                pieces += (self._text[stop:begin], " " * column)
            stop = begin + len(whole)
            pieces.append(self._text[begin + column : stop])
        return Block(BlockKind.PARAGRAPH, start, stop, "".join(pieces), line)


def _line(state: StateBlock, line: int) -> str:
    """Return a line without its indent; an empty one for code."""
    start, end = state.bMarks[line] + state.tShift[line], state.eMarks[line]
    return "" if state.is_code_block(line) else state.src[start:end]


def _kept_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 -- the parser's own
    """Leave out lines without words; push the title of a line that has one."""
    line = _line(state, start)
    if line[:1] not in _FIRST_SIGNS:
        return False
    last = _last_kept(state, start, end, line)
    titles = (one.match(line) for one in _TITLES if last is None and len(line) <= MAX_TITLE_CHARACTERS)
    title = next(filter(None, titles), None)
    if silent or (last is None and title is None):
        return last is not None or title is not None
    if title is not None:
        _push_title(state, start, title)
    last = start if last is None else last
    while _DIRECTIVE.match(line) and last + 1 < end and _OPTION.match(_line(state, last + 1)):
        last += 1
    state.line = last + 1
    return True


def _last_kept(state: StateBlock, start: int, end: int, line: str) -> int | None:
    """Return the last line of a block without words; None if none begins here."""
    unclosed = state.env.setdefault("unclosed", {})
    indent = min(state.blkIndent, state.sCount[start])
    for begin, stop in _UNTIL:
        first, last = unclosed.get(begin, (end, 0))
        if not begin.match(line) or (first <= start and end <= last):
            continue
        for k in range(start + 1, end):
            if state.sCount[k] < indent and not state.isEmpty(k):
                break
            if stop.search(state.src[state.bMarks[k] + state.tShift[k] : state.eMarks[k]]):
                return k
        else:
            unclosed[begin] = start, end
    return start if _KEPT.match(line) else None


def _push_title(state: StateBlock, line: int, found: re.Match[str]) -> None:
    token = state.push("inline", "", 0)
    first = state.bMarks[line] + state.tShift[line]
    token.content, token.map, token.children = found["title"].strip(), [line, line + 1], []
    token.meta = {"title": first + found.start("title"), "first": first}


def _indented_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 -- the parser's own
    """Parse the text of a footnote, an explanation or an admonition, which may be indented."""
    line = _line(state, start)
    found = _INDENTED.match(line) if line[:1] in "!?=[:" else None
    if found is None or (found["note"] and len(line) > MAX_TITLE_CHARACTERS):
        return False
    if silent:
        return True
    inner, last = state.sCount[start] + _INDENT, start + 1
    if found["title"]:
        _push_title(state, start, found)
    is_peeled = not found["note"]
    while last < end and (
        state.isEmpty(last) or state.sCount[last] >= inner or (is_peeled and not state.isEmpty(last - 1))
    ):
        last += 1
    if is_peeled:
        state.bMarks[start] += state.tShift[start] + found.end()
        state.tShift[start], state.sCount[start] = 0, inner
    own_indent, state.blkIndent = state.blkIndent, inner
    own_max, state.lineMax = state.lineMax, last
    state.line = start + 1
    state.level += 1  # which limits nesting
    state.md.block.tokenize(state, start + (not is_peeled), last)
    state.level -= 1
    state.blkIndent, state.lineMax = own_indent, own_max
    state.line = max(state.line, start + 1)
    return True


def _definition_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 -- the parser's own
    """Parse a link definition, unless it is a footnote, which CommonMark does not know."""
    is_note = state.src.startswith("[^", state.bMarks[start] + state.tShift[start])
    return not is_note and reference(state, start, end, silent)
