"""PDF: the text comes back in its order, as paragraphs, in a Word document or as plain text."""

from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from typing import Any

import pypdfium2
import pytest
from docx import Document
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reportlab.lib.utils import simpleSplit
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen.canvas import Canvas

from bench.hostile.pdf import one_page, stream, text_at
from service.formats import pdf_pages
from service.formats.entries import FileFormatError, FileOptions
from service.formats.registry import open_format
from tests.formats.pdf_samples import PAGE_POINTS, SEED, drawn
from tests.formats.rewriting import OPTIONS, entries, own, places, rewritten, shouted, texts
from tests.linear import is_linear

AS_DOCX = open_format("a.pdf", OPTIONS)
AS_TEXT = open_format("a.pdf", FileOptions("de", "en", output=".txt"))
LEADING, GAP, LEFT, TOP, BOTTOM, WIDTH = 14.0, 10.0, 70.0, 780.0, 60.0, 450.0
LONG = "Hier steht eine Zeile, die so lang ist wie keine andere, mit"


def lines_at(x: float, y: float, *lines: str) -> list[tuple[float, float, str]]:
    """Lines of a paragraph below each other."""
    return [(x, y - i * LEADING, line) for i, line in enumerate(lines)]


def paragraphs_of(content: bytes) -> list[str]:
    """Paragraphs of the Word document that a PDF becomes."""
    document = Document(BytesIO(rewritten(AS_DOCX, content, own)))
    return [paragraph.text for paragraph in document.paragraphs]


def typeset(paragraphs: list[str]) -> bytes:
    """A PDF with paragraphs over as many pages as they need."""
    target = BytesIO()
    canvas = Canvas(target, PAGE_POINTS, invariant=True)
    y = TOP
    for paragraph in paragraphs:
        for line in simpleSplit(paragraph, "Helvetica", 11, WIDTH):
            if y < BOTTOM:
                canvas.showPage()
                y = TOP
            canvas.setFont("Helvetica", 11)
            canvas.drawString(LEFT, y, line)
            y -= LEADING
        y -= GAP
    canvas.save()
    return target.getvalue()


words = st.text(st.sampled_from("abcdefghilmnorstuvwzABDEKSTäöüßéñ"), min_size=1, max_size=12)
repeated = st.tuples(st.lists(words, min_size=1, max_size=20), st.integers(1, 30))
nearly_room = [f"{'A Aaaainn Daaaaacnv ' * 3}A Aaaainn Daaaaacnv.", f"{'und Illi ' * 14}Ende."]
sentences = repeated.map(lambda found: f"{' '.join(found[0] * found[1])}.")


@settings(max_examples=20)
@given(paragraphs=st.lists(sentences, min_size=1, max_size=5, unique=True))
@example(paragraphs=nearly_room)  # for one more word, if the space before it were a tenth narrower
def test_paragraphs_come_back_in_their_order(paragraphs: list[str]) -> None:
    content = typeset(paragraphs)

    assert paragraphs_of(content) == paragraphs
    assert rewritten(AS_TEXT, content, own).decode() == "\n\n".join(paragraphs) + "\n"


@pytest.mark.parametrize(
    ("end", "beginning", "joined"),
    [
        ("einem Binde-", "strich darin.", "einem Bindestrich darin."),
        ("der Nord-", "Süd-Verbindung.", "der Nord-Süd-Verbindung."),
        ("der Hin-", "und Rückfahrt.", "der Hin- und Rückfahrt."),
        ("dem VERKEHRS-", "BETRIEB.", "dem VERKEHRSBETRIEB."),
        ("the well-", "known one.", "the well-known one."),
        ("dem Jahr 2025-", "26 danach.", "dem Jahr 2025-26 danach."),
        ("der Seite -", "und so weiter.", "der Seite - und so weiter."),
        ("der Seite", "und so weiter.", "der Seite und so weiter."),
    ],
)
def test_a_hyphen_at_the_end_of_a_line_goes_if_it_belongs_to_the_line(
    end: str, beginning: str, joined: str
) -> None:
    content = drawn([[*lines_at(LEFT, TOP, f"{LONG} {end}", beginning), (LEFT, 600, "A well-known word.")]])

    assert texts(AS_DOCX, content) == [f"{LONG} {joined}", "A well-known word."]


def test_sizes_make_headings_and_fonts_make_bold_and_italic_words() -> None:
    target = BytesIO()
    canvas = Canvas(target, PAGE_POINTS)
    for y, font, size, text in (
        (780, "Helvetica-Bold", 20, "Titel"),
        (740, "Helvetica", 14, "Kapitel"),
        (700, "Helvetica", 10, "Ein Satz mit vielen Wörtern, der die Größe des Textes bestimmt."),
        (680, "Helvetica-Bold", 10, "Fett"),
        (660, "Helvetica-Oblique", 10, "kursiv"),
    ):
        canvas.setFont(font, size)
        canvas.drawString(LEFT, y, text)
    canvas.save()

    found = Document(BytesIO(rewritten(AS_DOCX, target.getvalue(), own))).paragraphs

    assert [(each.text, each.style.name) for each in found if each.style][:2] == [
        ("Titel", "Heading 1"),
        ("Kapitel", "Heading 2"),
    ]
    assert [(run.text, bool(run.bold), bool(run.italic)) for each in found[3:] for run in each.runs] == [
        ("Fett", True, False),
        ("kursiv", False, True),
    ]


def test_cells_of_a_row_are_entries_and_keep_a_tab_between_them() -> None:
    assert [text for text, _ in places(AS_DOCX, SEED)] == [
        "Titel der Seite",
        "Ein Satz, der auf der zweiten Zeile endet und einen Bindestrich hat.",
        "Name",
        "Preis",
    ]
    assert paragraphs_of(SEED)[2] == "Name\tPreis"
    assert rewritten(AS_TEXT, SEED, shouted).decode().splitlines() == [
        "TITEL DER SEITE",
        "",
        "EIN SATZ, DER AUF DER ZWEITEN ZEILE ENDET UND EINEN BINDESTRICH HAT.",
        "",
        "NAME\tPREIS",
    ]


def spread(y: float, width: float, *words: str) -> list[tuple[float, float, str]]:
    """Words of a line at equal distances, the last of which ends at the right edge."""
    widths = [stringWidth(word, "Helvetica", 11) for word in words]
    gap = (width - sum(widths)) / (len(words) - 1)
    return [(LEFT + sum(widths[:i]) + i * gap, y, word) for i, word in enumerate(words)]


@pytest.mark.parametrize(
    ("neighbour", "words", "is_text"),
    [
        ("Donaudampfschifffahrtsgesellschaft", ["und", "den", "Aufsichtsrat"], True),
        ("Donaudampfschifffahrtsgesellschaft", ["1,00", "2,00", "3,00"], False),
        ("Donaudampfschifffahrt", ["und", "den", "Aufsichtsrat"], False),
    ],
    ids=["justified", "numbers", "another width"],
)
def test_words_of_a_justified_line_are_no_cells(neighbour: str, words: list[str], *, is_text: bool) -> None:
    width = stringWidth("Donaudampfschifffahrtsgesellschaft", "Helvetica", 11)
    first, last = spread(TOP, width, "Die", "alte"), spread(TOP - 2 * LEADING, width, *words)
    middle = (LEFT, TOP - LEADING, neighbour)

    found = texts(AS_DOCX, drawn([[*first, middle, *last]]))

    assert (found == ["Die alte Donaudampfschifffahrtsgesellschaft und den Aufsichtsrat"]) == is_text
    assert is_text or found[-3:] == words


def test_headers_and_page_numbers_are_kept_once_and_interrupt_no_sentence() -> None:
    upper, lower = f"Donaudampfschifffahrt {LONG}", f"Gesellschaftsvertrag {LONG}"
    content = drawn(
        [
            [(LEFT, 810, "Kopf der Seite"), *lines_at(LEFT, 740, upper, lower), (LEFT, 30, f"Seite {number}")]
            for number in range(7, 10)
        ]
    )

    found = texts(AS_DOCX, content)

    assert [text for text in found if text.startswith(("Kopf", "Seite"))] == ["Kopf der Seite", "Seite 7"]
    assert [text for text in found if text.startswith("Donau")] == [" ".join([upper, lower] * 3)]


FULL = f"{LONG} so vielen Wörtern, dass sie voll ist."
INDENTED = (
    (LEFT + 15, FULL),
    (LEFT, f"{FULL} Ja."),
    (LEFT + 15, FULL),
    (LEFT, "Ende."),
    (LEFT, f"\u2022 {FULL} Ja."),
    (LEFT, "\u2022 Noch ein Punkt."),
)
COLUMNS = (
    *lines_at(LEFT, TOP, "Links steht der Anfang eines", "Satzes, der in der rechten"),
    *lines_at(330, TOP, "Spalte zu Ende geht.", "Ein anderer folgt in der Spalte."),
)
TURNED = b"BT /F 11 Tf 0 1 -1 0 300 100 Tm (Am Rand der Seite) Tj ET\n"
NAMELESS = {
    5: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 6 0 R >>",
    6: stream(b"1 begincodespacerange <00> <FF> endcodespacerange 1 beginbfchar <61> <0001> endbfchar"),
}
READ = {
    "a paragraph goes on in the next column": (
        drawn([COLUMNS]),
        [
            "Links steht der Anfang eines Satzes, der in der rechten Spalte zu Ende geht.",
            "Ein anderer folgt in der Spalte.",
        ],
    ),
    "numbers that do not count pages are kept": (
        drawn([[(LEFT, 810, f"Kapitel {number}"), (LEFT, 700, "Text.")] for number in (1, 2, 2, 3)]),
        ["Kapitel 1", "Text.", "Kapitel 2", "Kapitel 2", "Kapitel 3"],
    ),
    "indents, bullets and short lines begin paragraphs": (
        drawn([[(x, TOP - i * LEADING, text) for i, (x, text) in enumerate(INDENTED)]]),
        [f"{FULL} {FULL} Ja.", f"{FULL} Ende.", f"\u2022 {FULL} Ja.", "\u2022 Noch ein Punkt."],
    ),
    "text in any direction comes in lines": (
        one_page(stream(text_at(70, 700, b"Oben") + TURNED)),
        ["Oben", "Am Rand der Seite"],
    ),
    "characters without a meaning are shown as unknown": (
        one_page(stream(text_at(70, 700, b"abc")), others=NAMELESS),
        ["\ufffdbc"],
    ),
    "an encrypted file that opens without a password is read": (drawn([[(70, 700, "Frei")]], ""), ["Frei"]),
}


@pytest.mark.parametrize("rule", READ)
def test_paragraphs_are_found_where_a_reader_sees_them(rule: str) -> None:
    content, expected = READ[rule]

    assert texts(AS_DOCX, content) == expected


def test_pages_and_characters_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    content = drawn([[(70, 700, "abc")], [(70, 700, "defg")]])
    monkeypatch.setattr(pdf_pages, "MAX_PAGES", 1)
    with pytest.raises(FileFormatError, match="it has 2 pages, more than 1"):
        entries(AS_DOCX, content)
    monkeypatch.setattr(pdf_pages, "MAX_PAGES", 2)
    monkeypatch.setattr(pdf_pages, "MAX_CHARACTERS", 6)
    with pytest.raises(FileFormatError, match="it has more than 6 characters"):
        entries(AS_DOCX, content)
    monkeypatch.setattr(pdf_pages, "MAX_CHARACTERS", 7)
    assert texts(AS_DOCX, content) == ["abc", "defg"]


def test_one_thread_at_a_time_reads_with_pdfium(monkeypatch: pytest.MonkeyPatch) -> None:
    content = typeset(["Ein Satz mit einigen Wörtern. " * 100])
    num_open: list[int] = [0]

    class CountedDocument(pypdfium2.PdfDocument):  # type: ignore[misc]
        def __enter__(self) -> Any:
            num_open.append(num_open[-1] + 1)
            return super().__enter__()

        def __exit__(self, *failure: object) -> None:
            super().__exit__(*failure)
            num_open.append(num_open[-1] - 1)

    monkeypatch.setattr(pypdfium2, "PdfDocument", CountedDocument)

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: texts(AS_DOCX, content), range(8)))

    assert found == [found[0]] * 8
    assert max(num_open) == 1


def test_a_long_line_and_many_lines_take_calls_in_proportion() -> None:
    def read_lines(n: int) -> None:
        line = b"BT /F 1 Tf 9 830 Td (%s) Tj ET " % (b"a" * n)
        lines = b"".join(text_at(9, 800 - i / 10, b"ab-", 0.05) for i in range(n))
        assert texts(open_format("a.pdf", OPTIONS), one_page(stream(line + lines)))

    assert is_linear(read_lines)
