"""XML documents as text units, written in their own encoding."""

from collections.abc import Callable, Iterator
from typing import IO, BinaryIO

from service.formats.text_units import TextUnit, end, written
from service.formats.xml_units import encode_xml, encoding_of

XmlParts = Callable[[IO[bytes]], Iterator[str | TextUnit]]
"""Splits a seekable document into text and units, in order."""


def translated_xml(source: IO[bytes], texts: Iterator[str], parts: XmlParts) -> Iterator[bytes]:
    """Yield a document with texts in place of its entries; characters its encoding lacks become references.

    Raises:
        FileFormatError: the document cannot be read.
        ValueError: there are fewer texts than entries.
    """
    encoding = encoding_of(source)
    for part in written(parts(source), texts):
        yield encode_xml(part, encoding)


def write_xml(source: BinaryIO, texts: Iterator[str], target: BinaryIO, parts: XmlParts) -> None:
    """Write a file that is one XML document, with texts in place of its entries.

    Raises:
        FileFormatError: the document cannot be read.
        ValueError: there are fewer texts than entries, or more.
    """
    for piece in translated_xml(source, texts, parts):  # noqa: FURB122 -- compressing files lack `writelines`
        target.write(piece)
    end(texts)
