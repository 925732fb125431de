"""Text of a Markdown block: its words, and what is between them in CommonMark and its dialects.

What a dialect owns stays as it is: formulas, templates, attributes, footnotes, emojis, comments. Before the
parser of CommonMark reads a text, signs that mean nothing to it stand in place of these.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from html import unescape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from service.formats.inline_runs import pair_halves, without_cut_elements
from service.formats.template_tags import find_template_tags
from service.text.marked_text import fill
from service.text.tokens import InlineItem, TokenKind

_FILLER = "\u203b"
"""A sign, as all begins and ends with one that it stands for."""
_CODE = re.compile(r"\\.|(?<!`)(?P<code>`[^`]+`|``(?:[^`]|`(?!`))+``)(?!`)")
_FORMULA = r"(?:[^$\\]|\\[^\n])"
_OBJECTS = re.compile(
    rf"""
      \$\$(?P<display>(?:[^$]|\$(?!\$))++)\$\$
    | (?<![\w$])\$(?![\s$])(?P<inline>{_FORMULA}++)(?<!\s)\$(?![\w$])
    | \\\((?P<round>(?:[^\\]|\\[^()\[\]])++)\\\) | \\\[(?P<square>(?:[^\\]|\\[^()\[\]])++)\\\]
    | (?P<line>(?:(?<![ ])[ ]{{2,}}+|\\)(?:\r\n|\r|\n)[ \t]*+)
    | (?P<skipped>\\.)
    | (?P<task>\A\[[ xX]\][ \t]++)
    | (?P<word>!\[\[[^\[\]\n]++\]\] | \[\[(?!\d++\]\])[^\[\]|\n]++\]\] | \[-?@[^\[\]]++\] | %%[^%\n]++%%
        |(?<![\w:]):[a-z][a-z0-9_+-]*+:(?![\w:]))
    | (?P<wiki>\[\[[^\[\]\n|]++\|)(?P<page>[^\[\]\n|]++)\]\]
    | (?P<point>\[\^[^\[\]\s]++\] | \{{/\*(?:[^*]|\*(?!/))*+\*/\}}
        | \{{>>(?:[^<{{]|<(?!<\}})|\{{(?!>>))*+<<\}}
        | \{{:?[ \t]*(?:[\#.][\w:-]++|[\w:-]++=(?:"[^"\n]*+"|[\w.-]++))[^{{}}\n]*+\}} | \{{:[^{{}}\n]*+\}})
    | \](?:\[(?P<label>(?!\^)[^\[\]]++)\]|\{{(?P<class>[.\#:][^{{}}\n]*+)\}})
    | (?P<open>\{{\+\+ | \{{-- | \{{== | (?<![\w=])==(?=[^\s=]))
    | (?P<close>\+\+\}} | --\}} | ==\}} | (?<=[^\s=])==(?![\w=]))
    | (?P<attribute>(?<==)\{{(?:[^{{}}]|\{{[^{{}}]*+\}})*+\}} | (?<=\s)\{{\.\.\.[\w.]++\}})
    """,
    re.VERBOSE,
)
_FORMULAS = ("display", "inline", "round", "square")
_KINDS = dict.fromkeys((*_FORMULAS, "word"), TokenKind.WORD) | {
    "task": TokenKind.BREAK,
    "point": TokenKind.POINT,
}
_TEX = re.compile(r"[\\^_={}+<>]")
_WORD = re.compile(r"[^\W\d_]{2}")
_CHARACTER = re.compile(
    r"(?P<line>(?:(?<![ \t])[ \t]++)?(?:\r\n|\r|\n)[ \t]*)|\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|(?P<entity>&(?:\#[xX][0-9a-fA-F]{1,6}|\#[0-9]{1,7}|[A-Za-z][A-Za-z0-9]{1,31});)"
)
_NEXT_LINE = re.compile(r"(?<![\r\n])[\r\n]++[ \t>]+")
_TAG = re.compile(r"<(?P<end>/?)(?P<name>[A-Za-z][\w.:-]*)")
_ELEMENTS = {"link_open": "link", "em_open": "em", "strong_open": "strong", "s_open": "s"}
_RULES = ("strikethrough", "emphasis", "link", "image", "autolink", "html_inline", "backticks")

_Span = tuple[int, int, InlineItem]


class InlineParser:
    """Reads the texts of one file."""

    def __init__(self, references: Mapping[str, Any]) -> None:
        self._env = {"references": references}
        self._markdown = MarkdownIt("commonmark").enable("strikethrough")
        # Any target is a link's, and stays as it is.
        self._markdown.validateLink = lambda url: True  # type: ignore[method-assign]  # noqa: ARG005 -- see above
        self._markdown.normalizeLink = lambda url: url  # type: ignore[method-assign]  # see above
        rules = self._markdown.inline.ruler
        for name, rule in zip(rules.get_active_rules(), rules.getRules(""), strict=True):
            if name in _RULES:
                rules.at(name, _record_positions(name, rule))

    def read(self, source: str, written: str) -> list[InlineItem]:
        """Return the text of a block and its inline elements.

        Args:
            source: the text, with blanks in place of what begins its further lines in a container.
            written: the text as the file has it, of the same length.
        """
        spans = list[_Span]()
        masked = source
        for find in (_code, _templates, _objects):
            found = list(find(masked, written))
            spans += ((start, end, item) for start, end, _, item in found if item is not None)
            masked = fill(masked, ((start, end, filler) for start, end, filler, _ in found))
        masked = masked.replace("\r\n", " \n").replace("\r", "\n")
        tokens = self._markdown.inline.parse(masked, self._markdown, self._env, [])
        spans += ((*span, _element(token, written[slice(*span)])) for token, span in _spans(tokens))
        items = list[InlineItem]()
        at = 0
        for start, end, item in sorted(spans, key=lambda span: (span[0], -span[1])):
            if start >= at:
                items += (*_text(source, written, at, start), item)
                at = end
        return without_cut_elements(pair_halves([*items, *_text(source, written, at, len(source))]))


def shape_of(items: Iterable[InlineItem]) -> list[str]:
    """Return the names of the inline elements of a text, and the text between them without white space."""
    shape: list[str] = []
    words: list[str] = []
    for item in items:
        if item.kind is TokenKind.TEXT:
            words += item.text.split()
            continue
        shape += ["".join(words), (item.note or "").partition(" ")[0] or without_containers(item.raw).strip()]
        words = []
    return [*shape, "".join(words)]


def without_containers(raw: str) -> str:
    """Return a text without what begins its further lines in a quotation or a list."""
    return _NEXT_LINE.sub("\n", raw)


_Found = tuple[int, int, str, InlineItem | None]
"""Position, what stands there for the parser, and the item, if it is one."""


def _code(source: str, written: str) -> Iterator[_Found]:
    code = (found.span() for found in _CODE.finditer(source) if found["code"])
    return (_object(*span, TokenKind.WORD, written) for span in code)


def _templates(source: str, written: str) -> Iterator[_Found]:
    return (_object(tag.start, tag.end, tag.kind, written) for tag in find_template_tags(source))


def _object(start: int, end: int, kind: TokenKind, written: str, note: str | None = None) -> _Found:
    return start, end, _FILLER * (end - start), InlineItem(kind, raw=written[start:end], note=note)


def _objects(source: str, written: str) -> Iterator[_Found]:
    at = 0
    while found := _OBJECTS.search(source, at):
        start, at = found.span()
        group = found.lastgroup or ""
        raw = written[start:at]
        if group in _FORMULAS and not _TEX.search(found[group]) and _WORD.search(found[group]):
            at = found.start(group)  # words in signs of money, or in brackets
        elif group in _KINDS:
            yield _object(start, at, _KINDS[group], written)
        elif group == "line":
            yield start, at, " " * (at - start), InlineItem(TokenKind.WORD, raw=raw, ends_line=True)
        elif group == "page":
            yield _object(start, found.end("wiki"), TokenKind.OPEN, written, "wiki open")
            yield _object(found.end("page"), at, TokenKind.CLOSE, written, "wiki close")
        elif group in {"open", "close"}:
            yield _object(start, at, TokenKind.POINT, written, f"{group}:{raw.strip('{}')}")
        elif group in {"label", "class"}:
            yield start, at, f"]({_FILLER * (len(raw) - 3)})", None
        elif group == "attribute":
            yield start, at, "x" * len(raw), None


def _text(source: str, written: str, start: int, end: int) -> Iterator[InlineItem]:
    """Yield the text between two elements, if there is some, with the source form of each character."""
    if start == end:
        return
    text = list[str]()
    raws = list[str]()
    at = start
    for found in _CHARACTER.finditer(source, start, end):
        character = "\n" if found["line"] else found["escaped"] or unescape(found["entity"])
        if len(character) != 1:
            continue
        text += (*written[at : found.start()], character)
        raws += (*written[at : found.start()], written[found.start() : found.end()])
        at = found.end()
    text += written[at:end]
    raws += written[at:end]
    yield InlineItem(TokenKind.TEXT, "".join(text), written[start:end], raws=raws)


def _record_positions(name: str, rule: Any) -> Any:
    """Wrap a rule so that its tokens have their positions."""

    def recording(state: StateInline, silent: bool) -> bool:  # noqa: FBT001 -- the parser's own
        if silent:
            return bool(rule(state, silent))
        if state.pending:
            state.pushPending()
        start, num_before = state.pos, len(state.tokens)
        if not rule(state, silent):
            return False
        tokens = state.tokens[num_before:]
        if name == "link":
            label_end = state.md.helpers.parseLinkLabel(state, start, True)  # noqa: FBT003 -- the parser's own
            tokens[0].meta["span"] = start, start + 1
            tokens[-1].meta["span"] = label_end, state.pos
            tokens[-1].meta["label"] = state.src[start + 1 : label_end]
        elif name in {"emphasis", "strikethrough"}:
            for token in tokens:
                token.meta["span"] = start, start + len(token.content)
                start += len(token.content)
        elif tokens:
            tokens[0].meta["span"] = start, state.pos
        return True

    return recording


def _spans(tokens: Iterable[Token]) -> Iterator[tuple[Token, tuple[int, int]]]:
    """Yield the tokens of elements with their positions."""
    for token in tokens:
        if token.type != "text" and "span" in token.meta:
            start, end = token.meta["span"]
            yield token, (start - (token.type == "strong_open"), end + (token.type == "strong_close"))


def _element(token: Token, raw: str) -> InlineItem:
    name = _ELEMENTS.get(token.type.replace("_close", "_open"), "")
    if name and token.markup != "autolink":
        if token.nesting > 0:
            return InlineItem(TokenKind.OPEN, raw=raw, note=name)
        label = " ".join(token.meta["label"].split()) if raw in {"]", "][]"} else ""
        return InlineItem(TokenKind.CLOSE, raw=raw, note=f"/{name} {label}".rstrip())
    tag = _TAG.match(raw) if token.type == "html_inline" else None
    if tag is None:
        return InlineItem(TokenKind.POINT if raw.startswith("<!--") else TokenKind.WORD, raw=raw)
    name = tag["name"].lower()
    if name in {"br", "img"} or raw.endswith("/>"):
        return InlineItem(TokenKind.WORD, raw=raw, ends_line=name == "br")
    return InlineItem(TokenKind.POINT, raw=raw, note=f"{'close' if tag['end'] else 'open'}:{name}")
