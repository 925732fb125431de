"""Documents through the desk, in parts that it takes.

The parts of a document go one after the other, so that however long it is, no more of it waits in the engine
than of a request of some length.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import anyio

from dragoman import Overloaded, Priority, Translation
from dragoman.text.segment import segment
from service.accounts.callers import Caller
from service.desk.desk import Desk, TextsRefusedError
from service.desk.order import Answer, Order
from service.desk.sources import find_source
from service.documents.errors import UnusableDocument
from service.documents.formats import Document, DocumentFormat, read_document
from service.markup.marked_up import parse
from service.markup.options import MarkupLanguage, MarkupOptions

PART_CHARACTERS = 8000
"""Of a document in the engine at a time: some hundred sentences, which fill its batches and leave room for
what others ask."""
OVERLOADED_PAUSE_S = 1.0
"""Before a part that there was no room for is handed in again."""
MAX_REFUSALS = 120
"""In a row, after which there seems to be no room for a part at all."""
LANGUAGE_OF_RULES = "en"
"""Whose rules find sentences in a line longer than a part where the source is not named."""

HTML = MarkupOptions(MarkupLanguage.HTML)


async def translate_document(desk: Desk, content: bytes, name: str, order: Order, caller: Caller) -> bytes:
    """A document in the target language, in the form and the encoding it came in.

    Its language, where the order leaves it open, is that of its beginning. A document in the target language,
    or in none, comes back as it is. All its characters are charged at once before the work, and given back
    if it fails or is given up.

    Args:
        desk: where it is translated.
        content: the file.
        name: its name, which tells what it is.
        order: wishes. Its texts and its markup are not looked at: the document has its own.
        caller: who is charged.

    Raises:
        DocumentError: it cannot be read, or there is something in it that cannot be translated.
        Others: as `Desk.translate`.
    """
    document = await desk.inference.beside(lambda: read_document(content, name))
    plain = replace(order, texts=(), markup=None, linger_s=0.0, priority=Priority.JOB)
    # The desk's own charge is of a part, which would be kept when a later part fails.
    async with desk.charged(len(document.text), caller, documents=1):
        work = _Work(desk, document, plain, replace(caller, key_id=None))
        translated = await (work.html() if document.format is DocumentFormat.HTML else work.text())
    return content if translated is None else await desk.inference.beside(lambda: document.write(translated))


class _Work:
    """A document on its way."""

    def __init__(self, desk: Desk, document: Document, order: Order, nobody: Caller) -> None:
        self._desk = desk
        self._document = document
        self._order = order
        self._caller = nobody
        """Whom nothing is charged: the whole is already."""
        limits = desk.limits
        self._max_texts = limits.max_texts
        self._max_characters = limits.max_characters
        self._part_characters = min(PART_CHARACTERS, limits.max_characters)

    async def text(self) -> str | None:
        """Plain text in the target language; None where it stays as it is."""
        text = self._document.text
        order = await self._with_source(text)
        if order is None:
            return None
        done = []
        for part in text_parts(text, self._part_characters, order.source or LANGUAGE_OF_RULES):
            [answer] = await self._translate(replace(order, texts=(part,)))
            done.append(answer.text)
        return "".join(done)

    async def html(self) -> str | None:
        """A page in the target language; None where it stays as it is."""
        beside = self._desk.inference.beside
        page = await beside(lambda: parse(self._document.text, HTML))
        blocks = page.blocks
        order = await self._with_source("\n".join(blocks))
        if order is None:
            return None
        order = replace(order, options=replace(order.options, return_alignment=True))
        done: list[Translation] = []
        for part in self._block_parts(blocks) or [()]:
            done += [
                answer.parts[0].translation for answer in await self._translate(replace(order, texts=part))
            ]
        return await beside(lambda: page.rejoin(done))

    async def _with_source(self, running: str) -> Order | None:
        """The order with a source that is known; None where there is nothing to do."""
        order = self._order
        if not self._desk.detection.is_wanted(order.source):
            return order
        routes = self._desk.inference.router.routes
        found = await self._desk.inference.beside(
            lambda: find_source(running, order.target, order.model, routes)
        )
        return None if found.language is None else replace(order, source=found.language)

    def _block_parts(self, blocks: Sequence[str]) -> list[tuple[str, ...]]:
        """Blocks that go together."""
        parts: list[tuple[str, ...]] = []
        part: list[str] = []
        num_characters = 0
        for block in blocks:
            if len(block) > self._max_characters:
                problem = (
                    f"a paragraph has {len(block)} characters, more than {self._max_characters}; part it"
                )
                raise UnusableDocument(self._document.name, problem)
            if part and (len(part) == self._max_texts or num_characters + len(block) > self._part_characters):
                parts.append(tuple(part))
                part, num_characters = [], 0
            part.append(block)
            num_characters += len(block)
        return [*parts, tuple(part)] if part else parts

    async def _translate(self, order: Order) -> list[Answer]:
        """A part, as soon as there is room for it."""
        for _ in range(MAX_REFUSALS):
            try:
                return await self._desk.translate(order, self._caller)
            except Overloaded:
                await anyio.sleep(OVERLOADED_PAUSE_S)
            except TextsRefusedError as error:
                raise UnusableDocument(self._document.name, error.problems[0][1]) from error
        return await self._desk.translate(order, self._caller)


def text_parts(text: str, max_characters: int, language: str) -> Iterator[str]:
    """A text in parts, at least one, that concatenate to it.

    Cut where the engine cuts too, which so translates no otherwise: at line breaks, or between sentences of a
    longer line. A sentence longer than a part is cut between words, or else anywhere.
    """
    start = 0
    while len(text) - start > max_characters:
        window = text[start : start + max_characters]
        length = (
            _after_line(window) or _after_sentence(window, language) or _after_word(window) or max_characters
        )
        yield window[:length]
        start += length
    yield text[start:]


def _after_line(window: str) -> int:
    return max(window.rfind("\n"), window.rfind("\r")) + 1


def _after_sentence(window: str, language: str) -> int:
    """Where the last sentence begins, which the window may have cut; 0 if that is the first."""
    found = segment(window, language)
    last = len(found.segments[-1]) + len(found.gaps[-1]) if found.segments else 0
    return len(window) - last if len(found.segments) > 1 else 0


def _after_word(window: str) -> int:
    return window.rfind(" ") + 1
