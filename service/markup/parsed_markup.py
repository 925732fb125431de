"""Complete processing of markup: from markup to texts, and from their translations back to markup.

markup -- html_tokens (html_lexemes) or xml_tokens --> tokens
tokens -- blocks --> running text with marks in it
text and translation -- stretches --> changed and unchanged parts
changed parts -- alignment, tag_placement --> positions of their marks
all -- rendering --> markup
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
class ParsedMarkup:
    """Parsed markup."""

    language: MarkupLanguage
    parts: tuple[Block | str, ...]
    """Running text, and the markup between, which stays as it is."""

    @property
    def blocks(self) -> tuple[str, ...]:
        """Texts to translate one by one: plain text, with white space as a reader sees it."""
        return tuple(part.text for part in self.parts if isinstance(part, Block))

    def with_blocks(self, others: Sequence[Block]) -> "ParsedMarkup":
        """Return the same markup with other blocks, one for each of its own."""
        remaining = iter(others)
        parts = tuple(part if isinstance(part, str) else next(remaining) for part in self.parts)
        return ParsedMarkup(self.language, parts)

    def rejoin(self, translated: Sequence[Translation]) -> str:
        """Return the markup with translations in it.

        Segments that the translation left unchanged come back byte for byte. Markup within changed ones goes
        where the segments' links put it.

        Args:
            translated: one translation for each of `blocks`, in order, preferably with `return_alignment`.

        Raises:
            ValueError: the number of translations is not that of `blocks`.
        """
        num_blocks = len(self.blocks)
        if len(translated) != num_blocks:
            raise ValueError(f"{len(translated)} translations for {num_blocks} blocks")
        translations = iter(translated)
        return "".join(
            part if isinstance(part, str) else write(part, next(translations), self.language)
            for part in self.parts
        )


def parse(markup: str, options: MarkupOptions) -> ParsedMarkup:
    """Find the running text in markup.

    Args:
        markup: a document or a fragment.
        options: markup language, and the meaning of tags.

    Raises:
        MarkupError: XML that is not well-formed, declares entities or is nested too deeply. HTML is read as
            browsers read it, however malformed.
    """
    is_html = options.language is MarkupLanguage.HTML
    tokens = html_tokens(markup, options) if is_html else xml_tokens(markup, options)
    return ParsedMarkup(options.language, tuple(blocks(tokens)))
