"""What a plan translates of a text: plain text, the blocks of markup, or the sentences of an ICU message."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from dragoman.types import Translation
from service.markup.blocks import Block
from service.markup.parsed_markup import ParsedMarkup
from service.protection.accelerators import Label
from service.protection.icu_messages import icu_message
from service.protection.patterns import ProtectedSpan
from service.protection.protected_block import ProtectedBlock, protect
from service.protection.span_removal import plain_block, write_plain
from service.protection.text_context import TextContext


@dataclass(frozen=True, slots=True)
class WrittenText:
    """A text put together from the translations of its blocks."""

    text: str
    translations: tuple[Translation, ...]
    """One for each block, with positions in its own text."""


class Content(Protocol):
    """Blocks of a text, and how their translations make the text again."""

    @property
    def blocks(self) -> Sequence[ProtectedBlock]:
        """Blocks to translate."""
        ...

    @property
    def needs_alignment(self) -> bool:
        """Whether all translations must have links."""
        ...

    def write(self) -> WrittenText:
        """Return the text, once all blocks are translated."""
        ...

    def checked_pairs(self, source: str, target: str) -> list[tuple[str, str]]:
        """Return sources and translations to check, of the whole text or of its blocks."""
        ...


class PlainContent:
    """Plain text, or a label without its accelerator."""

    needs_alignment = False

    def __init__(self, text: str, label: Label | None, spans: Sequence[ProtectedSpan]) -> None:
        self._label = label
        self.blocks = [protect(plain_block(text if label is None else label.text), spans)]

    def write(self) -> WrittenText:
        """See `Content`."""
        translation = _plain_translation(self.blocks[0])
        if self._label is not None:
            translation = replace(translation, text=self._label.mark(translation.text))
        return WrittenText(translation.text, (translation,))

    def checked_pairs(self, source: str, target: str) -> list[tuple[str, str]]:
        """See `Content`."""
        return [(source, target)]


class MarkedContent:
    """Blocks of markup."""

    def __init__(self, marked: ParsedMarkup, spans: Iterable[Sequence[ProtectedSpan]]) -> None:
        """Take markup, and the protected spans of each of its blocks."""
        self._marked = marked
        parts = (part for part in marked.parts if isinstance(part, Block))
        self.blocks = [protect(*each) for each in zip(parts, spans, strict=True)]

    needs_alignment = True

    def write(self) -> WrittenText:
        """See `Content`."""
        translations = [block.done for block in self.blocks]
        rest = self._marked.with_blocks([block.rest for block in self.blocks])
        return WrittenText(rest.rejoin(translations), tuple(translations))

    def checked_pairs(self, source: str, target: str) -> list[tuple[str, str]]:
        """See `Content`."""
        del source, target  # they have markup in them
        return [(block.rest.text, block.done.text) for block in self.blocks]


class IcuContent:
    """Sentences of an ICU message."""

    needs_alignment = False

    def __init__(self, text: str, context: TextContext) -> None:
        """Parse a message. Raises IcuSyntaxError."""
        self._message = icu_message(text, context.source, context.target)
        self.blocks = [
            protect(plain_block(sentence.text), context.add_unknown(sentence.text, sentence.spans))
            for sentence in self._message.sentences
        ]

    def write(self) -> WrittenText:
        """See `Content`."""
        translations = [_plain_translation(block) for block in self.blocks]
        text = self._message.rebuild([translation.text for translation in translations])
        return WrittenText(text, tuple(translations))

    def checked_pairs(self, source: str, target: str) -> list[tuple[str, str]]:
        """See `Content`."""
        sentences = [(block.block.text, _plain_translation(block).text) for block in self.blocks]
        return [(source, target), *sentences]


def _plain_translation(block: ProtectedBlock) -> Translation:
    return write_plain(block.rest, block.done, block.block.text) if block.taken else block.done
