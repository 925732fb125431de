"""XML documents as passages, written in the encoding that they are in."""

from collections.abc import Callable, Iterator
from typing import IO, BinaryIO

from service.formats.text_units import TextUnit, end, written
from service.formats.xml_units import encoding_of, xml_bytes

XmlParts = Callable[[IO[bytes]], Iterator[str | TextUnit]]
"""From a document, seekable, to its text and passages in order."""


def xml_pieces(source: IO[bytes], texts: Iterator[str], parts: XmlParts) -> Iterator[bytes]:
    """A document with a text taken for each of its entries; characters its encoding lacks become references.

    Raises:
        FileProblem: the document cannot be read.
        ValueError: there are fewer texts than entries.
    """
    encoding = encoding_of(source)
    for part in written(parts(source), texts):
        yield xml_bytes(part, encoding)


def write_xml(source: BinaryIO, texts: Iterator[str], target: BinaryIO, parts: XmlParts) -> None:
    """A file that is one document, with texts in the place of its entries.

    Raises:
        FileProblem: the document cannot be read.
        ValueError: there are fewer texts than entries, or more.
    """
    for piece in xml_pieces(source, texts, parts):  # noqa: FURB122 -- what compresses has no `writelines`
        target.write(piece)
    end(texts)
