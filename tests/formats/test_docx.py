# ruff: noqa: E501 -- markup is read more easily unbroken
"""Word documents, made and read again by python-docx."""

import re
from io import BytesIO

import pytest
from docx import Document
from docx.document import Document as DocumentOfDocx
from docx.oxml.ns import nsdecls
from docx.shared import RGBColor

from bench.hostile.files import pack
from service.formats.docx import DocxFormat
from tests.formats.rewriting import OPTIONS, own, places, rewritten, shouted, texts, unpack

DOCX = DocxFormat(OPTIONS)
W = nsdecls("w")


def _saved(document: DocumentOfDocx) -> bytes:
    target = BytesIO()
    document.save(target)
    return target.getvalue()


def _opened(content: bytes) -> DocumentOfDocx:
    return Document(BytesIO(content))


_EMPTY = unpack(_saved(Document()))


def with_paragraph(xml: str) -> bytes:
    document = _EMPTY["word/document.xml"].replace(b"<w:body>", f"<w:body><w:p>{xml}</w:p>".encode())
    return pack(_EMPTY | {"word/document.xml": document})


def _xml(content: bytes) -> str:
    return unpack(content)["word/document.xml"].decode()


@pytest.fixture
def document() -> DocumentOfDocx:
    made = Document()
    made.add_heading("Der Titel", 1)
    paragraph = made.add_paragraph("Ein ")
    paragraph.add_run("fetter").bold = True
    paragraph.add_run(" und ")
    coloured = paragraph.add_run("roter")
    coloured.font.color.rgb = RGBColor(0xFF, 0, 0)
    paragraph.add_run(" Satz.")
    table = made.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "Links & oben", "Rechts"
    section = made.sections[0]
    section.header.paragraphs[0].text = "Kopf"
    section.footer.paragraphs[0].text = "Fuß"
    made.add_paragraph("Ende")
    return made


def _runs(content: bytes) -> list[tuple[str, bool | None, RGBColor | None]]:
    """Of the second paragraph."""
    return [(run.text, run.bold, run.font.color.rgb) for run in _opened(content).paragraphs[1].runs]


RED = RGBColor(0xFF, 0, 0)


def test_text_is_read_wherever_it_stands_and_keeps_its_formats(document: DocumentOfDocx) -> None:
    content, sentence = _saved(document), 'Ein <g i="0">fetter</g> und <g i="2">roter</g> Satz.'

    assert texts(DOCX, content) == ["Der Titel", sentence, "Links & oben", "Rechts", "Ende", "Fuß", "Kopf"]
    result = rewritten(DOCX, content, shouted)
    plain = [(text, None, None) for text in ("EIN ", " UND ", " SATZ.")]
    assert _runs(result) == [plain[0], ("FETTER", True, None), plain[1], ("ROTER", None, RED), plain[2]]
    opened = _opened(result)
    assert opened.paragraphs[0].style is not None
    assert opened.paragraphs[0].style.name == "Heading 1"
    assert opened.tables[0].cell(0, 0).text == "LINKS & OBEN"
    parts = (opened.sections[0].header, opened.sections[0].footer)
    assert [part.paragraphs[0].text for part in parts] == ["KOPF", "FUSS"]


def test_a_word_that_moves_takes_its_format_along(document: DocumentOfDocx) -> None:
    moved = '<g i="2">Red</g> and <g i="0">bold</g>'

    result = rewritten(DOCX, _saved(document), lambda entry: moved if entry.marks else entry.text)

    assert _runs(result) == [("Red", None, RED), (" and ", None, None), ("bold", True, None)]


_BEGIN, _SEPARATE, _END = (
    f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>' for kind in ("begin", "separate", "end")
)
PARAGRAPHS = {
    "runs that only an editor parted are one text": (
        (
            '<w:r><w:rPr><w:lang w:val="de-DE"/></w:rPr><w:t>Hal</w:t></w:r><w:proofErr w:type="spellStart"/>'
            '<w:r w:rsidR="00AB"><w:t xml:space="preserve">lo </w:t></w:r>'
            '<w:bookmarkStart w:id="0" w:name="x"/><w:bookmarkEnd w:id="0"/><w:r><w:t>Welt</w:t></w:r>'
        ),
        ["Hallo <?p 0?>Welt"],
        ["HALLO ", "bookmarkStart", "bookmarkEnd", "WELT"],
    ),
    "text between tabs is translated apart, and tabs stay": (
        "<w:r><w:t>Name:</w:t><w:tab/><w:t>Alter</w:t></w:r>",
        ["Name:", "Alter"],
        ["NAME:", "<w:tab/>", "ALTER"],
    ),
    "line breaks stay and part words": (
        "<w:r><w:t>eins.</w:t></w:r><w:r><w:br/><w:t>zwei</w:t></w:r>",
        ['eins.<br i="0"/>zwei'],
        ["EINS.", "<w:br/>", "ZWEI"],
    ),
    "links keep their target": (
        (
            '<w:r><w:t xml:space="preserve">Siehe </w:t></w:r><w:hyperlink w:anchor="ziel"><w:r><w:rPr><w:u w:val='
            '"single"/></w:rPr><w:t>hier</w:t></w:r></w:hyperlink><w:r><w:t>.</w:t></w:r>'
        ),
        ['Siehe <g i="0">hier</g>.'],
        ["SIEHE ", '<w:hyperlink w:anchor="ziel">', '<w:u w:val="single"/>', "HIER", "</w:hyperlink>", ".<"],
    ),
    "fields that are filled in stay, and links are translated": (
        (
            f'<w:r><w:t xml:space="preserve">Seite </w:t></w:r>{_BEGIN}<w:r><w:instrText> PAGE </w:instrText></w:r>'
            f'{_SEPARATE}<w:r><w:t>sieben</w:t></w:r>{_END}<w:r><w:t xml:space="preserve"> und </w:t></w:r>'
            f'{_BEGIN}<w:r><w:instrText>HYPERLINK "http://x"</w:instrText></w:r>'
            f"{_SEPARATE}<w:r><w:t>hier</w:t></w:r>{_END}<w:r><w:t>.</w:t></w:r>"
        ),
        ['Seite <x i="0"/> und <g i="1">hier</g>.'],
        ["SEITE ", "PAGE", "sieben", "end", " UND ", "HYPERLINK", "HIER", "end"],
    ),
    "a field over several paragraphs keeps its marks in place": (
        f"{_BEGIN}<w:r><w:instrText>TOC</w:instrText></w:r>{_SEPARATE}<w:r><w:t>Kapitel</w:t></w:r>",
        ["Kapitel"],
        ["begin", "TOC", "separate", "KAPITEL"],
    ),
    "a raised reference to a note stays behind its word, and a raised digit of a unit is read": (
        (
            '<w:r><w:t>1901 gebaut.</w:t></w:r><w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>1</w:t></w:r>'
            '<w:r><w:t xml:space="preserve"> Es hat 9 m</w:t></w:r>'
            '<w:r><w:rPr><w:vertAlign w:val="superscript"/></w:rPr><w:t>2</w:t></w:r><w:r><w:t>.</w:t></w:r>'
        ),
        ['1901 gebaut.<?p 0?> Es hat 9 m<g i="1">2</g>.'],
        ["1901 GEBAUT.", '"superscript"', ">1<", " ES HAT 9 M", '"superscript"', ">2<"],
    ),
    "deleted text is left, and inserted text translated": (
        (
            '<w:r><w:t xml:space="preserve">Ein </w:t></w:r><w:del w:id="1" w:author="a"><w:r><w:delText>alter'
            '</w:delText></w:r></w:del><w:ins w:id="2" w:author="a"><w:r><w:t>neuer</w:t></w:r></w:ins>'
            '<w:r><w:t xml:space="preserve"> Satz</w:t></w:r>'
        ),
        ['Ein <?p 0?><g i="1">neuer</g> Satz'],
        ["EIN ", "<w:delText>alter</w:delText>", "<w:ins ", "NEUER", "</w:ins>", " SATZ"],
    ),
}


@pytest.mark.parametrize("rule", PARAGRAPHS)
def test_paragraphs_are_read_as_running_text_and_keep_what_is_no_text(rule: str) -> None:
    xml, found, in_order = PARAGRAPHS[rule]
    content = with_paragraph(xml)

    assert places(DOCX, content) == [(text, "paragraph 1") for text in found]
    assert re.search(".*".join(map(re.escape, in_order)), _xml(rewritten(DOCX, content, shouted)), re.DOTALL)


def test_spaces_that_set_words_apart_part_texts_and_stay() -> None:
    document = Document()
    document.add_paragraph("    Name:     Hans  Alter").add_run("   30 Jahre").bold = True

    assert texts(DOCX, _saved(document)) == ["Name:", "Hans Alter", "30 Jahre"]
    result = rewritten(DOCX, _saved(document), shouted)
    assert _opened(result).paragraphs[0].text == "    NAME:     HANS ALTER   30 JAHRE"


BOX = (
    '<w:r><w:t xml:space="preserve">Vor </w:t></w:r><w:r><w:pict><v:shape xmlns:v="urn:schemas-microsoft-com:vml">'
    "<v:textbox><w:txbxContent><w:p><w:r><w:t>Im Kasten</w:t></w:r></w:p></w:txbxContent></v:textbox></v:shape>"
    "</w:pict></w:r><w:r><w:t>nach</w:t></w:r>"
)


def test_text_boxes_are_read_after_their_paragraph_and_change_by_themselves() -> None:
    content = with_paragraph(BOX)

    assert places(DOCX, content) == [
        ('Vor <x i="0"/>nach', "paragraph 1"),
        ("Im Kasten", "paragraph 1, inside"),
    ]
    xml = _xml(rewritten(DOCX, content, shouted))
    assert xml.index("VOR ") < xml.index("IM KASTEN") < xml.index("NACH")
    result = rewritten(DOCX, content, lambda entry: entry.text.replace("Im Kasten", "In the box"))
    assert _xml(result) == _xml(content).replace("<w:t>Im Kasten", '<w:t xml:space="preserve">In the box')


def test_footnotes_are_translated_and_stay_with_their_word() -> None:
    notes = (
        f'<w:footnotes {W}><w:footnote w:id="2"><w:p><w:r><w:footnoteRef/></w:r><w:r><w:t xml:space="preserve"> '
        "Eine Anmerkung</w:t></w:r></w:p></w:footnote></w:footnotes>"
    )
    content = with_paragraph(
        '<w:r><w:t>Wort</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r><w:r><w:t>!</w:t></w:r>'
    )
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
    override = f'<Override PartName="/word/footnotes.xml" ContentType="{kind}"/></Types>'
    members = unpack(content)
    types = members["[Content_Types].xml"].replace(b"</Types>", override.encode())
    content = pack(members | {"[Content_Types].xml": types, "word/footnotes.xml": notes.encode()})

    assert places(DOCX, content) == [
        ("Wort<?p 0?>!", "paragraph 1"),
        ("Eine Anmerkung", "word/footnotes.xml, paragraph 1"),
    ]
    assert b"EINE ANMERKUNG" in unpack(rewritten(DOCX, content, shouted))["word/footnotes.xml"]


def test_boxes_in_boxes_are_read_as_deep_as_files_may_go() -> None:
    depth = 40
    inner = f"{'<w:r><w:t>a</w:t><w:p>' * depth}{'</w:p></w:r>' * depth}"

    content = with_paragraph(inner)

    assert texts(DOCX, content) == ['a<x i="0"/>'] * depth
    assert unpack(rewritten(DOCX, content, own)) == unpack(content)
    assert _xml(rewritten(DOCX, content, shouted)).count(">A</w:t>") == depth
