"""Splits HTML into start tags, end tags, text and the rest, as in the HTML standard (13.2.5, Tokenization).

turbohtml finds them. This module does what its tokenizer leaves to a tree builder: SVG and MathML, where
other tags hold plain text, and `noscript`, which holds tags for readers without scripts. It also finds what
has no token: `</>`, and an unfinished tag at the end. Time is linear in the size of the document.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby

from turbohtml import Token, Tokenizer, TokenType

from service.text.escaping import Characters
from service.text.html_names import FOREIGN, RAW_TEXT, RAW_TEXT_WITH_SCRIPTS


class LexemeKind(StrEnum):
    """Kind of a part of a document."""

    TEXT = "text"
    START = "start"
    END = "end"
    OTHER = "other"
    """A comment, a doctype, the content of a script, an unfinished tag at the end of the document."""


_NO_CHARACTERS = Characters("", "")


@dataclass(frozen=True, slots=True)
class Lexeme:
    """Part of a document as written there; concatenated, the lexemes are the document."""

    kind: LexemeKind
    raw: str
    name: str = ""
    """For START and END: name in lower case."""
    attributes: dict[str, str] = field(default_factory=dict)
    """For START: values by name in lower case, the first of each name."""
    is_empty: bool = False
    """For START: whether it ends with `/>` where that has a meaning."""
    characters: Characters = _NO_CHARACTERS
    """For TEXT: its content."""


_EMPTY_END_TAG = "</>"
_SECTION = "<![CDATA["
_NO_TOKEN = re.compile(r"</>|<%(?:[^%]|%(?!>))*+%>")
_RESTART_POINTS = re.compile(
    rf"<!\[CDATA\[|<\?|<(?:{'|'.join(sorted(RAW_TEXT_WITH_SCRIPTS))})(?=[\t\n\f\r />])", re.IGNORECASE
)
"""Markup after which the tokenizer may have to start again."""


def lex(html: str) -> Iterator[Lexeme]:
    """Yield the parts of a document in order; adjacent text is one part."""
    for kind, parts in groupby(_Lexer(html).parts(), lambda part: part.kind):
        if kind is LexemeKind.TEXT:
            yield _join(list(parts))
        else:
            yield from parts


class _Lexer:
    """Locates tokens in the document: they come in order and report their length."""

    def __init__(self, html: str) -> None:
        self._html = html
        self._unix = html.replace("\r", "\n")  # of the same length: \r\n would be one character to turbohtml
        self._bounds = [*(found.start() for found in _RESTART_POINTS.finditer(html)), len(html)]
        self._at = 0
        self._num_foreign = 0
        self._raw_text = ""
        """Element whose content holds no tags but its own end tag; empty outside of such an element."""

    def parts(self) -> Iterator[Lexeme]:
        while self._at < len(self._html):
            for token in self._tokens():
                yield from self._empty_end_tags()
                if token.type is TokenType.TEXT:
                    yield from self._texts(len(token.data or ""))
                    continue
                part = self._part(token)
                self._at += len(part.raw)
                yield part
                if self._needs_restart(token):
                    break
            else:
                yield from self._empty_end_tags()
                if self._at < len(self._html):
                    yield Lexeme(LexemeKind.OTHER, self._html[self._at :])
                return

    def _tokens(self) -> Iterator[Token]:
        """Yield tokens from the current position; read little ahead, as a misleading tag may end the loop."""
        tokenizer = Tokenizer(resolve_references=False, capture_source=True)
        at = self._at
        for i in range(bisect_right(self._bounds, at), len(self._bounds)):
            yield from tokenizer.feed(self._unix[at : self._bounds[i]])
            at = self._bounds[i]
        yield from tokenizer.close()

    def _empty_end_tags(self) -> Iterator[Lexeme]:
        """Yield each `</>`, which has no token; in raw text it is text."""
        while not self._raw_text and self._html.startswith(_EMPTY_END_TAG, self._at):
            self._at += len(_EMPTY_END_TAG)
            yield Lexeme(LexemeKind.OTHER, _EMPTY_END_TAG)

    def _texts(self, num_chars: int) -> Iterator[Lexeme]:
        """Yield text of this many characters, and each `</>` and `<% %>` that divides it."""
        while num_chars > 0:
            end = self._at + num_chars
            if not self._raw_text:
                found = _NO_TOKEN.search(self._html, self._at, end + len(_EMPTY_END_TAG) - 1)
                if found is not None and found.start() == self._at and found[0] != _EMPTY_END_TAG:
                    self._at, num_chars = found.end(), num_chars - len(found[0])
                    yield Lexeme(LexemeKind.OTHER, found[0])
                    continue
                end = end if found is None else found.start()
            raw = self._html[self._at : end]
            self._at, num_chars = end, num_chars - len(raw)
            yield self._text(raw, Characters(raw, raw))
            if num_chars:
                yield from self._empty_end_tags()

    def _text(self, raw: str, characters: Characters) -> Lexeme:
        if self._raw_text in {"", "title"}:
            return Lexeme(LexemeKind.TEXT, raw, characters=characters)
        return Lexeme(LexemeKind.OTHER, raw)

    def _part(self, token: Token) -> Lexeme:
        raw = self._html[self._at : self._at + len(token.source or "")]
        name = token.tag or ""
        match token.type:
            case TokenType.CHARACTER_REFERENCE:
                return self._text(raw, _reference_characters(raw, token.data or ""))
            case TokenType.START_TAG:
                is_foreign = self._num_foreign > 0 or name in FOREIGN
                is_empty = is_foreign and token.self_closing
                if name in FOREIGN and not is_empty:
                    self._num_foreign += 1
                if name in RAW_TEXT and not is_foreign:
                    self._raw_text = name
                return Lexeme(LexemeKind.START, raw, name, dict(token.attrs or ()), is_empty)
            case TokenType.END_TAG:
                self._raw_text = ""
                if name in FOREIGN:
                    self._num_foreign = max(0, self._num_foreign - 1)
                return Lexeme(LexemeKind.END, raw, name)
            case _:
                if self._num_foreign and raw.startswith(_SECTION):
                    end = self._html.find("]]>", self._at)
                    raw = self._html[self._at :] if end < 0 else self._html[self._at : end + 3]
                if raw.startswith("<?") and (end := self._html.find("?>", self._at)) >= 0:
                    raw = self._html[self._at : end + 2]  # of PHP, whose code may hold a `>`
                return Lexeme(LexemeKind.OTHER, raw)

    def _needs_restart(self, token: Token) -> bool:
        """Return whether the tokenizer would misread what follows this token."""
        if token.type is TokenType.START_TAG:
            return token.tag in RAW_TEXT_WITH_SCRIPTS and not self._raw_text
        if (token.source or "").startswith("<?"):
            return True
        return self._num_foreign > 0 and (token.source or "").startswith(_SECTION)


def _reference_characters(raw: str, decoded: str) -> Characters:
    """Return the source form of each character of a reference: in `&notit`, `&not` is one, `it` is itself."""
    end = len(decoded)
    while end > 1 and decoded[end - 1] == raw[end - 1 - len(decoded)]:
        end -= 1
    num_rest = len(decoded) - end
    return Characters(decoded, [raw[: len(raw) - num_rest], *[""] * (end - 1), *decoded[end:]])


def _join(texts: list[Lexeme]) -> Lexeme:
    if len(texts) == 1:
        return texts[0]
    raws = [raw for text in texts for raw in text.characters.raws]
    decoded = "".join(text.characters.text for text in texts)
    return Lexeme(LexemeKind.TEXT, "".join(text.raw for text in texts), characters=Characters(decoded, raws))
