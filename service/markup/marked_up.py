"""The whole way on one page: markup to texts, texts' translations to markup.

markup -- html_tokens (html_lexemes, html_nesting) or xml_tokens --> tokens
tokens -- blocks --> running text with marks in it
text and translation -- stretches --> what changed beside what did not
what changed -- alignment, placing --> where its marks go
all -- writing --> markup
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dragoman.types import Translation
from service.markup.blocks import Block, blocks
from service.markup.html_tokens import html_tokens
from service.markup.options import MarkupLanguage, MarkupOptions
from service.markup.rendering import write
from service.markup.xml_tokens import xml_tokens


@dataclass(frozen=True, slots=True, eq=False)
class MarkedUp:
    """Markup taken apart."""

    language: MarkupLanguage
    parts: tuple[Block | str, ...]
    """Running text, and between it what stays as it is."""

    @property
    def blocks(self) -> tuple[str, ...]:
        """Texts to be translated one by one: plain text, white space as a reader sees it."""
        return tuple(part.text for part in self.parts if isinstance(part, Block))

    def rejoin(self, translated: Sequence[Translation]) -> str:
        """The markup with translations in it.

        What a segment of a translation left as it was is put back byte for byte. Markup within what changed
        goes where the segments' links have it go.

        Args:
            translated: one for each of `blocks`, in order, best made with `return_alignment`.

        Raises:
            ValueError: `translated` has another number of items than `blocks`.
        """
        num_blocks = len(self.blocks)
        if len(translated) != num_blocks:
            raise ValueError(f"{len(translated)} translations for {num_blocks} blocks")
        translations = iter(translated)
        return "".join(
            part if isinstance(part, str) else write(part, next(translations), self.language)
            for part in self.parts
        )


def parse(markup: str, options: MarkupOptions) -> MarkedUp:
    """Find the running text in markup.

    Args:
        markup: a document or a fragment.
        options: its language, and what tags mean.

    Raises:
        MarkupError: XML that is not well-formed, declares entities or is nested too deeply. HTML is taken
            as browsers take it, however malformed.
    """
    is_html = options.language is MarkupLanguage.HTML
    tokens = html_tokens(markup, options) if is_html else xml_tokens(markup, options)
    return MarkedUp(options.language, tuple(blocks(tokens)))
