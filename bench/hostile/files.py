"""Files that cost their readers more than their size: each is a pattern that grows.

Tests send them small; loads send those of `LARGE`, whose work no count of calls would show.
"""

import gzip
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pyarrow as pa
from pyarrow import parquet

from bench.hostile.patterns import repeat
from bench.hostile.pdf import PDFS, deflated, one_page
from bench.hostile.string_patterns import PATTERNS

RUNS = (
    "%0", "%", "%(a", "{", "{{", "{%", "#{a", "#{a.", "${a", "&", "&a", "&#9", "<", "<a", "</", "<a ", "<!--",
    "<!", "<?", "<![CDATA[", "[", "[^", "![", "]", "](", "*", "_", "**a ", "`", "`` ", "~~", "> ", "- ", "|",
    "\\", '"', "'", '""', "(", "-", "=", ".", "1", " ", "\t", "a", "\u00e4", "\u4e00", "#", "<b>", "<p>",
    "<b a='",
)  # fmt: skip
"""Written one after the other, in every format of plain text."""
LINE_RUNS = (
    "a\n", "> ", "- a\n", "* \n", "[a]: b\n", "| a |\n", "# a\n", "\n", "---\n", "a|b\n-|-\n", "<div>\n",
)  # fmt: skip
UNITS = {
    "deep nesting in a unit": "⟨<g>⟩⟨</g>⟩",
    "empty elements": "⟨a<x/>⟩",
    "flat elements": "⟨<g>a</g>⟩",
    "halves": "⟨<bpt id='1'/>⟩a⟨<ept id='1'/>⟩",
    "spaces and points": "⟨ ⟩a⟨<!---->⟩",
    "references": "a⟨&#10;⟩",
    "a long reference": "a&#⟨0⟩65;",
    "a large reference": "a&#⟨9⟩;",
    "a large hexadecimal reference": "a&#x⟨f⟩;",
    "sections": "⟨<![CDATA[a]]>⟩",
}
"""Sources of a unit of XLIFF."""
BODIES = {
    "many namespaces": '⟨<x xmlns="u№"/>⟩',
    "nested namespaces": '⟨<x xmlns:a№="u">⟩⟨</x>⟩',
    "many attributes": '<x⟨ a№=""⟩/>',
    "many names": "⟨<x№/>⟩",
    "a long name": "<⟨x⟩/>" * 10,
    "deep nesting": "⟨<x>⟩⟨</x>⟩",
    "a long comment": "<!--⟨a⟩--><trans-unit id='1'><source>a</source></trans-unit>",
    "an unclosed comment": "<!--⟨a⟩",
    "a long attribute": '<x a="⟨a⟩"/>',
    "states": "<trans-unit id='1'><source>a</source><target a='⟨ state=⟩'/></trans-unit>",
    "units": "⟨<trans-unit id='1'><source>a</source></trans-unit>⟩",
}
"""Bodies of a file of XLIFF."""
DOCUMENTS = {
    "namespaces of elements": "<xliff⟨ xmlns:n№='u№'⟩>" + "<n1:a>" * 100 + "</n1:a>" * 100 + "</xliff>",
    "a long namespace": (
        '<xliff version="1.2" xmlns="⟨n⟩"><file><body><trans-unit id="1"><source>⟨<x/>⟩</source>'
        "</trans-unit></body></file></xliff>"
    ),
    "attributes with a long prefix": '<xliff version="1.2" xmlns:p="⟨n⟩"><x⟨ p:a№=""⟩/></xliff>',
    "default attributes": (
        '<!DOCTYPE xliff [<!ATTLIST x ⟨a№ CDATA "v" ⟩>]><xliff version="1.2"><body>⟨<x/>⟩</body></xliff>'
    ),
    "roots in a comment": (
        '<!-- ⟨<xliff ⟩ --><xliff version="1.2"><file><body><trans-unit id="1"><source>a</source>'
        "</trans-unit></body></file></xliff>"
    ),
}
PO_TEXTS = {
    "continuations": 'msgid ""\n⟨"a"\n⟩msgstr ""\n',
    "comments": '⟨# a\n⟩msgid "a"\nmsgstr ""\n',
    "extracted comments": 'msgid "a"\nmsgstr ""\n\n⟨#. a\n⟩msgid "a"\nmsgstr ""\n',
    "obsolete continuations": 'msgid "a"\nmsgstr ""\n\n#~ msgid ""\n⟨#~ "a"\n⟩#~ msgstr "a"\n',
    "previous texts": '#| msgid ""\n⟨#| "a"\n⟩msgid "a"\nmsgstr ""\n',
    "a long header": 'msgid ""\nmsgstr ""\n⟨"a\\n"\n⟩\nmsgid "a"\nmsgstr ""\n',
    "a long plural": ('msgid ""\nmsgstr "Plural-Forms: nplurals=2; plural=⟨(n+⟩"\n\nmsgid "a"\nmsgstr ""\n'),
    "a large index": 'msgid "a"\nmsgid_plural "b"\nmsgstr[⟨9⟩] ""\n',
    "entries": '⟨msgid "a"\nmsgstr ""\n\n⟩',
    "placeholders": 'msgid "a%⟨0⟩"\nmsgstr ""\n',
    "tags without partners": 'msgid "⟨<a>⟩x⟨</b>⟩⟨{{⟩"\nmsgstr ""\n',
    "escapes": 'msgid "⟨\\\\⟩"\nmsgstr ""\n',
}
JSON = {
    "lists": '{"text": ⟨[⟩⟨]⟩}\n',
    "objects": '{"text": "a", "b": ⟨{"a":⟩1⟨}⟩}\n',
    "keys": '{"text": "a"⟨, "k№": 1⟩}\n',
    "a long number": '{"text": "a", "b": ⟨9⟩}\n',
    "spaces": '{"text"⟨ ⟩: "a"}\n',
    "no end": '{"text": "⟨\\u00e4⟩',
    "texts": '{"text": ["a"⟨, "a"⟩]}\n',
}
CSV = {
    "quotes": 'text\n"⟨""⟩"\n',
    "lines in a cell": 'text\n"a⟨\n⟩"\n',
    "an unclosed cell": 'text\n"a⟨""\n⟩',
    "columns": "text⟨,a⟩\na⟨,a⟩\n",
}
RUN = "<w:r><w:t>a</w:t></w:r>"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
DOCX_DOCUMENTS = {
    "many namespaces": "<w:document⟨ xmlns:n№='u№'⟩>" + "<w:p>" * 500 + "</w:document>",
    "spaces": "⟨ ⟩",
    "paragraphs": f'<w:document xmlns:w="{WORD}"><w:body>⟨<w:p>{RUN}</w:p>⟩</w:body></w:document>',
}
DOCX = {
    "runs": f"⟨{RUN}⟩",
    "fields": (
        '<w:r><w:t>a</w:t></w:r>⟨<w:r><w:fldChar w:fldCharType="begin"/></w:r>⟩'
        '⟨<w:r><w:fldChar w:fldCharType="end"/></w:r>⟩'
    ),
    "fields and bookmarks without end": (
        '⟨<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:bookmarkStart w:id="1" w:name="a"/>⟩'
        '<w:r><w:t>a</w:t></w:r>⟨<w:bookmarkEnd w:id="2"/>⟩'
    ),
    "deep links": "<w:r><w:t>a</w:t></w:r>⟨<w:hyperlink>⟩⟨</w:hyperlink>⟩",
    "a long namespace": '<w:ins xmlns="⟨n⟩">⟨<w:r/>⟩</w:ins>',
    "paragraphs in it": f"⟨{'<w:r><w:p>' * 4}{RUN}{'</w:p></w:r>' * 4}⟩",
}
ODT = {
    "spans": "⟨a<text:span/>⟩",
    "spaces": "⟨a<text:s text:c='9'/>⟩",
    "many spaces": "a<text:s text:c='⟨9⟩'/>",
}
PPTX = {
    "runs": "⟨<a:r><a:t>a</a:t></a:r>⟩",
    "runs of two formats": '⟨<a:r><a:t>a</a:t></a:r><a:r><a:rPr b="1"/><a:t>b</a:t></a:r>⟩',
    "formats": '⟨<a:r><a:rPr sz="№"/><a:t>a</a:t></a:r>⟩',
    "spaces in a tag": "<a:r><a:rPr⟨ ⟩/><a:t>a</a:t></a:r>",
    "attributes": "<a:r><a:rPr⟨ a№='' ⟩/><a:t>a</a:t></a:r>",
    "tabs and escapes": "<a:r><a:t>⟨\t_x000B_⟩</a:t></a:r>",
    "half escapes": "<a:r><a:t>⟨_x000⟩</a:t></a:r>",
    "spaces": "<a:r><a:t>⟨a   b ⟩</a:t></a:r>",
    "paragraphs in it": "⟨<a:m><a:p>⟩⟨</a:p></a:m>⟩",
}
XLSX = {
    "runs": "<si>⟨<r><t>a</t></r>⟩</si>",
    "runs of two formats": "<si>⟨<r><t>a</t></r><r><rPr><b/></rPr><t>b</t></r>⟩</si>",
    "lines and escapes": "<si><t>⟨\n_x000D_⟩</t></si>",
    "underscores": "<si><t>⟨_x005F_⟩</t></si>",
    "strings": "⟨<si><t>a</t></si>⟩",
    "readings": "<si><t>a</t>⟨<rPh><t>a</t></rPh>⟩</si>",
}
ODS = {
    "cells": "⟨<table:table-cell><text:p>a</text:p></table:table-cell>⟩",
    "empty cells": "⟨<table:table-cell/>⟩",
    "deep frames": "<table:table-cell>⟨<text:f>⟩<text:p>a</text:p>⟨</text:f>⟩</table:table-cell>",
    "lines": "<table:table-cell>⟨<text:p>a</text:p>⟩</table:table-cell>",
}


OPEN_DOCUMENT = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in (("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"))
)
_DOCX_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override '
    'PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
    'wordprocessingml.document.main+xml"/></Types>'
)
PACKAGES: Mapping[str, Mapping[str, str]] = {
    "document.docx": {"[Content_Types].xml": _DOCX_TYPES, "word/document.xml": "{}"},
    "a.docx": {
        "[Content_Types].xml": _DOCX_TYPES,
        "word/document.xml": (f'<w:document xmlns:w="{WORD}"><w:body><w:p>{{}}</w:p></w:body></w:document>'),
    },
    "a.pptx": {
        "[Content_Types].xml": (
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Override PartName="/ppt/presentation.xml" ContentType="application/'
            'vnd.openxmlformats-officedocument.presentationml.presentation.main+xml"/>'
            '<Override PartName="/ppt/slides/slide1.xml" ContentType="application/'
            'vnd.openxmlformats-officedocument.presentationml.slide+xml"/></Types>'
        ),
        "ppt/presentation.xml": "<p:presentation xmlns:p='p'/>",
        "ppt/slides/slide1.xml": (
            "<p:sld xmlns:p='p' xmlns:a=\"http://schemas.openxmlformats.org/drawingml/2006/main\">"
            "<a:p>{}</a:p></p:sld>"
        ),
    },
    "a.xlsx": {
        "[Content_Types].xml": (
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Override PartName="/xl/workbook.xml" ContentType="application/'
            'vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>'
            '<Override PartName="/xl/sharedStrings.xml" ContentType="application/'
            'vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"/></Types>'
        ),
        "xl/workbook.xml": "<workbook/>",
        "xl/sharedStrings.xml": (
            '<sst xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">{}</sst>'
        ),
    },
    "a.odt": {
        "mimetype": "application/vnd.oasis.opendocument.text",
        "content.xml": f"<office:text {OPEN_DOCUMENT}>{{}}</office:text>",
    },
    "a.ods": {
        "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
        "content.xml": f"<office:spreadsheet {OPEN_DOCUMENT}>{{}}</office:spreadsheet>",
    },
}
"""Members of archives by the name of their file; the content of the pattern replaces `{}`."""
NUM_ROWS = 100


def pack(members: Mapping[str, str | bytes], compression: int = ZIP_DEFLATED) -> bytes:
    """Return a zip archive; a member `mimetype` is not compressed."""
    target = BytesIO()
    with ZipFile(target, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(ZipInfo(name) if name == "mimetype" else name, content)
    return target.getvalue()


def _repeated_rows(text: str) -> bytes:
    """Return a table whose only text, which is stored once, is in every row."""
    target = BytesIO()
    rows = pa.array([text] * NUM_ROWS).dictionary_encode()
    parquet.write_table(pa.table({"text": rows.cast(pa.string())}), target, compression="zstd")
    return target.getvalue()


PACK: Mapping[str, Callable[[str], bytes]] = {
    "a.txt.gz": lambda text: gzip.compress(text.encode(), mtime=0),
    "a.pdf": lambda contents: one_page(deflated(contents.encode())),
    "a.parquet": _repeated_rows,
}


@dataclass(frozen=True, slots=True)
class HostileFile:
    """A file that grows."""

    name: str
    title: str
    pattern: str

    def __str__(self) -> str:
        return f"{self.name} of {self.title}"

    def make(self, n: int) -> bytes:
        """Return the file with `n` repetitions."""
        content = repeat(self.pattern, n)
        if self.name not in PACKAGES:
            return PACK.get(self.name, str.encode)(content)
        return pack({name: frame.replace("{}", content) for name, frame in PACKAGES[self.name].items()})


def _hostile(name: str, patterns: Mapping[str, str], frame: str = "{}") -> list[HostileFile]:
    return [HostileFile(name, title, frame.replace("{}", pattern)) for title, pattern in patterns.items()]


def _runs(name: str, frame: str, runs: Iterable[str] = RUNS) -> list[HostileFile]:
    return _hostile(name, {f"runs of {run!r}": f"⟨{run}⟩" for run in runs}, frame)


BODY = '<xliff version="1.2"><file><body>{}</body></file></xliff>'
HOSTILE: tuple[HostileFile, ...] = (
    *_hostile("a.xliff", UNITS, BODY.format('<trans-unit id="1"><source>{}</source></trans-unit>')),
    *_hostile("a.xliff", BODIES, BODY),
    *_hostile("a.xliff", DOCUMENTS),
    *_hostile("a.po", PO_TEXTS),
    *_hostile("a.jsonl", JSON),
    *_hostile("a.csv", CSV),
    *(hostile for name, patterns in PATTERNS.items() for hostile in _hostile(name, patterns)),
    *_hostile("document.docx", DOCX_DOCUMENTS),
    *_hostile("a.docx", DOCX),
    *_hostile("a.odt", ODT, "<text:p>{}</text:p>"),
    *_hostile("a.pptx", PPTX),
    *_hostile("a.xlsx", XLSX),
    *_hostile("a.ods", ODS),
    *_runs("a.md", "a {}", RUNS + LINE_RUNS),
    *_runs("a.html", "<p>a {}"),
    *_runs(
        "a.srt", "1\n00:00:01,000 --> 00:00:02,000\n{}", (*RUNS, "a\n", "1\n00:00:01,000 --> 00:00:02,000\n")
    ),
    *_runs("a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n{}"),
    *_runs("a.txt", "{}", ("a", "a\n", " ", "\r")),
    *_runs("a.txt.gz", "{}", ("a", "ein Hund\n")),
    *_runs("a.pdf", "BT /F 1 Tf (Text) Tj ET {}", (" ", "BT /F 1 Tf (a) Tj ET ")),
    *_runs("a.parquet", "{}", ["ein Hund "]),
    *_runs("a.po", 'msgid "a{}"\nmsgstr ""\n', [run for run in RUNS if '"' not in run and "\\" not in run]),
)

BY_TITLE: Mapping[str, HostileFile] = {str(hostile): hostile for hostile in HOSTILE}


def _numbers(titles: Mapping[int, Sequence[str]]) -> Mapping[str, int]:
    return {title: n for n, several in titles.items() for title in several}


LARGE = _numbers(
    {
        2_000: ["a.xliff of nested namespaces"],
        20_000: [
            "a.xliff of namespaces of elements",
            "a.docx of runs",
            "a.xliff of default attributes",
            "a.md of runs of '[^'",
            "a.md of runs of '<!--'",
        ],
        200_000: [
            "a.xliff of a long namespace",
            "a.xliff of roots in a comment",
            "a.xliff of states",
            "a.po of placeholders",
        ],
        400_000: [
            "a.po of continuations",
            "a.po of comments",
            "a.po of obsolete continuations",
            "a.po of a long header",
        ],
        20_000_000: ["a.xliff of a long comment"],
    }
)
"""Numbers of repetitions by title: were the work of libraries in C quadratic, it would take hours."""
LINES = "a.txt.gz of runs of 'ein Hund\\n'"
BOMBS = _numbers(
    {
        20_000: ["document.docx of many namespaces"],
        100_000: ["a.parquet of runs of 'ein Hund '"],
        500_000: ["document.docx of paragraphs"],
        2_000_000: [LINES],
        2**26 // 21: ["a.pdf of runs of 'BT /F 1 Tf (a) Tj ET '"],
        2**26: ["document.docx of spaces", "a.txt.gz of runs of 'a'"],
        2**27: ["a.pdf of runs of ' '"],
    }
)
"""The same for files that may exceed a limit of the service."""
LARGE_TITLES = [*LARGE, *BOMBS, *PDFS]


@cache
def large_file(title: str) -> tuple[str, bytes]:
    """Return name and content of a file that loads send."""
    if title in PDFS:
        return "a.pdf", PDFS[title]()
    return BY_TITLE[title].name, BY_TITLE[title].make({**LARGE, **BOMBS}[title])
