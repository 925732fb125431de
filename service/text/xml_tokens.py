"""Converts XML to tokens: a reader records where everything begins."""

import re
from dataclasses import dataclass
from itertools import pairwise

from service.text.escaping import escape_xml, read_xml
from service.text.html_names import LINE_BREAK
from service.text.options import MarkupError, MarkupOptions
from service.text.tokens import InlineItem, TokenKind, join_empty_elements, join_notes
from service.text.xml_parser import XmlReader

_WRAPPER = "<r>", "</r>"
_PROLOG = re.compile(r"\ufeff?(?:<\?xml\s|\s*+(?:(?><!--.*?-->|<\?.*?\?>)\s*+)*+<!DOCTYPE\b)", re.DOTALL)
_SPACES = re.compile(r"[\t\n\r ]")
_SECTION = "<![CDATA["


@dataclass(slots=True)
class _Event:
    """A parser event at a byte position."""

    kind: TokenKind
    """OPEN and CLOSE for all tags, WORD for an entity that is not declared."""
    start_byte: int
    name: str = ""
    partner: int | None = None
    keeps_space: bool = False
    has_text: bool = False
    """For OPEN: whether there is text directly in the element."""
    parent: int = -1


def xml_tokens(xml: str, options: MarkupOptions) -> list[InlineItem]:
    """Return the tokens of a document, or of a fragment of any number of elements with text between them.

    Raises:
        MarkupError: the XML is not well-formed, is nested too deeply, declares entities or is not Unicode.
    """
    before, after = ("", "") if _PROLOG.match(xml) else _WRAPPER
    try:
        encoded = (before + xml + after).encode()
    except UnicodeEncodeError as error:
        raise MarkupError(
            f"lone surrogate at character {error.start - len(before)}; send well-formed Unicode"
        ) from error
    reader = _Reader()
    reader.parse(encoded, is_final=True, num_before=len(before))
    events = reader.events
    bounds = [*(event.start_byte for event in events), len(encoded)]
    raws = [encoded[start:end].decode() for start, end in pairwise(bounds)]
    if before:
        raws[0] = raws[-1] = ""
    start = InlineItem(
        TokenKind.BREAK, raw=encoded[: bounds[0]].decode()
    )  # white space, or a byte order mark
    return join_notes(join_empty_elements([start, *_tokens(events, raws, options)], TokenKind.WORD))


class _Reader(XmlReader):
    """Records the events of expat."""

    def __init__(self) -> None:
        super().__init__(MarkupError)
        self.events: list[_Event] = []
        self._open: list[int] = []
        self._in_text = False
        self.parser.CharacterDataHandler = self._text
        self.parser.StartCdataSectionHandler = self._start_section
        self.parser.EndCdataSectionHandler = self._end_section
        self.parser.CommentHandler = lambda _: self._add(TokenKind.POINT)
        self.parser.ProcessingInstructionHandler = lambda *_: self._add(TokenKind.POINT)
        self.parser.SkippedEntityHandler = lambda *_: self._add(TokenKind.WORD)
        self.parser.XmlDeclHandler = lambda *_: self._add(TokenKind.BREAK)

    def _add(self, kind: TokenKind, name: str = "") -> None:
        if self.is_in_doctype:
            return
        parent = self._open[-1] if self._open else -1
        keeps_space = parent >= 0 and self.events[parent].keeps_space
        self._in_text = kind is TokenKind.TEXT
        start_byte = self.parser.CurrentByteIndex
        self.events.append(_Event(kind, start_byte, name, None, keeps_space, parent=parent))

    def start(self, name: str, attributes: dict[str, str]) -> None:
        super().start(name, attributes)
        self._add(TokenKind.OPEN, name)
        event = self.events[-1]
        event.keeps_space = attributes.get("xml:space", "preserve" if event.keeps_space else "") == "preserve"
        self._open.append(len(self.events) - 1)

    def end(self, name: str) -> None:
        super().end(name)
        start = self._open.pop()
        self._add(TokenKind.CLOSE, name)
        self.events[-1].partner = start
        self.events[start].partner = len(self.events) - 1

    def _text(self, text: str) -> None:
        if self._open and text.strip("\t\n\r "):
            self.events[self._open[-1]].has_text = True
        if not self._in_text:
            self._add(TokenKind.TEXT)

    def _start_section(self) -> None:
        self._add(TokenKind.TEXT)

    def _end_section(self) -> None:
        self._in_text = False

    def start_doctype(self, *_: object) -> None:
        self._add(TokenKind.BREAK)
        super().start_doctype()


def _tokens(events: list[_Event], raws: list[str], options: MarkupOptions) -> list[InlineItem]:
    """Return one token for each event; the first token of an ignored element contains all of it."""
    tokens: list[InlineItem] = []
    ignored_until = -1
    for i, (event, raw) in enumerate(zip(events, raws, strict=True)):
        if i <= ignored_until:
            tokens.append(InlineItem(TokenKind.POINT))
        elif event.kind is TokenKind.OPEN and event.name in options.ignore_tags and event.partner is not None:
            ignored_until = event.partner
            kind = TokenKind.BREAK if _splits(event, events, options) else TokenKind.WORD
            tokens.append(InlineItem(kind, raw="".join(raws[i : ignored_until + 1])))
        elif _is_line_break(event, i, options) and not _splits(event, events, options):
            ignored_until = i + 1
            tokens.append(InlineItem(TokenKind.BREAK, raw=raw + raws[i + 1], ends_line=True))
        else:
            tokens.append(_token(event, raw, events, options))
    return tokens


def _token(event: _Event, raw: str, events: list[_Event], options: MarkupOptions) -> InlineItem:
    if event.kind is TokenKind.TEXT:
        if raw.startswith(_SECTION):
            return _section_token(raw, keeps_space=event.keeps_space)
        text, raws = read_xml(raw)
        return InlineItem(TokenKind.TEXT, text, raw, raws=raws, keeps_space=event.keeps_space)
    if event.kind in {TokenKind.OPEN, TokenKind.CLOSE} and _splits(event, events, options):
        return InlineItem(TokenKind.BREAK, raw=raw)
    # Plus one: a token precedes those of all events.
    return InlineItem(event.kind, raw=raw, partner=None if event.partner is None else event.partner + 1)


def _is_line_break(event: _Event, i: int, options: MarkupOptions) -> bool:
    """Return whether an element is empty and named like XHTML's line break."""
    return (
        event.partner == i + 1
        and event.name.rpartition(":")[2] == LINE_BREAK
        and event.name not in options.non_splitting_tags
        and options.finds_outline
    )


def _splits(event: _Event, events: list[_Event], options: MarkupOptions) -> bool:
    """Return whether an element separates texts: if its siblings include no text, unless its name decides."""
    if event.name in options.splitting_tags:
        return True
    if event.parent < 0:
        return True
    is_among_text = events[event.parent].has_text
    return event.name not in options.non_splitting_tags and options.finds_outline and not is_among_text


def _section_token(raw: str, *, keeps_space: bool) -> InlineItem:
    """Return the token of a CDATA section. Its white space never collapses, as marks cannot be in it."""
    content = raw.removeprefix(_SECTION).removesuffix("]]>")
    if not content:
        return InlineItem(TokenKind.POINT, raw=raw)
    text = content if keeps_space else _SPACES.sub(" ", content)
    raws = [escape_xml(character) for character in text]
    return InlineItem(TokenKind.TEXT, text, raw, raws=raws, keeps_space=True, is_section=True)
