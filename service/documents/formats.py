"""Kinds of documents, and their bytes as text and back."""

import codecs
import re
from dataclasses import dataclass
from enum import StrEnum

from service.documents.encodings import DECLARABLE
from service.documents.errors import UnknownFormat, UnusableDocument

HEAD_BYTES = 1024
"""Where HTML declares its encoding (https://html.spec.whatwg.org/multipage/semantics.html#charset)."""
UTF_8 = "utf-8"

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, UTF_8),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before that of UTF-16, with which it begins
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_DECLARED = re.compile(rb"<meta[\s/][^>]*?charset\s*=\s*[\"']?\s*([^\s\"'/>;]+)", re.IGNORECASE)


class DocumentFormat(StrEnum):
    """What a document is written in."""

    TEXT = "text"
    HTML = "html"


SUFFIXES = {".txt": DocumentFormat.TEXT, ".html": DocumentFormat.HTML, ".htm": DocumentFormat.HTML}


@dataclass(frozen=True, slots=True)
class Writing:
    """How characters are written as bytes."""

    encoding: str
    byte_order_mark: bytes = b""


@dataclass(frozen=True, slots=True)
class Document:
    """A file that was read."""

    name: str
    format: DocumentFormat
    text: str
    writing: Writing

    def write(self, text: str) -> bytes:
        """Another text as this file would have it.

        Raises:
            UnusableDocument: a character cannot be written so. In HTML those become references.
        """
        errors = "xmlcharrefreplace" if self.format is DocumentFormat.HTML else "strict"
        try:
            return self.writing.byte_order_mark + text.encode(self.writing.encoding, errors)
        except UnicodeEncodeError as error:
            problem = f"its translation cannot be written in {self.writing.encoding}: {error.reason}"
            raise UnusableDocument(self.name, problem) from error


def format_of(file_name: str) -> DocumentFormat:
    """The format that a file's name tells, in whatever case.

    Raises:
        UnknownFormat: naming those there are.
    """
    for suffix, known in SUFFIXES.items():
        if file_name.lower().endswith(suffix):
            return known
    raise UnknownFormat(file_name, tuple(SUFFIXES))


def read_document(content: bytes, file_name: str) -> Document:
    """Take a file for what its name, its byte order mark and, in HTML, its declaration say it is; else UTF-8.

    Raises:
        UnknownFormat: the name tells no known format.
        UnusableDocument: it is in another encoding than it seems, or in one that is not known.
    """
    kind = format_of(file_name)
    writing = _writing(content, kind, file_name)
    try:
        text = content[len(writing.byte_order_mark) :].decode(writing.encoding)
    except UnicodeDecodeError as error:
        at = error.start + len(writing.byte_order_mark)
        advice = (
            "save it in UTF-8" if kind is DocumentFormat.TEXT else "declare its encoding, or save it in UTF-8"
        )
        problem = f"it is not in {writing.encoding}: byte {at} (counted from 0): {error.reason}; {advice}"
        raise UnusableDocument(file_name, problem) from error
    return Document(file_name, kind, text, writing)


def _writing(content: bytes, kind: DocumentFormat, file_name: str) -> Writing:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if content.startswith(mark):
            return Writing(encoding, mark)
    declared = _DECLARED.search(_COMMENT.sub(b"", content[:HEAD_BYTES]))
    if kind is DocumentFormat.TEXT or declared is None:
        return Writing(UTF_8)
    label = declared[1].decode("ascii", errors="backslashreplace")
    known = DECLARABLE.get(label.lower())
    if known is None:
        raise UnusableDocument(
            file_name, f"it declares the encoding {label[:40]!r}, which is not known; save it in UTF-8"
        )
    return Writing(known)
