"""Converts HTML to tokens."""

from collections.abc import Iterator, Sequence
from itertools import count

from service.markup.html_lexemes import Lexeme, LexemeKind, lex
from service.markup.html_names import BLOCKS, FOREIGN, IGNORED, KEEPS_SPACE, LINE_BREAK, NO_ROOM, VOID
from service.markup.html_nesting import Nesting, nest
from service.markup.options import MarkupOptions
from service.markup.tokens import Kind, MarkupToken, join_empty_elements

_NOTHING = MarkupToken(Kind.POINT, "")


def html_tokens(html: str, options: MarkupOptions) -> list[MarkupToken]:
    """Return the tokens of a document or a fragment, however malformed."""
    lexemes = list(lex(html))
    rules = _Rules(options)
    nesting = nest(lexemes, rules.splits)
    merged = list(_merge_ignored(lexemes, nesting, rules))
    token_positions = {i: place for place, (i, _) in enumerate(merged)}
    tokens: list[MarkupToken] = []
    preserving_until = -1
    for i, token in merged:
        lexeme = lexemes[i]
        if lexeme.kind is LexemeKind.START and lexeme.name in KEEPS_SPACE:
            preserving_until = max(preserving_until, nesting.ends[i])
        if token is not _NOTHING:
            tokens.append(token)
        elif lexeme.kind is LexemeKind.TEXT:
            tokens.append(_text(lexeme, keeps_space=i < preserving_until))
        else:
            partner = nesting.partners.get(i)
            tokens.append(rules.tag(lexeme, None if partner is None else token_positions[partner]))
    return join_empty_elements(tokens)


class _Rules:
    """Roles of tags under the markup options."""

    def __init__(self, options: MarkupOptions) -> None:
        self._splitting = options.names(options.splitting_tags) | (
            BLOCKS - options.names(options.non_splitting_tags)
        )
        self._ignored = options.names(options.ignore_tags) | IGNORED
        self._line_break = (
            Kind.WORD if LINE_BREAK in options.names(options.non_splitting_tags) else Kind.BREAK
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

    def ignored(self, raw: str, name: str) -> MarkupToken:
        """Return the token of a whole element whose content is not translated."""
        if self.splits(name):
            return MarkupToken(Kind.BREAK, raw)
        if name == LINE_BREAK:
            return MarkupToken(self._line_break, raw, ends_line=True)
        return MarkupToken(Kind.POINT if name in NO_ROOM else Kind.WORD, raw)

    def tag(self, lexeme: Lexeme, partner: int | None) -> MarkupToken:
        """Return the token of a single tag, or of a lexeme that is not a tag."""
        if lexeme.kind is LexemeKind.OTHER:
            is_doctype = lexeme.raw[:9].lower() == "<!doctype"
            return MarkupToken(Kind.BREAK if is_doctype else Kind.POINT, lexeme.raw)
        if self.splits(lexeme.name):
            return MarkupToken(Kind.BREAK, lexeme.raw)
        is_start = lexeme.kind is LexemeKind.START
        if partner is not None:
            return MarkupToken(Kind.OPEN if is_start else Kind.CLOSE, lexeme.raw, partner)
        if is_start and (lexeme.name in VOID or lexeme.name in FOREIGN):
            return self.ignored(lexeme.raw, lexeme.name)
        return MarkupToken(Kind.POINT, lexeme.raw)


def _merge_ignored(
    lexemes: Sequence[Lexeme], nesting: Nesting, rules: _Rules
) -> Iterator[tuple[int, MarkupToken]]:
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


def _text(lexeme: Lexeme, *, keeps_space: bool) -> MarkupToken:
    text, raws = lexeme.characters
    return MarkupToken(Kind.TEXT, lexeme.raw, text=text, raws=raws, keeps_space=keeps_space)
