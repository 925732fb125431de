"""Files that are made to cost their readers more than their size: each is made larger by a number."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from zipfile import ZIP_DEFLATED, ZipFile

Maker = Callable[[int], str]
XLIFF = '<xliff version="1.2"{}><file><body>{}</body></file></xliff>'
UNIT = '<trans-unit id="1"><source>{}</source></trans-unit>'
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
TEXT = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Override PartName="/d.xml" '
    'ContentType="application/x.document.main+xml"/></Types>'
)
CUE = "1\n00:00:01,000 --> 00:00:02,000\n"
PO = 'msgid "a"\nmsgstr ""\n\n'

RUNS = (
    *(
        "%0",
        "%",
        "%(a",
        "{",
        "{{",
        "{%",
        "#{a",
        "#{a.",
        "${a",
        "&",
        "&a",
        "&#9",
        "<",
        "<a",
        "</",
        "<a ",
        "<!--",
        "<!",
    ),
    *(
        "<?",
        "<![CDATA[",
        "[",
        "[^",
        "![",
        "]",
        "](",
        "*",
        "_",
        "**a ",
        "`",
        "`` ",
        "~~",
        "> ",
        "- ",
        "|",
        "\\",
    ),
    *(
        '"',
        "'",
        '""',
        "(",
        "-",
        "=",
        ".",
        "1",
        " ",
        "\t",
        "a",
        "\u00e4",
        "\u4e00",
        "#",
        "<b>",
        "<p>",
        "<b a='",
    ),
)
"""Written one after the other, in every format of plain text."""
LINE_RUNS = (
    "a\n",
    "> ",
    "- a\n",
    "* \n",
    "[a]: b\n",
    "| a |\n",
    "# a\n",
    "\n",
    "---\n",
    "a|b\n-|-\n",
    "<div>\n",
)


@dataclass(frozen=True, slots=True)
class Hostile:
    """A file that grows."""

    name: str
    make: Callable[[int], bytes]
    title: str

    def __str__(self) -> str:
        return f"{self.name} of {self.title}"


def _xml(inner: str, attributes: str = "") -> str:
    return XLIFF.format(attributes, inner)


XML: dict[str, Maker] = {
    "a long namespace": lambda n: _xml(UNIT.format("<x/>" * n), f' xmlns="{"n" * n}"'),
    "many namespaces": lambda n: _xml("".join(f'<x xmlns="u{i}"/>' for i in range(n))),
    "nested namespaces": lambda n: _xml("".join(f'<x xmlns:a{i}="u">' for i in range(n)) + "</x>" * n),
    "many attributes": lambda n: _xml("<x " + " ".join(f'a{i}=""' for i in range(n)) + "/>"),
    "attributes with a long prefix": lambda n: _xml(
        "<x " + " ".join(f'p:a{i}=""' for i in range(n)) + "/>", f' xmlns:p="{"n" * n}"'
    ),
    "many names": lambda n: _xml("".join(f"<x{i}/>" for i in range(n))),
    "a long name": lambda n: _xml(f"<{'x' * n}/>" * 10),
    "default attributes": lambda n: (
        ("<!DOCTYPE xliff [<!ATTLIST x " + "".join(f'a{i} CDATA "v" ' for i in range(n)) + ">]>")
        + _xml("<x/>" * n)
    ),
    "deep nesting": lambda n: _xml("<x>" * n + "</x>" * n),
    "deep nesting in a unit": lambda n: _xml(UNIT.format("<g>" * n + "</g>" * n)),
    "empty elements": lambda n: _xml(UNIT.format("a<x/>" * n)),
    "flat elements": lambda n: _xml(UNIT.format("<g>a</g>" * n)),
    "halves": lambda n: _xml(UNIT.format("<bpt id='1'/>" * n + "a" + "<ept id='1'/>" * n)),
    "spaces and points": lambda n: _xml(UNIT.format(" " * n + "a" + "<!---->" * n)),
    "references": lambda n: _xml(UNIT.format("a" + "&#10;" * n)),
    "a long reference": lambda n: _xml(UNIT.format(f"a&#{'0' * n}65;")),
    "a large reference": lambda n: _xml(UNIT.format(f"a&#{'9' * n};")),
    "a large hexadecimal reference": lambda n: _xml(UNIT.format(f"a&#x{'f' * n};")),
    "roots in a comment": lambda n: f"<!-- {'<xliff ' * n} -->" + _xml(UNIT.format("a")),
    "a long comment": lambda n: _xml(f"<!--{'a' * n}-->" + UNIT.format("a")),
    "an unclosed comment": lambda n: _xml("<!--" + "a" * n),
    "a long attribute": lambda n: _xml(f'<x a="{"<!" if n < 0 else "a" * n}"/>'),
    "sections": lambda n: _xml(UNIT.format("<![CDATA[a]]>" * n)),
    "units": lambda n: _xml(UNIT.format("a") * n),
    "states": lambda n: _xml(
        f"<trans-unit id='1'><source>a</source><target a='{' state=' * n}'/></trans-unit>"
    ),
}
PO_TEXTS: dict[str, Maker] = {
    "continuations": lambda n: 'msgid ""\n' + '"a"\n' * n + 'msgstr ""\n',
    "comments": lambda n: "# a\n" * n + PO,
    "extracted comments": lambda n: PO + "#. a\n" * n + PO,
    "obsolete continuations": lambda n: PO + '#~ msgid ""\n' + '#~ "a"\n' * n + '#~ msgstr "a"\n',
    "previous texts": lambda n: '#| msgid ""\n' + '#| "a"\n' * n + PO,
    "a long header": lambda n: 'msgid ""\nmsgstr ""\n' + '"a\\n"\n' * n + "\n" + PO,
    "a long plural": lambda n: (
        'msgid ""\nmsgstr "Plural-Forms: nplurals=2; plural=' + "(n+" * n + '"\n\n' + PO
    ),
    "a large index": lambda n: f'msgid "a"\nmsgid_plural "b"\nmsgstr[{"9" * n}] ""\n',
    "entries": lambda n: PO * n,
    "placeholders": lambda n: f'msgid "a%{"0" * n}"\nmsgstr ""\n',
    "escapes": lambda n: 'msgid "' + "\\\\" * n + '"\nmsgstr ""\n',
}
JSON: dict[str, Maker] = {
    "lists": lambda n: '{"text": ' + "[" * n + "]" * n + "}\n",
    "objects": lambda n: '{"text": "a", "b": ' + '{"a":' * n + "1" + "}" * n + "}\n",
    "keys": lambda n: '{"text": "a", ' + ", ".join(f'"k{i}": 1' for i in range(n)) + "}\n",
    "a long number": lambda n: '{"text": "a", "b": ' + "9" * n + "}\n",
    "spaces": lambda n: '{"text"' + " " * n + ': "a"}\n',
    "no end": lambda n: '{"text": "' + "\\u00e4" * n,
    "texts": lambda n: '{"text": [' + ", ".join(['"a"'] * n) + "]}\n",
}
CSV: dict[str, Maker] = {
    "quotes": lambda n: 'text\n"' + '""' * n + '"\n',
    "lines in a cell": lambda n: 'text\n"a' + "\n" * n + '"\n',
    "an unclosed cell": lambda n: 'text\n"a' + '""\n' * n,
    "columns": lambda n: "text" + ",a" * n + "\n" + "a" + ",a" * n + "\n",
}


def _archive(members: dict[str, str]) -> bytes:
    target = io.BytesIO()
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return target.getvalue()


def _docx(inner: str, attributes: str = "") -> bytes:
    body = f'<w:d xmlns:w="{WORD}"{attributes}><w:p>{inner}</w:p></w:d>'
    return _archive({"[Content_Types].xml": TYPES, "d.xml": body})


def _odt(inner: str) -> bytes:
    return _archive({"content.xml": f'<o xmlns:text="{TEXT}"><text:p>{inner}</text:p></o>'})


RUN = "<w:r><w:t>a</w:t></w:r>"
FIELD = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'
ARCHIVES = (
    Hostile("a.docx", lambda n: _docx(RUN * n), "runs"),
    Hostile("a.docx", lambda n: _docx(RUN + FIELD.format("begin") * n + FIELD.format("end") * n), "fields"),
    Hostile("a.docx", lambda n: _docx("<w:r/>" * n, f' xmlns="{"n" * n}"'), "a long namespace"),
    Hostile("a.docx", lambda n: _docx(RUN + "<w:hyperlink>" * n + "</w:hyperlink>" * n), "deep links"),
    Hostile(
        "a.docx", lambda n: _docx(("<w:r><w:p>" * 10 + RUN + "</w:p></w:r>" * 10) * n), "paragraphs in it"
    ),
    Hostile("a.odt", lambda n: _odt("a<text:span/>" * n), "spans"),
    Hostile("a.odt", lambda n: _odt("a<text:s text:c='9'/>" * n), "spaces"),
    Hostile("a.odt", lambda n: _odt(f"a<text:s text:c='{'9' * n}'/>"), "many spaces"),
)


def _texts(name: str, makers: dict[str, Maker]) -> list[Hostile]:
    return [Hostile(name, lambda n, make=make: make(n).encode(), title) for title, make in makers.items()]  # type: ignore[misc]


def _runs(name: str, before: str, runs: tuple[str, ...]) -> list[Hostile]:
    return [
        Hostile(name, lambda n, run=run: (before + run * n).encode(), f"runs of {run!r}")  # type: ignore[misc]
        for run in runs
    ]


HOSTILE: tuple[Hostile, ...] = (
    *_texts("a.xliff", XML),
    *_texts("a.po", PO_TEXTS),
    *_texts("a.jsonl", JSON),
    *_texts("a.csv", CSV),
    *ARCHIVES,
    *_runs("a.md", "a ", RUNS + LINE_RUNS),
    *_runs("a.html", "<p>a ", RUNS),
    *_runs("a.srt", CUE, (*RUNS, "a\n", CUE)),
    *_runs("a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n", RUNS),
    *_runs("a.txt", "", ("a", "a\n", " ", "\r")),
    *[
        Hostile("a.po", lambda n, run=run: f'msgid "a{run * n}"\nmsgstr ""\n'.encode(), f"a text of {run!r}")  # type: ignore[misc]
        for run in RUNS
        if '"' not in run and "\\" not in run
    ],
)
