"""Converts HTML to tokens."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

from service.text import html_names
from service.text.html_lexemes import Lexeme, LexemeKind, lex
from service.text.options import MarkupOptions
from service.text.tokens import InlineItem, TokenKind, join_empty_elements, join_notes


def nest(lexemes: Sequence[Lexeme], is_block: Callable[[str], bool]) -> "Nesting":
    """Pair tags within each block: an inline element ends with its block at the latest.

    Of crossing elements, `<b><i></b></i>`, the inner one ends where the outer one does; its end tag stays
    without a start tag.

    Args:
        lexemes: lexemes of the whole document.
        is_block: whether an element of this name is a block.
    """
    nesting = Nesting()
    for i, lexeme in enumerate(lexemes):
        if lexeme.kind is LexemeKind.START:
            splits = is_block(lexeme.name)
            if splits:
                nesting.end_implied(lexeme.name, i)
            if lexeme.name in html_names.VOID or lexeme.is_empty:
                nesting.ends[i] = i + 1
            else:
                nesting.open(lexeme.name, i, is_block=splits)
        elif lexeme.kind is LexemeKind.END:
            nesting.close(lexeme.name, i, is_block=is_block(lexeme.name))
    nesting.end_all(len(lexemes))
    return nesting


_BLOCK = -1


@dataclass(slots=True)
class Nesting:
    """Pairs of tags and ends of elements, by positions of lexemes."""

    partners: dict[int, int] = field(default_factory=dict)
    """Start tags to their end tags, and vice versa."""
    ends: dict[int, int] = field(default_factory=dict)
    """Start tags to where their elements end: after the end tag, or at the lexeme that ended them."""
    _open: list[tuple[int, tuple[int, str]]] = field(default_factory=list)
    """Start tag and key of each open element: its name, and the number of blocks around it, or `_BLOCK`."""
    _blocks: list[str] = field(default_factory=list)
    _counts: Counter[tuple[int, str]] = field(default_factory=Counter)
    """Number of open elements by key."""

    def open(self, name: str, i: int, *, is_block: bool) -> None:
        """Open an element."""
        key = self._key(name, is_block=is_block)
        self._open.append((i, key))
        self._counts[key] += 1
        if is_block:
            self._blocks.append(name)

    def end_implied(self, name: str, i: int) -> None:
        """End the blocks that the start tag of a block ends."""
        while self._blocks and name in html_names.ENDED_BY.get(self._blocks[-1], ()):
            num_blocks = len(self._blocks)
            while len(self._blocks) == num_blocks:
                self._end_last(i)

    def close(self, name: str, i: int, *, is_block: bool) -> None:
        """End an element at its end tag, with all in it; inline elements of outer blocks stay open."""
        key = self._key(name, is_block=is_block)
        if not self._counts[key]:
            return
        while self._open[-1][1] != key:
            self._end_last(i)
        start = self._end_last(i)
        self.partners[start], self.partners[i] = i, start
        self.ends[start] = i + 1

    def end_all(self, i: int) -> None:
        """End all elements at the end of the document."""
        while self._open:
            self._end_last(i)

    def _key(self, name: str, *, is_block: bool) -> tuple[int, str]:
        return _BLOCK if is_block else len(self._blocks), name

    def _end_last(self, i: int) -> int:
        start, key = self._open.pop()
        self._counts[key] -= 1
        self.ends[start] = i
        if key[0] == _BLOCK:
            self._blocks.pop()
        return start


_VALUE = re.compile(r"<%[=-](?!-)|<\?(?:=|php\s+echo\b)")
_STATEMENT = re.compile(r"<!doctype|<%(?![#-])|<\?(?:php)?\s", re.IGNORECASE)
"""A doctype, and a statement of a template, which parts texts; not a comment."""
_NOTHING = InlineItem(TokenKind.POINT)


def html_tokens(html: str, options: MarkupOptions) -> list[InlineItem]:
    """Return the tokens of a document or a fragment, however malformed."""
    lexemes = list(lex(html))
    rules = _Rules(options)
    nesting = nest(lexemes, rules.splits)
    merged = list(_merge_ignored(lexemes, nesting, rules))
    token_positions = {i: index for index, (i, _) in enumerate(merged)}
    tokens: list[InlineItem] = []
    preserving_until = -1
    for i, token in merged:
        lexeme = lexemes[i]
        if lexeme.kind is LexemeKind.START and lexeme.name in html_names.KEEPS_SPACE:
            preserving_until = max(preserving_until, nesting.ends[i])
        if token is not _NOTHING:
            tokens.append(token)
        elif lexeme.kind is LexemeKind.TEXT:
            tokens.append(_text(lexeme, keeps_space=i < preserving_until))
        else:
            partner = nesting.partners.get(i)
            tokens.append(rules.tag(lexeme, None if partner is None else token_positions[partner]))
    return join_notes(join_empty_elements(tokens, TokenKind.POINT))


class _Rules:
    """Roles of tags under the markup options."""

    def __init__(self, options: MarkupOptions) -> None:
        self._splitting = options.names(options.splitting_tags) | (
            html_names.BLOCKS - options.names(options.non_splitting_tags)
        )
        self._ignored = options.names(options.ignore_tags) | html_names.IGNORED
        self._line_break = (
            TokenKind.POINT
            if html_names.LINE_BREAK in options.names(options.non_splitting_tags)
            else TokenKind.BREAK
        )

    def splits(self, name: str) -> bool:
        return name in self._splitting

    def ignores(self, lexeme: Lexeme) -> bool:
        """Return whether the content of an element is not translated."""
        attributes = lexeme.attributes
        return lexeme.kind is LexemeKind.START and (
            lexeme.name in self._ignored
            or attributes.get("translate", "").lower() == "no"
            or "notranslate" in attributes.get("class", "").split()
        )

    def ignored(self, raw: str, name: str) -> InlineItem:
        """Return the token of a whole element whose content is not translated."""
        if self.splits(name):
            return InlineItem(TokenKind.BREAK, raw=raw)
        if name == html_names.LINE_BREAK:
            return InlineItem(self._line_break, raw=raw, ends_line=True)
        is_blank = name in html_names.VOID or name in html_names.FOREIGN
        kind = TokenKind.POINT if name in html_names.NO_ROOM else TokenKind.WORD
        return InlineItem(kind, raw=raw, is_blank=is_blank)

    def tag(self, lexeme: Lexeme, partner: int | None) -> InlineItem:
        """Return the token of a single tag, or of a lexeme that is not a tag."""
        if lexeme.kind is LexemeKind.OTHER:
            if _VALUE.match(lexeme.raw):
                return InlineItem(TokenKind.WORD, raw=lexeme.raw)
            is_break = _STATEMENT.match(lexeme.raw) is not None
            return InlineItem(TokenKind.BREAK if is_break else TokenKind.POINT, raw=lexeme.raw)
        if self.splits(lexeme.name):
            return InlineItem(TokenKind.BREAK, raw=lexeme.raw)
        is_start = lexeme.kind is LexemeKind.START
        if partner is not None:
            kind = TokenKind.OPEN if is_start else TokenKind.CLOSE
            return InlineItem(kind, raw=lexeme.raw, partner=partner)
        if is_start and (lexeme.name in html_names.VOID or lexeme.name in html_names.FOREIGN):
            return self.ignored(lexeme.raw, lexeme.name)
        return InlineItem(TokenKind.POINT, raw=lexeme.raw)


def _merge_ignored(
    lexemes: Sequence[Lexeme], nesting: Nesting, rules: _Rules
) -> Iterator[tuple[int, InlineItem]]:
    """Yield positions of lexemes, each with the token of an ignored element that begins there, if any."""
    end = 0
    for i, lexeme in zip(count(), lexemes, strict=False):
        if i < end:
            continue
        if rules.ignores(lexeme):
            end = nesting.ends[i]
            yield i, rules.ignored("".join(lexeme.raw for lexeme in lexemes[i:end]), lexeme.name)
        else:
            yield i, _NOTHING


def _text(lexeme: Lexeme, *, keeps_space: bool) -> InlineItem:
    text, raws = lexeme.characters
    return InlineItem(TokenKind.TEXT, text, lexeme.raw, raws=raws, keeps_space=keeps_space)
