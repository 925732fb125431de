"""Documents of office programs, put together by hand or written by those programs."""

from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from bench.hostile.files import pack
from service.formats.entries import Entry, FileFormat, FileFormatError, TargetText
from service.formats.registry import open_format
from service.formats.xlsx import MAX_CELL_CHARACTERS
from service.text.marked_text import MarkedText
from tests.formats import office_rules as rules
from tests.formats.fuzz.seeds import FILES, PPTX_MEMBERS, XLSX_MEMBERS, content_types
from tests.formats.office_rules import CONTENT, PPTX, SLIDE, STRINGS, XLSX
from tests.formats.rewriting import (
    OPTIONS,
    anything,
    entries,
    others,
    own,
    places,
    rewritten,
    shouted,
    target_text,
    texts,
    unpack,
)
from tests.text.markup.marked import SEEDS, noted

SHEET = "xl/worksheets/sheet1.xml"


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


@pytest.mark.parametrize(
    "cell", ["<t>Umsatz in Euro</t>", "<t>Umsatz in\nEuro</t>", "<r><t>Umsatz in</t></r><r><t> Euro</t></r>"]
)
def test_a_cell_that_names_a_tables_column_stays_as_formulas_and_excel_compare_it(cell: str) -> None:
    table = f'<table {rules.X}><tableColumn name="Umsatz in_x000A_Euro"/></table>'
    members = unpack(rules.strings(cell)) | {"xl/tables/table1.xml": table.encode()}

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
        f'<worksheet {rules.X} xmlns:x="http://schemas.openxmlformats.org/spreadsheetml/2006/main" '
        'xmlns:x14="http://schemas.microsoft.com/office/spreadsheetml/2009/9/main" '
        'xmlns:xm="http://schemas.microsoft.com/office/excel/2006/main">'
        f'<{name} type="list" sqref="A1">{formula}</{name}></worksheet>'
    )
    cells = "<t>Nein</t>", "<t>Viel &amp;leicht</t>", "<t>Neinsager</t>"
    found = [
        only(XLSX, pack(unpack(rules.strings(cell)) | {SHEET: sheet.encode()}), STRINGS) for cell in cells
    ]

    assert found == [[], [], ["Neinsager"]]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_texts_that_a_sheet_holds_itself_are_read_in_any_encoding(encoding: str) -> None:
    before = "x" * ((1 << 16) - 100)  # the end of a chunk falls into `inlineStr`
    for i in range(12):
        sheet = (
            f"<worksheet {rules.X}><!--{before}{'x' * i}--><c t='inlineStr'><is><t>Ä</t></is></c></worksheet>"
        )
        content = pack({**XLSX_MEMBERS, SHEET: sheet.encode(encoding)})

        assert only(XLSX, content, SHEET) == ["Ä"]


def test_sheets_without_texts_of_their_own_are_not_parsed() -> None:
    content = pack({**XLSX_MEMBERS, SHEET: b"<worksheet><c><v>1"})

    assert only(XLSX, content, SHEET) == []
    assert unpack(rewritten(XLSX, content, shouted))[SHEET] == b"<worksheet><c><v>1"


def test_a_translation_that_looks_like_an_escape_is_written_as_text() -> None:
    content = rules.strings("<t>Wort</t>")

    result = rewritten(XLSX, content, lambda _: "_x0041_ < a")

    assert rules.TEXT.format("_x005F_x0041_ &lt; a") in unpack(result)[STRINGS].decode()
    assert "_x0041_ < a" in texts(XLSX, result)


def test_a_text_that_excel_cannot_hold_is_an_error_with_its_place_and_the_limit() -> None:
    content = rules.strings("<t>Wort</t>")
    long = "x" * (MAX_CELL_CHARACTERS - 1)

    rewritten(XLSX, content, lambda _: f"{long}x")
    with pytest.raises(FileFormatError, match=r"sharedStrings.xml, string 1: .*32,768 .*limit .* 32,767"):
        rewritten(XLSX, content, lambda _: f"{long}\U0001f600")  # two characters in UTF-16


@pytest.mark.parametrize(
    ("where", "rule"), [(where, rule) for where in rules.RULES for rule in rules.RULES[where][3]]
)
def test_texts_are_read_and_all_else_stays(where: str, rule: str) -> None:
    file_format, make, member, cases = rules.RULES[where]
    inner, found, changed = cases[rule]
    content = make(inner)

    assert only(file_format, content, member) == found
    assert change(file_format, content, member) == unpack(make(changed or inner))[member].decode()


EXPECTED = {
    ".docx": {"word/document.xml": ['<g i="0">Ein </g>fetter', "Satz"], "word/header1.xml": ["Kopf"]},
    ".odt": {CONTENT: ["Titel", 'Ein <g i="0">fetter</g>', "Satz", "Note"], "styles.xml": ["Fuss"]},
    ".pptx": {
        SLIDE: ['Ein <g i="0">fetter</g><br i="2"/>Satz', "von", 'mir<x i="0"/>'],
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


def test_spaces_that_a_translation_has_are_written_to_be_seen() -> None:
    result = unpack(rewritten(rules.ODT, rules.text("<text:p>a</text:p>"), lambda _: "a   b < c"))[
        CONTENT
    ].decode()

    assert '<text:p>a <text:s text:c="2"/>b &lt; c</text:p>' in result


def test_elements_that_reach_over_tab_stops_stay_nested() -> None:
    content = rules.text(
        "<text:p><text:a>a<text:tab/>b</text:a> und <text:span>c<text:tab/>d</text:span></text:p>"
    )

    def say(entry: Entry) -> TargetText:
        if not entry.marks:
            return own(entry)
        return target_text(MarkedText("c und b", tuple(replace(mark, at=7) for mark in entry.marks)))

    result = rewritten(rules.ODT, content, say)

    assert unpack(result) == unpack(
        rules.text("<text:p><text:a>a<text:tab/>c und b</text:a><text:span><text:tab/>d</text:span></text:p>")
    )


def test_slides_are_read_in_the_order_of_their_numbers() -> None:
    types = content_types(
        ppt__presentation="presentationml.presentation.main",
        ppt__slides__slide10="presentationml.slide",
        ppt__slides__slide9="presentationml.slide",
        ppt__charts__chart1="drawingml.chart",
    )
    parts = {
        f"ppt/{name}.xml": f"<x {rules.A}><a:p>{rules.run(name)}</a:p></x>"
        for name in ("charts/chart1", "slides/slide10", "slides/slide9")
    }
    content = pack({**PPTX_MEMBERS, **parts, "[Content_Types].xml": types})  # fmt: skip

    assert texts(PPTX, content) == ["slides/slide9", "slides/slide10", "charts/chart1"]


@pytest.mark.parametrize("what", rules.FORMATS)
@settings(max_examples=60)
@given(data=st.data(), random=SEEDS)
def test_for_any_translation_everything_but_text_is_unchanged(
    what: str, data: st.DataObject, random: Random
) -> None:
    file_format, make, member, inner = rules.FORMATS[what]
    content = make(data.draw(inner))

    assert unpack(rewritten(file_format, content, own)) == unpack(content)
    result = unpack(rewritten(file_format, content, anything(random)))
    assert others(result[member]) == others(unpack(content)[member])


FOLDER = Path(__file__).parent / "office"
HOUSE = 'Ich habe ein <g i="0">kleines</g> Haus.'
RED_HOUSE = 'Ich habe ein <g i="0">kleines</g> <g i="2">rotes</g> Haus.'
MORNING, PARK, DOGS, SLOWLY = (
    "Guten Morgen!",
    "Ein Mann geht durch den Park.",
    'Zwei Hunde spielen<br i="0"/>im Schnee.',
    "Ich spreche langsam.",
)
TABLE = ["Der Hund", "Die Katze", "Das Wasser", "42"]
BOTH = "Der Hund und die Katze"
SAMPLES = {
    "libreoffice.pptx": [MORNING, RED_HOUSE, PARK, DOGS, *TABLE, SLOWLY],
    "libreoffice.odp": [MORNING, RED_HOUSE, PARK, DOGS, *TABLE, SLOWLY],
    "libreoffice.xlsx": [
        "Der Hund",
        "Preis",
        HOUSE,
        f'{MORNING}<br i="0"/>{PARK}',
        "Das Wasser",
        "Die Katze",
    ],
    "libreoffice.ods": [
        "Der Hund",
        "Preis",
        HOUSE,
        MORNING,
        PARK,
        "Das Wasser",
        "Die Katze",
        'Page <x i="0"/>',
    ],
    "python-pptx.pptx": [MORNING, HOUSE, DOGS, *TABLE, PARK, SLOWLY, BOTH],
    "openpyxl.xlsx": ["Der Hund", "Die Katze", HOUSE, f'{MORNING}<br i="0"/>{PARK}', "Das Wasser", BOTH],
}
"""Texts that were written into each file, in reading order; not those that must stay."""
FORMULAS = {
    "libreoffice.xlsx": ("xl/worksheets/sheet1.xml", {"B2*2": "25", 'A1&"!"': "Der Hund!"}),
    "libreoffice.ods": ("content.xml", {"of:=[.B2]*2": "25", 'of:=[.A1]&"!"': "Der Hund!"}),
    "openpyxl.xlsx": ("xl/worksheets/sheet1.xml", {"B2*2": "", 'A2&"!"': ""}),
}
"""Formulas that were written into each file, with the results that are stored in it."""


@pytest.mark.parametrize("name", SAMPLES)
def test_texts_of_real_files_are_read_and_the_same_texts_give_the_same_members(name: str) -> None:
    file_format, content = open_format(name, OPTIONS), (FOLDER / name).read_bytes()

    assert texts(file_format, content) == SAMPLES[name]
    assert unpack(rewritten(file_format, content, own)) == unpack(content)
    result = rewritten(file_format, content, shouted)

    assert texts(file_format, result) == [
        noted(shouted(entry).marked) for entry in entries(file_format, content)
    ]
    for member, xml in unpack(result).items():
        if member.endswith((".xml", ".rels")):
            etree.fromstring(xml)


def _formulas(xml: bytes) -> dict[str, str]:
    """Formulas with their results."""
    found: dict[str, str] = {}
    for cell in etree.fromstring(xml).iter("{*}c", "{*}table-cell"):
        attribute = next((str(value) for key, value in cell.items() if str(key).endswith("}formula")), "")
        formula = attribute or cell.findtext("{*}f")
        if formula:
            found[formula] = cell.findtext("{*}v") or cell.findtext("{*}p") or ""
    return found


@pytest.mark.parametrize("name", FORMULAS)
def test_formulas_keep_their_results(name: str) -> None:
    member, formulas = FORMULAS[name]

    result = rewritten(open_format(name, OPTIONS), (FOLDER / name).read_bytes(), shouted)

    assert _formulas(unpack(result)[member]) == formulas


def test_header_cells_of_a_table_stay_the_names_of_its_columns() -> None:
    content = (FOLDER / "openpyxl.xlsx").read_bytes()

    result = unpack(rewritten(open_format("a.xlsx", OPTIONS), content, shouted))

    columns = etree.fromstring(result["xl/tables/table1.xml"]).iter("{*}tableColumn")
    texts_of_cells = [text.text for text in etree.fromstring(result["xl/worksheets/sheet1.xml"]).iter("{*}t")]
    assert [column.get("name") for column in columns] == texts_of_cells[:2] == ["Name", "Preis"]
