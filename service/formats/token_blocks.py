"""Blocks of running text in a list of tokens, as units with entries."""

from collections.abc import Sequence
from itertools import count

from service.formats.inline_runs import Item, Kind, TextRun, collapse_space, text_runs
from service.formats.text_units import TextUnit
from service.markup.escaping import escape
from service.markup.options import MarkupLanguage
from service.markup.tokens import MarkupToken


def token_blocks(tokens: Sequence[MarkupToken], language: MarkupLanguage, place: str) -> list[str | TextUnit]:
    """Return the blocks of a document, and the markup between them.

    Args:
        tokens: tokens of the document.
        language: markup language of the document, in which translations are escaped.
        place: prefix of the blocks' locations.
    """
    parts: list[str | TextUnit] = []
    numbers = count(1)
    start = 0
    breaks = (i for i, token in enumerate(tokens) if token.kind is Kind.BREAK and not token.ends_line)
    for stop in [*breaks, len(tokens)]:
        stretch = tokens[start:stop]
        if any(token.kind is Kind.TEXT and token.text.strip() for token in stretch):
            parts.append(_block_unit(stretch, language, f"{place}block {next(numbers)}"))
        else:
            parts += [token.raw for token in stretch]
        parts += [token.raw for token in tokens[stop : stop + 1]]
        start = stop + 1
    return parts


def _block_unit(tokens: Sequence[MarkupToken], language: MarkupLanguage, place: str) -> TextUnit:
    items = [
        Item(Kind.WORD if token.ends_line else token.kind, token.text, token.raw, ends_line=token.ends_line)
        for token in tokens
    ]
    keeps_space = any(token.keeps_space and not token.is_section for token in tokens)
    found = list(text_runs(items, place, keeps_space=keeps_space))

    def said(text: str) -> str:
        return escape(
            text if keeps_space else collapse_space(text), language
        )  # an empty line ends HTML in Markdown

    def spell(texts: Sequence[str]) -> str:
        given = iter(texts)
        spelt: list[str] = []
        for running in found:
            inner = [running] if isinstance(running, Item) else running.with_text(next(given))
            spelt += [said(item.text) if item.kind is Kind.TEXT else item.raw for item in inner]
        return "".join(spelt)

    entries = tuple(running.entry for running in found if isinstance(running, TextRun))
    return TextUnit(entries, spell, "".join(token.raw for token in tokens))
