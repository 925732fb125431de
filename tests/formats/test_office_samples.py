"""Files that LibreOffice, python-pptx and openpyxl wrote; `office/README.md` says how."""

from pathlib import Path

import pytest
from lxml import etree

from service.formats.registry import open_format
from tests.formats.rewriting import OPTIONS, entries, own, rewritten, shouted, texts, unpack
from tests.text.markup.marked import noted

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
