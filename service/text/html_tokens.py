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


@dataclass(slots=True)
class _Block:
    """An open element that separates texts, and the open elements in it that do not."""

    name: str
    start: int
    inline: list[tuple[str, int]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    """Number of open elements in `inline`, by name."""


def nest(lexemes: Sequence[Lexeme], is_block: Callable[[str], bool]) -> "OpenElements":
    """Pair tags within each block: an inline element ends with its block at the latest.

    Of crossing elements, `<b><i></b></i>`, the inner one ends where the outer one does; its end tag stays
    without a start tag.

    Args:
        lexemes: lexemes of the whole document.
        is_block: whether an element of this name is a block.
    """
    nester = OpenElements(len(lexemes))
    for i, lexeme in enumerate(lexemes):
        if lexeme.kind is LexemeKind.START:
            if is_block(lexeme.name):
                nester.end_implied(lexeme.name, i)
            if lexeme.name in html_names.VOID or lexeme.is_empty:
                nester.ends[i] = i + 1
            elif is_block(lexeme.name):
                nester.open_block(lexeme.name, i)
            else:
                nester.open_inline(lexeme.name, i)
        elif lexeme.kind is LexemeKind.END:
            close = nester.close_block if is_block(lexeme.name) else nester.close_inline
            close(lexeme.name, i)
    nester.finish()
    return nester


class OpenElements:
    """Stack of open elements; pairs of tags and ends of elements, by positions of lexemes."""

    def __init__(self, num_lexemes: int) -> None:
        self.partners: dict[int, int] = {}
        """Start tags to their end tags, and vice versa."""
        self.ends: dict[int, int] = {}
        """Start tags to where their elements end: after the end tag, or at the lexeme that ended them."""
        self._num_lexemes = num_lexemes
        self._blocks = [_Block("", -1)]
        self._counts: Counter[str] = Counter()

    def open_block(self, name: str, i: int) -> None:
        self._blocks.append(_Block(name, i))
        self._counts[name] += 1

    def open_inline(self, name: str, i: int) -> None:
        self._blocks[-1].inline.append((name, i))
        self._blocks[-1].counts[name] += 1

    def end_implied(self, name: str, i: int) -> None:
        while name in html_names.ENDED_BY.get(self._blocks[-1].name, ()):
            self._end_block(i)

    def close_block(self, name: str, i: int) -> None:
        if not self._counts[name]:
            return
        while self._blocks[-1].name != name:
            self._end_block(i)
        start = self._end_block(i)
        self._pair(start, i)

    def close_inline(self, name: str, i: int) -> None:
        block = self._blocks[-1]
        if not block.counts[name]:
            return
        while block.inline[-1][0] != name:
            self._end_inline(block, i)
        self._pair(self._end_inline(block, i), i)

    def finish(self) -> None:
        """End all elements at the end of the document."""
        while self._blocks:
            self._end_block(self._num_lexemes)
        del self.ends[-1]  # the document itself

    def _pair(self, start: int, end: int) -> None:
        self.partners[start], self.partners[end] = end, start
        self.ends[start] = end + 1

    def _end_block(self, i: int) -> int:
        block = self._blocks.pop()
        while block.inline:
            self._end_inline(block, i)
        self._counts[block.name] -= 1
        self.ends[block.start] = i
        return block.start

    def _end_inline(self, block: _Block, i: int) -> int:
        name, start = block.inline.pop()
        block.counts[name] -= 1
        self.ends[start] = i
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
    lexemes: Sequence[Lexeme], nesting: OpenElements, rules: _Rules
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
