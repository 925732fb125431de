"""Encodings that files declare: by byte order mark, and in HTML by name.

Names and their meaning in browsers follow the Encoding Standard
(https://encoding.spec.whatwg.org/#names-and-labels): Latin-1 means its superset Windows-1252, for example.
Stateful and obsolete encodings are left out.
"""

import codecs
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from service.formats.entries import FileFormatError

UTF_8 = "utf-8"
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, UTF_8),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is a prefix of this one
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
MAX_MARK_BYTES = 4


@dataclass(frozen=True, slots=True)
class FileEncoding:
    """Encoding of a file, with its byte order mark."""

    encoding: str
    """Python's name of the encoding."""
    byte_order_mark: bytes = b""


def encoding_from_mark(beginning: bytes) -> FileEncoding | None:
    """Return the encoding that a byte order mark declares; None without a mark.

    Args:
        beginning: start of a file: at least `MAX_MARK_BYTES`, or the whole file.
    """
    for mark, encoding in BYTE_ORDER_MARKS:
        if beginning.startswith(mark):
            return FileEncoding(encoding, mark)
    return None


_TEXT_CODECS = frozenset(
    [
        "utf-8", "ascii", "iso8859-1", "iso8859-2", "iso8859-3", "iso8859-4", "iso8859-5",
        "iso8859-6", "iso8859-7", "iso8859-8", "iso8859-9", "iso8859-10", "iso8859-11",
        "iso8859-13", "iso8859-14", "iso8859-15", "iso8859-16", "cp1250", "cp1251", "cp1252",
        "cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "cp437", "cp737", "cp775",
        "cp850", "cp852", "cp855", "cp857", "cp858", "cp860", "cp861", "cp862", "cp863", "cp864",
        "cp865", "cp866", "cp869", "cp874", "koi8-r", "koi8-u", "koi8-t", "kz1048", "mac-cyrillic",
        "mac-greek", "mac-latin2", "mac-roman", "mac-turkish", "tis-620", "big5", "big5hkscs",
        "cp932", "cp949", "cp950", "euc_jp", "euc_kr", "gb18030", "gb2312", "gbk", "shift_jis",
    ]
)  # fmt: skip
"""Python's names of ASCII-compatible encodings: a declaration is read before the encoding is known."""
_WIDE_CODECS = ("utf-16", "utf-32")


def codec_of_label(label: str, declares: str = "it declares") -> str:
    """Return the codec of a text encoding that a file declares in ASCII.

    Python also has codecs that compress, fail or take quadratic time.

    Raises:
        FileFormatError: the label is another one.
    """
    with suppress(LookupError):
        codec = codecs.lookup(label).name
        if codec in _TEXT_CODECS:
            return codec
        if codec.startswith(_WIDE_CODECS):
            return UTF_8  # a declaration that was readable as ASCII is in neither
    raise FileFormatError(f"{declares} the encoding {label[:40]!r}, which is unknown; save it in UTF-8")


_LABELS = {
    "utf-8": "utf-8 utf8 unicode-1-1-utf-8 x-unicode20utf8 utf-16 utf-16le utf-16be",  # declared in ASCII
    "cp1252": "windows-1252 cp1252 x-cp1252 iso-8859-1 iso8859-1 iso88591 iso_8859-1 latin1 l1 ascii",
    "cp1250": "windows-1250 cp1250 x-cp1250",
    "cp1251": "windows-1251 cp1251 x-cp1251",
    "cp1253": "windows-1253 cp1253 x-cp1253",
    "cp1254": "windows-1254 cp1254 x-cp1254 iso-8859-9 iso8859-9 iso_8859-9 latin5 l5",
    "cp1255": "windows-1255 cp1255 x-cp1255",
    "cp1256": "windows-1256 cp1256 x-cp1256",
    "cp1257": "windows-1257 cp1257 x-cp1257",
    "cp1258": "windows-1258 cp1258 x-cp1258",
    "cp866": "ibm866 cp866 866",
    "cp874": "windows-874 tis-620 iso-8859-11 iso8859-11",
    "iso8859-2": "iso-8859-2 iso8859-2 iso_8859-2 latin2 l2",
    "iso8859-3": "iso-8859-3 iso8859-3 iso_8859-3 latin3 l3",
    "iso8859-4": "iso-8859-4 iso8859-4 iso_8859-4 latin4 l4",
    "iso8859-5": "iso-8859-5 iso8859-5 iso_8859-5 cyrillic",
    "iso8859-6": "iso-8859-6 iso8859-6 iso_8859-6 arabic",
    "iso8859-7": "iso-8859-7 iso8859-7 iso_8859-7 greek",
    "iso8859-8": "iso-8859-8 iso8859-8 iso_8859-8 hebrew",
    "iso8859-10": "iso-8859-10 iso8859-10 latin6 l6",
    "iso8859-13": "iso-8859-13 iso8859-13",
    "iso8859-14": "iso-8859-14 iso8859-14",
    "iso8859-15": "iso-8859-15 iso8859-15 iso_8859-15 l9 latin9",
    "iso8859-16": "iso-8859-16",
    "koi8-r": "koi8-r koi8 koi koi8_r",
    "koi8-u": "koi8-u koi8-ru",
    "mac-roman": "macintosh mac x-mac-roman",
    "gb18030": "gb18030 gbk gb2312 gb_2312-80 x-gbk chinese",
    "big5hkscs": "big5 big5-hkscs cn-big5 x-x-big5",
    "euc-jp": "euc-jp x-euc-jp",
    "cp932": "shift_jis shift-jis sjis x-sjis windows-31j ms_kanji",
    "cp949": "euc-kr korean ks_c_5601-1987 ksc5601 windows-949",
}
CODECS_BY_LABEL: Mapping[str, str] = {
    label: codec for codec, labels in _LABELS.items() for label in labels.split()
}
"""Python codecs by lower-case label."""
