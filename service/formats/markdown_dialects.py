"""Blocks and marks of Markdown's dialects: GitHub, Docusaurus, MkDocs, Obsidian, Pandoc.

Each rule keeps the syntax and leaves the words to the parser: `{#id}`, `> [!NOTE]`, `:::note[Title]`,
`!!! note "Title"`, `[[Page|Text]]`, `*[HTML]: Text`, `Term` with `: Explanation`. Formulas between lines of
`$$`, imports of MDX and lines of `{% %}` have no words.
"""

import re
from typing import TYPE_CHECKING

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

if TYPE_CHECKING:
    from markdown_it.ruler import RuleOptionsType

_ATTRIBUTES = re.compile(
    r"\{:?[ \t]*(?:[#.][\w:-]++|[\w:-]++=(?:\"[^\"\n]*+\"|[\w.-]++))[^{}\n]*+\}|\{:[^{}\n]*+\}"
)
_CALLOUT = re.compile(r"\[![A-Za-z]++\][-+]?(?=[ \t\n]|\Z)[ \t]*+")
_ABBREVIATION = re.compile(r"\*\[[^\[\]\n]++\]:[ \t]*+")
_WIKI_LINK = re.compile(r"\[\[(?P<page>[^\[\]\n|]++)(?:\|(?P<text>[^\[\]\n|]++))?\]\]")
_EMOJI = re.compile(r"(?<![\w:]):[a-z][a-z0-9_+-]*+:(?![\w:])")
_FENCE = re.compile(r"(:{3,}+[ \t]*+(?:[\w-]++)?(?:\{[^{}\n]*+\})?(?:\[|[ \t]++(?![\s{])|\Z))(.*)")
"""`:::note`, `:::note[Title]`, `::: note Title`."""
_FENCE_END = re.compile(r"\](?:\{[^{}\n]*+\})?[ \t]*\Z")
_ADMONITION = re.compile(
    r"((?:!!!|\?\?\?\+?|===[!+]?)[ \t]+(?:[a-z][\w-]*+(?:[ \t]+[a-z][\w-]*+)*+)?[ \t]*)(?:\"(.*)\")?[ \t]*\Z"
)
_DEFINITION = re.compile(r":[ \t]+(?=\S)")
_KEPT = re.compile(
    r"(?:import[ \t]+(?:[\w$*{},\t ]+[ \t]from[ \t]+)?(?:'[^'\n]++'|\"[^\"\n]++\");?"
    r"|export[ \t]+(?:const|default)\b.*|\{%[^%\n]*+%\}|\$\$.*\$\$)[ \t]*\Z"
)
"""A line without words."""
_FORMULA = "$$"
_PLAIN = re.compile(r"\"|[^\n!#$%&*+\-:<=>@\[\]\\^_`{}~\"]++")
"""Characters that no rule of inline text begins with."""
_INDENT = 4
MAX_TITLE_CHARACTERS = 1000
"""Characters of a line that is a mark with a title."""
_MARK = "dialect"


def add_dialects(markdown: MarkdownIt) -> None:
    """Add the rules to a parser."""
    blocks = markdown.block.ruler
    interrupts: RuleOptionsType = {"alt": ["paragraph", "reference", "blockquote", "list"]}
    blocks.before("fence", "fenced_div", _fence_rule, interrupts)
    blocks.before("fence", "admonition", _admonition_rule, interrupts)
    blocks.before("fence", "definition", _definition_rule, interrupts)
    blocks.before("fence", "kept", _kept_rule, interrupts)
    inline = markdown.inline.ruler
    inline.before("text", "dialect_line", _line_rule)
    inline.before("text", "dialect_title", _title_rule)
    inline.before("link", "dialect", _inline_rule)


def _line(state: StateBlock, line: int) -> str:
    """Return a line without its indent; an empty one for code, and for one that is too long for a mark."""
    start, end = state.bMarks[line] + state.tShift[line], state.eMarks[line]
    return "" if end - start > MAX_TITLE_CHARACTERS or state.is_code_block(line) else state.src[start:end]


def _is_title(source: str) -> bool:
    """Return whether inline text is the line of an admonition."""
    return len(source) <= MAX_TITLE_CHARACTERS and _ADMONITION.match(source) is not None


def _push_title(state: StateBlock, line: int, content: str) -> None:
    """Push the words of a line with its marks, which the rules of inline text find."""
    token = state.push("inline", "", 0)
    token.content, token.map, token.children = content, [line, line + 1], []


def _fence_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 -- the parser's own
    del end
    line = _line(state, start)
    found = _FENCE.match(line)
    if found is None:
        return False
    if not silent:
        if found[2].strip():
            _push_title(state, start, line)
        state.line = start + 1
    return True


def _admonition_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 -- the parser's own
    line = _line(state, start)
    found = _ADMONITION.match(line)
    if found is None:
        return False
    if silent:
        return True
    if found[2]:
        _push_title(state, start, line)
    inner = state.sCount[start] + _INDENT
    last = start + 1
    while last < end and (state.isEmpty(last) or state.sCount[last] >= inner):
        last += 1
    own_indent, state.blkIndent = state.blkIndent, inner
    own_max, state.lineMax = state.lineMax, last
    state.level += 1  # which limits nesting
    state.md.block.tokenize(state, start + 1, last)
    state.level -= 1
    state.blkIndent, state.lineMax = own_indent, own_max
    state.line = last
    return True


def _definition_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 -- the parser's own
    """Separate an explanation, which the term before it would take in."""
    del end
    found = _DEFINITION.match(_line(state, start))
    if found is None:
        return False
    if not silent:
        last = start + 1
        while last < state.lineMax and not state.isEmpty(last) and not _DEFINITION.match(_line(state, last)):
            last += 1
        text = state.getLines(start, last, state.blkIndent, keepLastLF=False).strip()
        token = state.push("inline", "", 0)
        token.content, token.map, token.children = text[found.end() :], [start, last], []
        state.line = last
    return True


def _kept_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:  # noqa: FBT001 -- the parser's own
    """Leave out formulas and lines without words."""
    line = _line(state, start)
    last: int | None = start if _KEPT.match(line) else None
    if line.rstrip() == _FORMULA:
        last = next((i for i in range(start + 1, end) if _line(state, i).rstrip() == _FORMULA), None)
    if last is None:
        return False
    if not silent:
        state.line = last + 1
    return True


def _push(state: StateInline, start: int, end: int, kind: str) -> None:
    token = state.push(_MARK, "", 0)
    token.meta = {"span": (start, end), "kind": kind}
    state.pos = end


def _line_rule(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 -- the parser's own
    """Keep the mark at the beginning of a line, and the line break after it or before the next one."""
    source, at = state.src, state.pos
    begins_line = at == 0 or source[at - 1] == "\n"
    found: re.Match[str] | None = None
    if source[at] == "\n":
        is_title = _CALLOUT.match(source) is not None and source.find("\n") == at
        if not is_title and _ABBREVIATION.match(source, at + 1) is None:
            return False
        end = at + 1
    elif at == 0 and source[at] in "[:!?=":
        found = _CALLOUT.match(source) or _FENCE.match(source) or _ADMONITION.match(source)
        if found is None or (found.re is not _CALLOUT and len(source) > MAX_TITLE_CHARACTERS):
            return False
        is_quoted = found.re is _ADMONITION
        end = found.end() if found.re is _CALLOUT else found.end(1) + is_quoted
        end += found.re is _CALLOUT and source.startswith("\n", end)
    elif begins_line and source[at] == "*":
        found = _ABBREVIATION.match(source, at)
        if found is None:
            return False
        end = found.end()
    elif source[at] == "]":
        return _end_rule(state, silent=silent)
    else:
        return False
    if not silent:
        _push(state, at, end, "break")
    return True


def _end_rule(state: StateInline, *, silent: bool) -> bool:
    """Keep the end of a title: the bracket of `:::note[Title]`, the quotation mark of `!!! note "Title"`."""
    source, at = state.src, state.pos
    if len(source) > MAX_TITLE_CHARACTERS:
        return False
    is_end = (
        source[at] == "]" and source.startswith(":::") and _FENCE_END.match(source, at) is not None
    ) or (source[at] == '"' and _is_title(source) and not source[at + 1 :].strip())
    if is_end and not silent:
        _push(state, at, len(source), "break")
    return is_end


def _title_rule(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 -- the parser's own
    """Read the words of an admonition's title up to a quotation mark, which is text to the parser."""
    found = _PLAIN.match(state.src, state.pos) if state.pos and _is_title(state.src) else None
    if found is None:
        return False
    if found[0][0] == '"' and _end_rule(state, silent=silent):
        return True
    if not silent:
        state.pending += found[0]
    state.pos = found.end()
    return True


def _inline_rule(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 -- the parser's own
    source, at = state.src, state.pos
    found = _EMOJI.match(source, at) or _ATTRIBUTES.match(source, at)
    if found is not None:
        if not silent:
            _push(state, at, found.end(), "word" if source[at] == ":" else "point")
        state.pos = found.end()
        return True
    found = _WIKI_LINK.match(source, at)
    if found is None or found["page"].isdecimal():
        return False
    if not silent and found["text"] is None:
        _push(state, at, found.end(), "word")
    elif not silent:
        _push(state, at, found.start("text"), "open")
        state.push("text", "", 0).content = found["text"]
        _push(state, found.end("text"), found.end(), "close")
    state.pos = found.end()
    return True
