"""Decodes the bytes of HTML pages, and encodes translated pages."""

import re
from dataclasses import dataclass

from service.formats.encodings import CODECS_BY_LABEL, UTF_8, FileEncoding, encoding_from_mark
from service.formats.errors import FileFormatError

HEAD_BYTES = 1024
"""Prefix that declares the encoding (https://html.spec.whatwg.org/multipage/semantics.html#charset)."""

_COMMENT = re.compile(rb"<!--.*?(?:-->|\Z)", re.DOTALL)
_DECLARED = re.compile(rb"<meta[\s/][^>]*?charset\s*=\s*[\"']?\s*([^\s\"'/>;]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Page:
    """A decoded page."""

    text: str
    writing: FileEncoding

    def write(self, text: str) -> bytes:
        """Encode another text like this page; characters missing from its encoding become references.

        Raises:
            FileFormatError: a character can neither be encoded nor become a reference.
        """
        try:
            encoded = text.encode(self.writing.encoding, "xmlcharrefreplace")
        except UnicodeEncodeError as error:
            problem = f"its translation cannot be written in {self.writing.encoding}: {error.reason}"
            raise FileFormatError(problem) from error
        return self.writing.byte_order_mark + encoded


def decode_page(content: bytes) -> Page:
    """Decode a page by its byte order mark, else by the encoding that it declares, else as UTF-8.

    Raises:
        FileFormatError: the page is in another encoding, or declares an unknown one.
    """
    writing = encoding_from_mark(content) or _declared_writing(content)
    try:
        text = content[len(writing.byte_order_mark) :].decode(writing.encoding)
    except UnicodeDecodeError as error:
        at = error.start + len(writing.byte_order_mark)
        raise FileFormatError(
            f"it is not in {writing.encoding}: byte {at} (counted from 0): {error.reason}; declare its "
            "encoding, or save it in UTF-8"
        ) from error
    return Page(text, writing)


def _declared_writing(content: bytes) -> FileEncoding:
    declared = _DECLARED.search(_COMMENT.sub(b"", content[:HEAD_BYTES]))
    if declared is None:
        return FileEncoding(UTF_8)
    label = declared[1].decode("ascii", errors="backslashreplace")
    known = CODECS_BY_LABEL.get(label.lower())
    if known is None:
        raise FileFormatError(f"it declares the encoding {label[:40]!r}, which is unknown; save it in UTF-8")
    return FileEncoding(known)
