"""Files that are made to cost their readers more than their size: each is a pattern that grows.

In a pattern, the text between ⟨ and ⟩ is repeated; № in it is the number of the repetition.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tests.formats.hostile_strings import PATTERNS
from tests.formats.office_rules import cells, shared_strings, slide, text
from tests.formats.test_docx import with_paragraph

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


PACK: Mapping[str, Callable[[str], bytes]] = {
    "a.docx": with_paragraph,
    "a.odt": lambda xml: text(f"<text:p>{xml}</text:p>"),
    "a.ods": cells,
    "a.pptx": slide,
    "a.xlsx": shared_strings,
}


@dataclass(frozen=True, slots=True)
class Hostile:
    """A file that grows."""

    name: str
    title: str
    pattern: str

    def __str__(self) -> str:
        return f"{self.name} of {self.title}"

    def make(self, n: int) -> bytes:
        """The file with as many repetitions."""

        def repeat(part: re.Match[str]) -> str:
            return "".join(part[1].replace("№", str(i)) for i in range(n)) if "№" in part[1] else part[1] * n

        return PACK.get(self.name, str.encode)(re.sub("⟨(.*?)⟩", repeat, self.pattern, flags=re.DOTALL))


def _hostile(name: str, patterns: Mapping[str, str], frame: str = "{}") -> list[Hostile]:
    return [Hostile(name, title, frame.replace("{}", pattern)) for title, pattern in patterns.items()]


def _runs(name: str, frame: str, runs: Iterable[str] = RUNS) -> list[Hostile]:
    return _hostile(name, {f"runs of {run!r}": f"⟨{run}⟩" for run in runs}, frame)


BODY = '<xliff version="1.2"><file><body>{}</body></file></xliff>'
HOSTILE: tuple[Hostile, ...] = (
    *_hostile("a.xliff", UNITS, BODY.format('<trans-unit id="1"><source>{}</source></trans-unit>')),
    *_hostile("a.xliff", BODIES, BODY),
    *_hostile("a.xliff", DOCUMENTS),
    *_hostile("a.po", PO_TEXTS),
    *_hostile("a.jsonl", JSON),
    *_hostile("a.csv", CSV),
    *(hostile for name, patterns in PATTERNS.items() for hostile in _hostile(name, patterns)),
    *_hostile("a.docx", DOCX),
    *_hostile("a.odt", ODT),
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
    *_runs("a.po", 'msgid "a{}"\nmsgstr ""\n', [run for run in RUNS if '"' not in run and "\\" not in run]),
)
