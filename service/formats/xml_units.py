"""XML read as a stream: text that stays, and elements of some names as trees; the base of its formats.

The parts reproduce the document exactly, and memory holds at most one such element. The parser is expat,
which loads nothing external; entity declarations are rejected.
"""

import codecs
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import IO

from service.formats.encodings import UTF_8, codec_of_label, encoding_from_mark
from service.formats.entries import FileFormatError
from service.formats.parts import TextFormat, TextPart
from service.formats.xml_tree import Chars, Element, Miscellaneous, Name
from service.text.xml_parser import XmlReader

MAX_UNIT_DEPTH = 100
"""Maximum nesting of elements in a unit, whose tree is walked by recursion."""
MAX_UNIT_NODES = 50_000
"""Maximum number of elements, attributes, texts and comments in a unit, whose tree is in memory."""

_CHUNK_BYTES = 1 << 16
_PENDING_PER_CHUNK = 8
_NUM_KEPT_NAMES = 1000
_DECLARED = re.compile(rb"^\s*<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
_BEGINNINGS = (("<?".encode("utf-16-le"), "utf-16-le"), ("<?".encode("utf-16-be"), "utf-16-be"))
"""First bytes of a declaration in encodings that must be known to read it (XML 1.0, F.1)."""
_TAG = re.compile(r"<[^!?]")


def encoding_of(source: IO[bytes]) -> str:
    """Return the encoding of a document by its byte order mark, else by its declaration, else UTF-8.

    Args:
        source: seekable; its position is restored.

    Raises:
        FileFormatError: the declared encoding is unknown.
    """
    start = source.tell()
    head = source.read(1024)
    source.seek(start)
    marked = encoding_from_mark(head)
    if marked is not None:
        return marked.encoding
    for beginning, encoding in _BEGINNINGS:
        if head.startswith(beginning):
            return encoding
    declared = _DECLARED.search(head)
    return UTF_8 if declared is None else codec_of_label(declared[1].decode())


def xml_units(
    source: IO[bytes],
    units: frozenset[Name],
    *,
    untranslated: frozenset[Name] = frozenset(),
    allows_doctype: bool = False,
) -> Iterator[str | Element]:
    """Yield the parts of a document in order; concatenated, they are the document.

    The start tag of the root is a separate part, unless the root is a unit.

    Args:
        source: seekable, at the beginning of the document.
        units: names of the elements to yield as trees; those inside another unit stay in its tree.
        untranslated: names of elements in which there are no units.
        allows_doctype: whether a document type declaration is allowed; declarations of entities never are.

    Raises:
        FileFormatError: the document is not well-formed, is in another encoding, too deep or unsafe.
    """
    encoding = encoding_of(source)
    decoder = codecs.getincrementaldecoder(encoding)()
    reader = _Reader(units, untranslated, allows_doctype=allows_doctype)
    is_final = False
    while not is_final:
        # Expat reads an incomplete token again from its beginning: growing chunks keep that linear.
        chunk = source.read(max(_CHUNK_BYTES, reader.num_pending // _PENDING_PER_CHUNK))
        is_final = not chunk
        try:
            text = decoder.decode(chunk, is_final)
        except UnicodeDecodeError as error:
            raise FileFormatError(f"it is not in {encoding}: {error.reason}; declare its encoding") from error
        yield from reader.feed(text.encode(), is_final=is_final)


def through_root(parts: Iterator[str | Element], root: re.Pattern[str], problem: str) -> Iterator[str]:
    """Yield the first parts of `xml_units`: all up to the start tag of the root, which is the last one.

    Args:
        parts: the parts; those that follow stay in it.
        root: matches the start tag.
        problem: message of the error if the root is another element.

    Raises:
        FileFormatError: the root is another element.
    """
    for part in parts:
        if isinstance(part, Element):
            break
        is_tag = _TAG.match(part) is not None
        if is_tag and not root.match(part):
            break
        yield part
        if is_tag:
            return
    raise FileFormatError(problem)


def with_units(
    parts: Iterator[str | Element], read: Callable[[Element], Iterable[TextPart]]
) -> Iterator[TextPart]:
    """Yield parts as they are, but for units what is read of each."""
    for part in parts:
        if isinstance(part, Element):
            yield from read(part)
        else:
            yield part


def xml_encoder(source: IO[bytes]) -> Callable[[str], bytes]:
    """Return a function that encodes text like a seekable document; missing characters become references."""
    encoding = encoding_of(source)
    return lambda text: text.encode(encoding, "xmlcharrefreplace")


class XmlFormat(TextFormat):
    """Base of formats that are XML."""

    def parse(self, source: IO[bytes]) -> tuple[Iterator[TextPart], Callable[[str], bytes]]:
        """See `TextFormat`."""
        return self.parts(source), xml_encoder(source)

    @abstractmethod
    def parts(self, source: IO[bytes]) -> Iterator[TextPart]:
        """Yield the parts of a seekable file lazily."""


@dataclass(slots=True)
class _Event:
    """A parser event at a byte position."""

    start: int
    opened: Element | None = None
    is_end: bool = False
    is_root: bool = False
    """Whether this is the start tag of the root element."""
    text: list[str] | None = None
    """Pieces of character data; None for other events."""


class _Reader(XmlReader):
    """Builds the parts of a document from the events of expat."""

    def __init__(
        self, units: frozenset[Name], untranslated: frozenset[Name], *, allows_doctype: bool
    ) -> None:
        super().__init__(FileFormatError, " ")
        self._units = units
        self._left_alone = untranslated
        self._allows_doctype = allows_doctype
        self._events: list[_Event] = [_Event(0)]
        self._buffer = bytearray()
        self._buffer_start = 0
        self._untranslated_depth = 0
        self._open: list[Element] = []
        """Open elements of the current unit, outermost first."""
        self._num_nodes = 0
        """Number of nodes of the current unit so far."""
        self.parser.CharacterDataHandler = self._text
        self.parser.StartCdataSectionHandler = self._start_text
        self.parser.CommentHandler = lambda _: self._add()
        self.parser.SkippedEntityHandler = lambda *_: self._add()
        self.parser.ProcessingInstructionHandler = lambda *_: self._add()

    @property
    def num_pending(self) -> int:
        """Number of bytes that were fed and not yielded yet."""
        return len(self._buffer)

    def feed(self, chunk: bytes, *, is_final: bool) -> Iterator[str | Element]:
        """Yield what is complete so far."""
        self._buffer.extend(chunk)
        self.parse(chunk, is_final=is_final)
        if is_final:
            self._events.append(_Event(self._buffer_start + len(self._buffer)))
        pieces: list[str] = []
        for found, is_root in self._complete_parts():
            if isinstance(found, str) and not is_root:
                pieces.append(found)
                continue
            if pieces:
                yield "".join(pieces)
                pieces = []
            yield found
        if pieces:
            yield "".join(pieces)

    def _complete_parts(self) -> Iterator[tuple[str | Element, bool]]:
        """Yield complete text and units, each with whether it is the start tag of the root."""
        at = 0
        for event, following in zip(self._events, self._events[1:], strict=False):
            end = following.start - self._buffer_start
            found = self._add_event(event, self._buffer[at:end].decode())
            at = end
            if found is not None:
                yield found, event.is_root
        del self._buffer[:at]
        self._buffer_start += at
        self._events = self._events[-1:]

    def _add_event(self, event: _Event, raw: str) -> str | Element | None:
        """Process an event; return the text or unit that it completes, if any."""
        element = event.opened
        if not self._open:
            if not self._is_unit_start(event):
                return raw
            self._num_nodes = 0
        self._count_node(element)
        if element is not None:
            element.open = raw
            if self._open:
                self._open[-1].nodes.append(element)
            self._open.append(element)
            if len(self._open) > MAX_UNIT_DEPTH:
                raise self.depth_error(MAX_UNIT_DEPTH)
        elif event.is_end:
            ended = self._open.pop()
            ended.close = raw
            return None if self._open else ended
        elif event.text is None:
            if raw:
                self._open[-1].nodes.append(Miscellaneous(raw))
        else:
            self._open[-1].nodes.append(Chars("".join(event.text), raw))
        return None

    def _count_node(self, element: Element | None) -> None:
        self._num_nodes += 1 if element is None else 1 + len(element.attributes)
        if self._num_nodes > MAX_UNIT_NODES:
            raise FileFormatError(
                f"a unit has more than {MAX_UNIT_NODES:,} elements, attributes and texts; split it"
            )

    def _is_unit_start(self, event: _Event) -> bool:
        element = event.opened
        if element is None:
            self._untranslated_depth -= event.is_end and self._untranslated_depth > 0
            return False
        if self._untranslated_depth or element.name in self._left_alone:
            self._untranslated_depth += 1
            return False
        return element.name in self._units

    def _add(self, opened: Element | None = None, *, is_end: bool = False) -> None:
        if self.is_in_doctype:
            return
        self._events.append(_Event(self.parser.CurrentByteIndex, opened, is_end))

    def start(self, name: str, attributes: dict[str, str]) -> None:
        super().start(name, attributes)
        qualified, prefix = _name(name)
        named = {_name(key)[0]: value for key, value in attributes.items()}
        self._add(Element(qualified, prefix, named, ""))
        self._events[-1].is_root = self.depth == 1

    def end(self, name: str) -> None:
        super().end(name)
        self._add(is_end=True)

    def _text(self, text: str) -> None:
        if self._events[-1].text is None:
            self._start_text()
        pieces = self._events[-1].text
        if pieces is not None:
            pieces.append(text)

    def _start_text(self) -> None:
        """Begin a text, which extends to the next tag and includes CDATA sections."""
        self._add()
        self._events[-1].text = []

    def start_doctype(self, *_: object) -> None:
        if not self._allows_doctype:
            raise FileFormatError(
                "it declares a document type, which this format does not allow; save it again"
            )
        self._add()
        super().start_doctype()


@lru_cache(_NUM_KEPT_NAMES)
def _name(name: str) -> tuple[Name, str]:
    """Split a name in expat's notation into namespace, local name and prefix; few names recur often."""
    parts = name.split(" ")
    if len(parts) == 1:
        return Name("", name), ""
    return Name(parts[0], parts[1]), f"{parts[2]}:" if len(parts) > 2 else ""  # noqa: PLR2004 -- these three
