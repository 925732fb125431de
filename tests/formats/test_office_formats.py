# ruff: noqa: E501 -- markup is read more easily unbroken
"""Presentations and spreadsheets, put together by hand."""

from collections.abc import Callable, Mapping
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from service.formats.entries import FileFormat, FileFormatError
from service.formats.ods import OdsFormat
from service.formats.pptx import PptxFormat
from service.formats.registry import open_format
from service.formats.xlsx import MAX_CELL_CHARACTERS, XlsxFormat
from tests.formats.rewriting import (
    OPTIONS,
    anything,
    entries,
    others,
    own,
    pack,
    places,
    rewritten,
    shouted,
    texts,
    unpack,
)  # fmt: skip
from tests.fuzz.seeds import FILES, ODP_MEMBERS, ODS_MEMBERS, PPTX_MEMBERS, XLSX_MEMBERS, content_types
from tests.markup.translations import SEEDS

PPTX, XLSX, ODS = PptxFormat(OPTIONS), XlsxFormat(OPTIONS), OdsFormat(OPTIONS)
SLIDE, STRINGS, CONTENT = "ppt/slides/slide1.xml", "xl/sharedStrings.xml", "content.xml"
SHEET = "xl/worksheets/sheet1.xml"
A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
X = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'


Maker = Callable[[str], bytes]


def slide(paragraph: str) -> bytes:
    return pack({**PPTX_MEMBERS, SLIDE: f"<p:sld xmlns:p='p' {A}><a:p>{paragraph}</a:p></p:sld>"})


def strings(inner: str) -> bytes:
    return pack({**XLSX_MEMBERS, STRINGS: f"<sst {X}><si>{inner}</si></sst>"})


def cells(inner: str) -> bytes:
    names = " ".join(
        f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
        for prefix, name in (("office", "office"), ("text", "text"), ("table", "table"), ("draw", "drawing"))
    )
    return pack({**ODS_MEMBERS, CONTENT: f"<office:spreadsheet {names}>{inner}</office:spreadsheet>"})


def only(file_format: FileFormat, content: bytes, member: str) -> list[str]:
    """Texts of the member that the other functions make."""
    before = "" if member == CONTENT else f"{member}, "
    return [
        text
        for text, place in places(file_format, content)
        if place.startswith(before) and "styles" not in place
    ]


def change(file_format: FileFormat, content: bytes, member: str) -> str:
    """The member with its texts in capitals."""
    return unpack(rewritten(file_format, content, shouted))[member].decode()


def run(text: str, properties: str = "") -> str:
    return f"<a:r>{properties}<a:t>{text}</a:t></a:r>"


BOLD = '<a:rPr b="1"/>'
PARAGRAPHS: Mapping[str, tuple[str, list[str], str | None]] = {
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
CELL_STRINGS: Mapping[str, tuple[str, list[str], str | None]] = {
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
    "spaces that align words stay": (TEXT.format("a     b"), ["a <?p 0?>b"], TEXT.format("A     B")),
}


@pytest.mark.parametrize(
    "cell", ["<t>Umsatz in Euro</t>", "<t>Umsatz in\nEuro</t>", "<r><t>Umsatz in</t></r><r><t> Euro</t></r>"]
)
def test_a_cell_that_names_a_tables_column_stays_as_formulas_and_excel_compare_it(cell: str) -> None:
    table = f'<table {X}><tableColumn name="Umsatz in_x000A_Euro"/></table>'
    members = unpack(strings(cell)) | {"xl/tables/table1.xml": table.encode()}

    assert only(XLSX, pack(members), STRINGS) == []
    assert change(XLSX, pack(members), STRINGS) == members[STRINGS].decode()


@pytest.mark.parametrize(
    "formula",
    [
        '<x:formula1>"Ja, Nein ,Viel &amp;leicht"</x:formula1>',
        '<x14:formula1><xm:f>"Nein,Ja,Viel &amp;leicht"</xm:f></x14:formula1>',
    ],
)
def test_a_cell_that_holds_an_item_of_a_drop_down_list_stays_as_the_list_does(formula: str) -> None:
    """Another value would be none that the list allows."""
    name = "x14:dataValidation" if "x14:" in formula else "x:dataValidation"
    sheet = (
        f'<worksheet {X} xmlns:x="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
        'xmlns:x14="http://schemas.microsoft.com/office/spreadsheetml/2009/9/main" '
        'xmlns:xm="http://schemas.microsoft.com/office/excel/2006/main">'
        f'<{name} type="list" sqref="A1">{formula}</{name}></worksheet>'
    )
    cells = "<t>Nein</t>", "<t>Viel &amp;leicht</t>", "<t>Neinsager</t>"
    found = [only(XLSX, pack(unpack(strings(cell)) | {SHEET: sheet.encode()}), STRINGS) for cell in cells]

    assert found == [[], [], ["Neinsager"]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_texts_that_a_sheet_holds_itself_are_read_in_any_encoding(encoding: str) -> None:
    before = "x" * ((1 << 16) - 100)  # the end of a chunk falls into `inlineStr`
    for i in range(12):
        sheet = f"<worksheet {X}><!--{before}{'x' * i}--><c t='inlineStr'><is><t>Ä</t></is></c></worksheet>"
        content = pack({**XLSX_MEMBERS, SHEET: sheet.encode(encoding)})

        assert only(XLSX, content, SHEET) == ["Ä"]


def test_sheets_without_texts_of_their_own_are_not_parsed() -> None:
    content = pack({**XLSX_MEMBERS, SHEET: b"<worksheet><c><v>1"})

    assert only(XLSX, content, SHEET) == []
    assert unpack(rewritten(XLSX, content, shouted))[SHEET] == b"<worksheet><c><v>1"


def test_a_translation_that_looks_like_an_escape_is_written_as_text() -> None:
    content = strings("<t>Wort</t>")

    result = rewritten(XLSX, content, lambda _: "_x0041_ < a")

    assert TEXT.format("_x005F_x0041_ &lt; a") in unpack(result)[STRINGS].decode()
    assert "_x0041_ < a" in texts(XLSX, result)


def test_a_text_that_excel_cannot_hold_is_an_error_with_its_place_and_the_limit() -> None:
    content = strings("<t>Wort</t>")
    long = "x" * (MAX_CELL_CHARACTERS - 1)

    rewritten(XLSX, content, lambda _: f"{long}x")
    with pytest.raises(FileFormatError, match=r"sharedStrings.xml, string 1: .*32,768 .*limit .* 32,767"):
        rewritten(XLSX, content, lambda _: f"{long}\U0001f600")  # two characters in UTF-16


STRING = "office:value-type='string'"
CELLS: Mapping[str, tuple[str, list[str], str | None]] = {
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


RULES: Mapping[str, tuple[FileFormat, Maker, str, Mapping[str, tuple[str, list[str], str | None]]]] = {
    "slides": (PPTX, slide, SLIDE, PARAGRAPHS),
    "workbooks": (XLSX, strings, STRINGS, CELL_STRINGS),
    "OpenDocument": (ODS, cells, CONTENT, CELLS),
}


@pytest.mark.parametrize(("where", "rule"), [(where, rule) for where in RULES for rule in RULES[where][3]])
def test_texts_are_read_and_all_else_stays(where: str, rule: str) -> None:
    file_format, make, member, rules = RULES[where]
    inner, found, changed = rules[rule]
    content = make(inner)

    assert only(file_format, content, member) == found
    assert change(file_format, content, member) == unpack(make(changed or inner))[member].decode()


EXPECTED = {
    ".pptx": {
        SLIDE: ['Ein <g i="0">fetter</g><br i="2"/>Satz', 'von <?p 0?>mir<x i="1"/>'],
        "ppt/notesSlides/notesSlide1.xml": ["Notiz"],
    },
    ".xlsx": {
        STRINGS: ['Zeile<br i="0"/>zwei', 'Ein <g i="0">fetter</g> Satz'],
        "xl/worksheets/sheet1.xml": ["Hier"],
        "xl/drawings/drawing1.xml": ["Kasten"],
    },
    ".odp": {CONTENT: ["Fuss", 'Ein <g i="0">fetter</g> Satz', "Notiz"]},
    ".ods": {CONTENT: ["Wort"], "styles.xml": ["Kopf"]},
}
"""Texts by member, in reading order."""


@pytest.mark.parametrize("suffix", EXPECTED)
def test_only_members_with_text_change_and_the_texts_own_change_nothing(suffix: str) -> None:
    file_format, content = open_format(f"a{suffix}", OPTIONS), FILES[suffix][0]
    before, after = unpack(content), unpack(rewritten(file_format, content, shouted))

    assert texts(file_format, content) == [text for found in EXPECTED[suffix].values() for text in found]
    assert unpack(rewritten(file_format, content, own)) == before
    assert {name for name in before if before[name] != after[name]} == set(EXPECTED[suffix])


def test_slides_are_read_in_the_order_of_their_numbers() -> None:
    types = content_types(
        ppt__presentation="presentationml.presentation.main",
        ppt__slides__slide10="presentationml.slide",
        ppt__slides__slide9="presentationml.slide",
        ppt__charts__chart1="drawingml.chart",
    )
    parts = {
        f"ppt/{name}.xml": f"<x {A}><a:p>{run(name)}</a:p></x>"
        for name in ("charts/chart1", "slides/slide10", "slides/slide9")
    }
    content = pack({**PPTX_MEMBERS, **parts, "[Content_Types].xml": types})  # fmt: skip

    assert texts(PPTX, content) == ["slides/slide9", "slides/slide10", "charts/chart1"]


def _pieces(*pieces: str) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(pieces), max_size=10).map("".join)


FORMATS: Mapping[str, tuple[FileFormat, Maker, str, st.SearchStrategy[str]]] = {
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


@pytest.mark.parametrize("what", FORMATS)
@settings(max_examples=60)
@given(data=st.data(), random=SEEDS)
def test_for_any_translation_everything_but_text_is_unchanged(
    what: str, data: st.DataObject, random: Random
) -> None:
    file_format, make, member, inner = FORMATS[what]
    content = make(data.draw(inner))

    assert unpack(rewritten(file_format, content, own)) == unpack(content)
    result = unpack(rewritten(file_format, content, anything(random)))
    assert others(result[member]) == others(unpack(content)[member])


@pytest.mark.parametrize(
    ("name", "members", "problem"),
    [
        ("a.pptx", XLSX_MEMBERS, "contains no presentation; save it as .pptx"),
        ("a.xlsx", PPTX_MEMBERS, "contains no workbook; save it as .xlsx"),
        ("a.pptx", {"a": b""}, r"not a PowerPoint presentation: \[Content_Types\].xml is missing"),
        ("a.xlsx", {name: said for name, said in XLSX_MEMBERS.items() if name != STRINGS}, "'xl/sharedStrings.xml' is missing"),
        ("a.odp", {"a": b""}, "not an OpenDocument presentation: its member 'content.xml' is missing"),
        ("a.ods", {"a": b""}, "not an OpenDocument spreadsheet: its member 'content.xml' is missing"),
        ("a.pptx", {**PPTX_MEMBERS, SLIDE: b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'}, "document type"),
        ("a.xlsx", {**XLSX_MEMBERS, STRINGS: b"<sst><si>"}, "not well-formed"),
        ("a.ods", {**ODS_MEMBERS, "META-INF/manifest.xml": b'<m xmlns="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><encryption-data/></m>'}, "it is encrypted"),
        ("a.odp", {**ODP_MEMBERS, CONTENT: b"<a>"}, "not well-formed"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_rejected(name: str, members: Mapping[str, bytes], problem: str) -> None:
    with pytest.raises(FileFormatError, match=problem):
        entries(open_format(name, OPTIONS), pack(members))


@pytest.mark.parametrize("suffix", [".docx", ".pptx", ".xlsx", ".ods"])
def test_a_file_with_a_password_is_rejected_with_what_to_do(suffix: str) -> None:
    compound_file = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(504)

    with pytest.raises(
        FileFormatError, match=r"encrypted, or in an old binary format.*; save it without a password"
    ):
        entries(open_format(f"a{suffix}", OPTIONS), compound_file)
