# ruff: noqa: E501 -- markup is read more easily unbroken
"""Members of office files, put together by hand: what their texts are, and what becomes of them in capitals."""

from collections.abc import Callable, Mapping

from hypothesis import strategies as st

from bench.hostile.files import OPEN_DOCUMENT, pack
from service.formats.docx import DocxFormat
from service.formats.entries import FileFormat
from service.formats.opendocument import OdsFormat, OdtFormat
from service.formats.pptx import PptxFormat
from service.formats.xlsx import XlsxFormat
from tests.formats.fuzz.seeds import ODS_MEMBERS, ODT_MEMBERS, PPTX_MEMBERS, XLSX_MEMBERS
from tests.formats.rewriting import OPTIONS
from tests.formats.test_docx import BOX, with_paragraph

Maker = Callable[[str], bytes]
Rules = Mapping[str, tuple[str, list[str], str | None]]
"""Inside of a member, its texts, and the same in capitals; None: it stays."""
PPTX, XLSX, ODS, ODT = PptxFormat(OPTIONS), XlsxFormat(OPTIONS), OdsFormat(OPTIONS), OdtFormat(OPTIONS)
SLIDE, STRINGS, CONTENT = "ppt/slides/slide1.xml", "xl/sharedStrings.xml", "content.xml"

A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'

X = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


def slide(paragraph: str) -> bytes:
    return pack({**PPTX_MEMBERS, SLIDE: f"<p:sld xmlns:p='p' {A}><a:p>{paragraph}</a:p></p:sld>"})


def shared_strings(inner: str) -> bytes:
    return pack({**XLSX_MEMBERS, STRINGS: f"<sst {X}>{inner}</sst>"})


def strings(inner: str) -> bytes:
    return shared_strings(f"<si>{inner}</si>")


def cells(inner: str) -> bytes:
    return pack({**ODS_MEMBERS, CONTENT: f"<office:spreadsheet {OPEN_DOCUMENT}>{inner}</office:spreadsheet>"})


def text(inner: str, member: str = CONTENT) -> bytes:
    return pack({**ODT_MEMBERS, member: f"<office:text {OPEN_DOCUMENT}>{inner}</office:text>"})


def run(text: str, properties: str = "") -> str:
    return f"<a:r>{properties}<a:t>{text}</a:t></a:r>"


BOLD = '<a:rPr b="1"/>'

PARAGRAPHS: Rules = {
    "runs that only an editor parted are one text": (
        run("Hal", '<a:rPr lang="de-DE" dirty="0" err="1"/>') + run("lo Welt", "<a:rPr lang='de-AT'></a:rPr>"),
        ["Hallo Welt"],
        run("HALLO WELT"),
    ),
    "properties that are seen stay, those of the old text go": (
        "<a:pPr/>" + run("Ein ganz ") + run("fetter", '<a:rPr lang="de" b="1"><a:latin typeface="x"/></a:rPr>') + '<a:endParaRPr lang="de"/>',
        ['Ein ganz <g i="0">fetter</g>'],
        "<a:pPr/>" + run("EIN GANZ ") + run("FETTER", '<a:rPr b="1"><a:latin typeface="x"/></a:rPr>') + '<a:endParaRPr lang="de"/>',
    ),
    "text between tabs is translated apart": (
        run("Name:\tAlter", BOLD),
        ["Name:", "Alter"],
        run("NAME:", BOLD) + run("\t", BOLD) + run("ALTER", BOLD),
    ),
    "line breaks stay": (
        run("eins") + "<a:br><a:rPr/></a:br>" + run("zwei"),
        ['eins<br i="0"/>zwei'],
        run("EINS") + "<a:br><a:rPr/></a:br>" + run("ZWEI"),
    ),
    "fields that are filled in stay": (
        run("Seite ") + '<a:fld id="{1}" type="slidenum"><a:rPr lang="de"/><a:t>neun</a:t></a:fld>' + run(" von vielen"),
        ['Seite <x i="0"/> von vielen'],
        run("SEITE ") + '<a:fld id="{1}" type="slidenum"><a:rPr lang="de"/><a:t>neun</a:t></a:fld>' + run(" VON VIELEN"),
    ),
    "links keep their target": (
        run("Siehe ") + run("hier", '<a:rPr><a:hlinkClick r:id="1" xmlns:r="r"/></a:rPr>'),
        ['Siehe <g i="0">hier</g>'],
        run("SIEHE ") + run("HIER", '<a:rPr><a:hlinkClick r:id="1" xmlns:r="r"/></a:rPr>'),
    ),
    "an attribute in an attribute is none": (
        run("Wort", """<a:rPr bmk=' lang="x"' lang="de"/>"""),
        ["Wort"],
        run("WORT", """<a:rPr bmk=' lang="x"'/>"""),
    ),
    "formulas and characters written as numbers stay": (
        run("a_x000B_b") + '<m:m xmlns:m="m">x</m:m>' + run("c"),
        ['a<?p 0?>b<x i="1"/>c'],
        run("A") + run("_x000B_") + run("B") + '<m:m xmlns:m="m">x</m:m>' + run("C"),
    ),
    "without text there is nothing to translate": ("<a:pPr/>" + run(" ") + "<a:endParaRPr/>", [], None),
}  # fmt: skip

TEXT = '<t xml:space="preserve">{}</t>'

CELL_STRINGS: Rules = {
    "a plain string stays plain": ("<t>Wort</t>", ["Wort"], TEXT.format("WORT")),
    "lines of a cell stay lines": ("<t>eins\nzwei</t>", ['eins<br i="0"/>zwei'], TEXT.format("EINS\nZWEI")),
    "formats stay with their words": (
        f"<r>{TEXT.format('Ein ganz ')}</r><r><rPr><b/></rPr><t>fetter</t></r>",
        ['Ein ganz <g i="0">fetter</g>'],
        f"<r>{TEXT.format('EIN GANZ ')}</r><r><rPr><b/></rPr>{TEXT.format('FETTER')}</r>",
    ),
    "characters written as numbers stay": (
        "<t>a_x000D_\nb</t>",
        ['a<?p 0?><br i="1"/>b'],
        TEXT.format("A_x000D_\nB"),
    ),
    "an escaped underscore is one": ("<t>a_x005F_x0041_</t>", ["a_x0041_"], TEXT.format("A_X0041_")),
    "readings of the old text go, their settings stay": (
        '<t>Wort</t><rPh sb="0" eb="4"><t>lesen</t></rPh><phoneticPr fontId="1"/>',
        ["Wort"],
        TEXT.format("WORT") + '<phoneticPr fontId="1"/>',
    ),
    "spaces at the edges stay": (TEXT.format("  Wort "), ["Wort"], TEXT.format("  WORT ")),
    "spaces that align words stay": (TEXT.format("a     b"), ["a", "b"], TEXT.format("A     B")),
}

STRING = "office:value-type='string'"

CELLS: Rules = {
    "text": (
        f"<table:table-cell {STRING}><text:p>eins</text:p><text:p>zwei</text:p></table:table-cell>",
        ["eins", "zwei"],
        f"<table:table-cell {STRING}><text:p>EINS</text:p><text:p>ZWEI</text:p></table:table-cell>",
    ),
    "the copy of a value goes with the value": (
        f"<table:table-cell office:string-value='Wort' {STRING}><text:p>Wort</text:p></table:table-cell>",
        ["Wort"],
        f"<table:table-cell {STRING}><text:p>WORT</text:p></table:table-cell>",
    ),
    "numbers stay": (
        "<table:table-cell office:value-type='date' office:date-value='2020-01-01'><text:p>1. Januar</text:p></table:table-cell>",
        [],
        None,
    ),
    "results of formulas stay": (
        f"<table:table-cell table:formula='of:=[.A1]' {STRING}><text:p>Wort</text:p></table:table-cell>",
        [],
        None,
    ),
    "a text box on a number is text": (
        "<table:table-cell office:value-type='float' office:value='1'><draw:frame><text:p>Kasten</text:p></draw:frame><text:p>ein</text:p></table:table-cell>",
        ["Kasten"],
        "<table:table-cell office:value-type='float' office:value='1'><draw:frame><text:p>KASTEN</text:p></draw:frame><text:p>ein</text:p></table:table-cell>",
    ),
    "comments stay": (
        f"<table:table-cell {STRING}><office:annotation><text:p>nein</text:p></office:annotation><text:p>ja</text:p></table:table-cell>",
        ["ja"],
        f"<table:table-cell {STRING}><office:annotation><text:p>nein</text:p></office:annotation><text:p>JA</text:p></table:table-cell>",
    ),
    "covered cells and shapes of a sheet are read": (
        "<table:shapes><text:p>Form</text:p></table:shapes><table:covered-table-cell><text:p>da</text:p></table:covered-table-cell>",
        ["Form", "da"],
        "<table:shapes><text:p>FORM</text:p></table:shapes><table:covered-table-cell><text:p>DA</text:p></table:covered-table-cell>",
    ),
    "old content and copies of other files stay": (
        f"<table:tracked-changes><table:table-cell {STRING}><text:p>alt</text:p></table:table-cell></table:tracked-changes><table:dde-link><table:table-cell {STRING}><text:p>fern</text:p></table:table-cell></table:dde-link>",
        [],
        None,
    ),
}  # fmt: skip

TEXTS: Rules = {
    "headings are texts": ("<text:h>Titel</text:h><text:p/>", ["Titel"], "<text:h>TITEL</text:h><text:p/>"),
    "spans stay around their words": (
        "<text:p text:style-name='a'>Ein <text:span text:style-name='T1'>fetter</text:span> Satz.</text:p>",
        ['Ein <g i="0">fetter</g> Satz.'],
        "<text:p text:style-name='a'>EIN <text:span text:style-name='T1'>FETTER</text:span> SATZ.</text:p>",
    ),
    "tab stops part texts and line breaks do not": (
        "<text:p>a\n b c<text:tab/>d<text:line-break/>e</text:p>",
        ["a b c", 'd<br i="0"/>e'],
        "<text:p>A B C<text:tab/>D<text:line-break/>E</text:p>",
    ),
    "spaces in a row are one and stay": (
        "<text:p><text:s text:c='4'/>a <text:s text:c='2'/>b<text:s/>c<text:span>d <text:s/></text:span>e</text:p>",
        ['a <?p 0?>b c<g i="1">d <?p 2?></g>e'],
        "<text:p><text:s text:c='4'/>A <text:s text:c='2'/>B C<text:span>D <text:s/></text:span>E</text:p>",
    ),
    "some spaces are before a break": (
        "<text:p>a<text:s text:c='3'/>b <text:line-break/><text:s text:c='2'/>c</text:p>",
        ['a <?p 0?>b <br i="1"/><?p 2?>c'],
        "<text:p>A <text:s text:c=\"2\"/>B <text:line-break/><text:s text:c='2'/>C</text:p>",
    ),
    "a note is a text of its own": (
        (
            "<text:p>Wort<text:note text:id='1'><text:note-citation>1</text:note-citation><text:note-body>"
            "<text:p>Anmerkung</text:p></text:note-body></text:note>!</text:p>"
        ),
        ["Wort<?p 0?>!", "Anmerkung"],
        (
            "<text:p>WORT<text:note text:id='1'><text:note-citation>1</text:note-citation><text:note-body>"
            "<text:p>ANMERKUNG</text:p></text:note-body></text:note>!</text:p>"
        ),
    ),
    "old content and comments stay": (
        (
            "<text:tracked-changes><text:p>alt</text:p></text:tracked-changes><text:p>neu<office:annotation>"
            "<text:p>Kommentar</text:p></office:annotation></text:p>"
        ),
        ["neu"],
        (
            "<text:tracked-changes><text:p>alt</text:p></text:tracked-changes><text:p>NEU<office:annotation>"
            "<text:p>Kommentar</text:p></office:annotation></text:p>"
        ),
    ),
    "bookmarks stay around their words": (
        "<text:p>a <text:bookmark-start text:name='m'/>b<text:bookmark-end text:name='m'/> c</text:p>",
        ['a <g i="0">b</g> c'],
        "<text:p>A <text:bookmark-start text:name='m'/>B<text:bookmark-end text:name='m'/> C</text:p>",
    ),
    "a bookmark may be named like a mark of spaces": (
        "<text:p>a<text:bookmark-start text:name='spaces:x'/>b<text:bookmark-end text:name='spaces:x'/></text:p>",
        ['a<g i="0">b</g>'],
        "<text:p>A<text:bookmark-start text:name='spaces:x'/>B<text:bookmark-end text:name='spaces:x'/></text:p>",
    ),
}  # fmt: skip
RULES: Mapping[str, tuple[FileFormat, Maker, str, Rules]] = {
    "slides": (PPTX, slide, SLIDE, PARAGRAPHS),
    "workbooks": (XLSX, strings, STRINGS, CELL_STRINGS),
    "OpenDocument sheets": (ODS, cells, CONTENT, CELLS),
    "OpenDocument texts": (ODT, text, CONTENT, TEXTS),
}


def _pieces(*pieces: str) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(pieces), max_size=10).map("".join)


FORMATS: Mapping[str, tuple[FileFormat, Maker, str, st.SearchStrategy[str]]] = {
    "paragraphs": (DocxFormat(OPTIONS), with_paragraph, "word/document.xml", st.lists(
    st.sampled_from(
        [
            "<w:r><w:t>Wort</w:t></w:r>",
            '<w:r><w:t xml:space="preserve"> zwei &amp; drei </w:t></w:r>',
            '<w:r><w:rPr><w:b/></w:rPr><w:t xml:space="preserve">fett </w:t></w:r>',
            '<w:r><w:rPr><w:i/></w:rPr><w:t xml:space="preserve"> </w:t><w:br/></w:r>',
            "<w:r><w:tab/><w:t>x</w:t></w:r>",
            '<w:bookmarkStart w:id="1" w:name="a"/>',
            '<w:bookmarkEnd w:id="1"/>',
            '<w:hyperlink w:anchor="b"><w:r><w:t>Link</w:t><w:tab/></w:r><w:r><w:t>da</w:t></w:r></w:hyperlink>',
            '<w:r><w:fldChar w:fldCharType="begin"/></w:r>',
            "<w:r><w:instrText>HYPERLINK x</w:instrText></w:r>",
            '<w:r><w:fldChar w:fldCharType="separate"/></w:r>',
            '<w:r><w:fldChar w:fldCharType="end"/></w:r>',
            '<w:ins w:id="3"><w:r><w:t>neu</w:t></w:r></w:ins>',
            '<w:sdt><w:sdtPr><w:id w:val="1"/></w:sdtPr><w:sdtContent><w:r><w:t>Feld</w:t></w:r></w:sdtContent></w:sdt>',
            "<!-- Anmerkung -->",
            "<w:r/>",
            BOX,
        ]
    ),
    max_size=12,
).map("".join)),
    "texts": (ODT, text, CONTENT, st.lists(
    st.sampled_from(
        [
            "Wort", " ", "\n", "&lt;", "<text:s/>", "<text:s text:c='4'/>", "<text:tab/>", "<text:line-break/>",
            "<text:span>fett</text:span>", "<text:span>a<text:tab/>b</text:span>", "<text:a>a<text:tab/>b</text:a>", "<text:a>l<text:s/></text:a>",
            "<text:bookmark-start text:name='a'/>", "<text:bookmark-end text:name='a'/>", "<!-- c -->",
            "<text:note><text:p>Note</text:p></text:note>", "<text:page-number>7</text:page-number>",
            "<draw:frame text:anchor-type='char'><draw:text-box><text:p>Kasten</text:p></draw:text-box></draw:frame>",
        ]
    ),
    max_size=10,
).map("".join).map("<text:p>{}</text:p>".format)),
    "slides": (PPTX, slide, SLIDE, _pieces(
        run("Wort"), run(" zwei &amp; drei "), run("fett ", BOLD), run(" ", '<a:rPr u="sng"/>'), run("a\tb", BOLD), "<a:br/>",
        run("a    b_x000B_"), '<a:fld id="{1}" type="slidenum"><a:t>1</a:t></a:fld>', "<!-- Anmerkung -->", "<a:r><a:t/></a:r>",
        "\n", run("<![CDATA[<]]>"), '<m:m xmlns:m="m"><a:p><a:r><a:t>innen</a:t></a:r></a:p></m:m>',
    )),
    "plain strings": (XLSX, strings, STRINGS, _pieces("Wort", " ", "\n", "\t", "&lt;", "_x000D_", "_x005F_", "   ").map("<t>{}</t>".format)),
    "rich strings": (XLSX, strings, STRINGS, _pieces(
        "<r><t>Wort</t></r>", "<r><rPr><b/></rPr><t> fett\n</t></r>", "<r><rPr><u/></rPr><t> </t></r>", "<r><t>a\tb    c</t></r>", "<!-- x -->",
    )),
    "cells": (ODS, cells, CONTENT, _pieces(
        "<text:p>Wort</text:p>", "<text:p>a<text:tab/>b<text:s text:c='4'/></text:p>", "<text:p/>", "<draw:frame><text:p>K</text:p></draw:frame>",
        "<office:annotation><text:p>Note</text:p></office:annotation>", "\n", "<!-- x -->", "<text:p>a<text:span>b</text:span></text:p>",
    ).flatmap(lambda inner: st.sampled_from([STRING, "office:value-type='float'", "", f"{STRING} office:string-value='a'", f"table:formula='a' {STRING}"]).map(
        lambda kind: f"<table:table-cell {kind}>{inner}</table:table-cell>"
    ))),
}  # fmt: skip
