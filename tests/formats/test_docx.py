# ruff: noqa: E501 -- markup is read more easily unbroken
"""Word documents, made and read again by python-docx."""

import zipfile
from io import BytesIO
from random import Random

import pytest
from docx import Document
from docx.document import Document as DocumentOfDocx
from docx.enum.text import WD_BREAK
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from docx.shared import RGBColor
from hypothesis import given, settings
from hypothesis import strategies as st

from service.formats.docx import DocxFormat
from service.formats.entries import FileFormatError
from tests.formats.rewriting import OPTIONS, anything, entries, own, rewritten, shouted, texts
from tests.markup.translations import SEEDS

DOCX = DocxFormat(OPTIONS)
W = nsdecls("w")


def _saved(document: DocumentOfDocx) -> bytes:
    target = BytesIO()
    document.save(target)
    return target.getvalue()


def _opened(content: bytes) -> DocumentOfDocx:
    return Document(BytesIO(content))


def _members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _with_paragraph(xml: str) -> bytes:
    document = Document()
    document.element.body.insert(0, parse_xml(f"<w:p {W}>{xml}</w:p>"))
    return _saved(document)


def _replaced(content: bytes, name: str, old: bytes, new: bytes) -> bytes:
    target = BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for member, inside in _members(content).items():
            archive.writestr(member, inside.replace(old, new) if member == name else inside)
    return target.getvalue()


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


def test_text_is_read_wherever_it_stands(document: DocumentOfDocx) -> None:
    assert texts(DOCX, _saved(document)) == [
        "Der Titel",
        'Ein <g i="0">fetter</g> und <g i="2">roter</g> Satz.',
        "Links & oben",
        "Rechts",
        "Ende",
        "Fuß",
        "Kopf",
    ]


def test_formats_of_words_are_kept(document: DocumentOfDocx) -> None:
    result = _opened(rewritten(DOCX, _saved(document), shouted))

    runs = [(run.text, run.bold, run.font.color.rgb) for run in result.paragraphs[1].runs]
    assert runs == [
        ("EIN ", None, None),
        ("FETTER", True, None),
        (" UND ", None, None),
        ("ROTER", None, RGBColor(0xFF, 0, 0)),
        (" SATZ.", None, None),
    ]
    assert result.paragraphs[0].style is not None
    assert result.paragraphs[0].style.name == "Heading 1"
    assert result.tables[0].cell(0, 0).text == "LINKS & OBEN"
    assert result.sections[0].header.paragraphs[0].text == "KOPF"
    assert result.sections[0].footer.paragraphs[0].text == "FUSS"


def test_a_word_that_moves_takes_its_format_along(document: DocumentOfDocx) -> None:
    content = _saved(document)
    said = [
        '<g i="2">Red</g> and <g i="0">bold</g>' if "<g" in text else text for text in texts(DOCX, content)
    ]
    target = BytesIO()

    DOCX.write(BytesIO(content), iter(said), target)

    runs = [(run.text, run.bold, run.font.color.rgb) for run in _opened(target.getvalue()).paragraphs[1].runs]
    assert runs == [("Red", None, RGBColor(0xFF, 0, 0)), (" and ", None, None), ("bold", True, None)]


def test_own_texts_give_every_member_back_byte_for_byte(document: DocumentOfDocx) -> None:
    content = _saved(document)

    result = rewritten(DOCX, content, own)

    assert _members(result) == _members(content)
    with zipfile.ZipFile(BytesIO(content)) as before, zipfile.ZipFile(BytesIO(result)) as after:
        assert [(info.filename, info.date_time, info.external_attr) for info in after.infolist()] == [
            (info.filename, info.date_time, info.external_attr) for info in before.infolist()
        ]


def test_members_without_text_keep_their_content(document: DocumentOfDocx) -> None:
    content = _saved(document)

    before, after = _members(content), _members(rewritten(DOCX, content, shouted))

    changed = {name for name in before if before[name] != after[name]}
    assert changed == {"word/document.xml", "word/header1.xml", "word/footer1.xml"}


def test_the_same_texts_give_the_same_bytes(document: DocumentOfDocx) -> None:
    content = _saved(document)

    assert rewritten(DOCX, content, shouted) == rewritten(DOCX, content, shouted)


def test_runs_that_only_an_editor_parted_are_one_text() -> None:
    content = _with_paragraph(
        '<w:r><w:rPr><w:lang w:val="de-DE"/></w:rPr><w:t>Hal</w:t></w:r><w:proofErr w:type="spellStart"/>'
        '<w:r w:rsidR="00AB"><w:t xml:space="preserve">lo </w:t></w:r>'
        '<w:bookmarkStart w:id="0" w:name="x"/><w:bookmarkEnd w:id="0"/><w:r><w:t>Welt</w:t></w:r>'
    )

    [entry] = entries(DOCX, content)

    assert entry.text == "Hallo <?p 0?>Welt"
    assert entry.place == "paragraph 1"


def test_what_stands_between_tabs_is_translated_apart_and_tabs_stay() -> None:
    document = Document()
    document.add_paragraph("Name:\tAlter")

    assert texts(DOCX, _saved(document)) == ["Name:", "Alter"]
    assert _opened(rewritten(DOCX, _saved(document), shouted)).paragraphs[0].text == "NAME:\tALTER"


def test_line_breaks_stay_and_part_words() -> None:
    document = Document()
    run = document.add_paragraph("eins.").add_run()
    run.add_break(WD_BREAK.LINE)
    run.add_text("zwei")

    assert texts(DOCX, _saved(document)) == ['eins.<br i="0"/>zwei']
    assert _opened(rewritten(DOCX, _saved(document), shouted)).paragraphs[0].text == "EINS.\nZWEI"


def test_spaces_that_set_words_apart_keep_their_place() -> None:
    document = Document()
    document.add_paragraph("    Name:     Hans  Alter").add_run("   30 Jahre").bold = True

    assert texts(DOCX, _saved(document)) == ['Name: <?p 0?>Hans Alter <?p 1?><g i="2">30 Jahre</g>']
    result = rewritten(DOCX, _saved(document), shouted)
    assert _opened(result).paragraphs[0].text == "    NAME:     HANS ALTER   30 JAHRE"


def test_links_keep_their_target() -> None:
    content = _with_paragraph(
        '<w:r><w:t xml:space="preserve">Siehe </w:t></w:r><w:hyperlink w:anchor="ziel"><w:r><w:rPr><w:u w:val='
        '"single"/></w:rPr><w:t>hier</w:t></w:r></w:hyperlink><w:r><w:t>.</w:t></w:r>'
    )

    assert texts(DOCX, content) == ['Siehe <g i="0">hier</g>.']
    [link] = _opened(rewritten(DOCX, content, shouted)).paragraphs[0].hyperlinks
    assert (link.text, link.fragment, link.runs[0].underline) == ("HIER", "ziel", True)


def test_fields_that_are_filled_in_stay_and_links_are_translated() -> None:
    content = _with_paragraph(
        '<w:r><w:t xml:space="preserve">Seite </w:t></w:r><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r>'
        '<w:instrText> PAGE </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>sieben'
        '</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r><w:r><w:t xml:space="preserve"> und </w:t></w:r>'
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>HYPERLINK "http://x"</w:instrText></w:r>'
        '<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>hier</w:t></w:r>'
        '<w:r><w:fldChar w:fldCharType="end"/></w:r><w:r><w:t>.</w:t></w:r>'
    )

    assert texts(DOCX, content) == ['Seite <x i="0"/> und <g i="1">hier</g>.']
    xml = _members(rewritten(DOCX, content, shouted))["word/document.xml"].decode()
    order = ["SEITE ", "PAGE", "sieben", " UND ", "HYPERLINK", "HIER", "end"]
    places = [xml.index(one) for one in order[:-1]]
    assert places == sorted(places)


def test_a_field_over_several_paragraphs_keeps_its_marks_in_place() -> None:
    begin = (
        '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>TOC</w:instrText></w:r>'
        '<w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>Kapitel</w:t></w:r>'
    )
    content = _with_paragraph(begin)

    assert texts(DOCX, content) == ["Kapitel"]
    xml = _members(rewritten(DOCX, content, shouted))["word/document.xml"].decode()
    assert xml.index("begin") < xml.index("TOC") < xml.index("separate") < xml.index("KAPITEL")


def test_deleted_text_is_left_and_inserted_text_translated() -> None:
    content = _with_paragraph(
        '<w:r><w:t xml:space="preserve">Ein </w:t></w:r><w:del w:id="1" w:author="a"><w:r><w:delText>alter'
        '</w:delText></w:r></w:del><w:ins w:id="2" w:author="a"><w:r><w:t>neuer</w:t></w:r></w:ins>'
        '<w:r><w:t xml:space="preserve"> Satz</w:t></w:r>'
    )

    assert texts(DOCX, content) == ['Ein <?p 0?><g i="1">neuer</g> Satz']
    xml = _members(rewritten(DOCX, content, shouted))["word/document.xml"].decode()
    assert "<w:delText>alter</w:delText>" in xml
    assert "NEUER" in xml


_BOX = (
    '<w:r><w:t xml:space="preserve">Vor </w:t></w:r><w:r><w:pict><v:shape xmlns:v="urn:schemas-microsoft-com:vml">'
    "<v:textbox><w:txbxContent><w:p><w:r><w:t>Im Kasten</w:t></w:r></w:p></w:txbxContent></v:textbox></v:shape>"
    "</w:pict></w:r><w:r><w:t>nach</w:t></w:r>"
)


def test_text_boxes_are_read_after_their_paragraph() -> None:
    content = _with_paragraph(_BOX)

    assert [(entry.text, entry.place) for entry in entries(DOCX, content)] == [
        ('Vor <x i="0"/>nach', "paragraph 1"),
        ("Im Kasten", "paragraph 1, inside"),
    ]
    xml = _members(rewritten(DOCX, content, shouted))["word/document.xml"].decode()
    assert xml.index("VOR ") < xml.index("IM KASTEN") < xml.index("NACH")


def test_a_text_box_changes_though_its_paragraph_does_not() -> None:
    content = _with_paragraph(_BOX)

    result = rewritten(DOCX, content, lambda entry: entry.text.replace("Im Kasten", "In the box"))

    before, after = (_members(one)["word/document.xml"].decode() for one in (content, result))
    assert after == before.replace("<w:t>Im Kasten", '<w:t xml:space="preserve">In the box')


def test_footnotes_are_translated_and_stay_with_their_word() -> None:
    notes = (
        f'<w:footnotes {W}><w:footnote w:id="2"><w:p><w:r><w:footnoteRef/></w:r><w:r><w:t xml:space="preserve"> '
        "Eine Anmerkung</w:t></w:r></w:p></w:footnote></w:footnotes>"
    )
    content = _with_paragraph(
        '<w:r><w:t>Wort</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r><w:r><w:t>!</w:t></w:r>'
    )
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
    content = _replaced(
        content,
        "[Content_Types].xml",
        b"</Types>",
        f'<Override PartName="/word/footnotes.xml" ContentType="{kind}"/></Types>'.encode(),
    )
    grown = BytesIO(content)
    with zipfile.ZipFile(grown, "a") as archive:
        archive.writestr("word/footnotes.xml", notes)

    found = entries(DOCX, grown.getvalue())

    assert [(entry.text, entry.place) for entry in found] == [
        ("Wort<?p 0?>!", "paragraph 1"),
        ("Eine Anmerkung", "word/footnotes.xml, paragraph 1"),
    ]
    members = _members(rewritten(DOCX, grown.getvalue(), shouted))
    assert b"EINE ANMERKUNG" in members["word/footnotes.xml"]


_CONTENTS = st.lists(
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
            _BOX,
        ]
    ),
    max_size=12,
).map("".join)


def _things(content: bytes) -> list[str]:
    """What is in the document's first paragraph beside runs and their text."""
    body = _opened(content).element.body
    told = ("bookmark", "fldChar", "instrText", "hyperlink", "tab", "br", "ins", "sdt", "pict", "txbxContent")
    return sorted(
        str(element.tag)
        for element in body.iter()
        if isinstance(element.tag, str) and element.tag.split("}")[1].startswith(told)
    )


@settings(max_examples=60)
@given(_CONTENTS)
def test_any_paragraph_comes_back_with_its_own_text(xml: str) -> None:
    content = _with_paragraph(xml)

    assert _members(rewritten(DOCX, content, own)) == _members(content)


@settings(max_examples=60)
@given(_CONTENTS, SEEDS)
def test_whatever_is_said_all_that_is_no_text_is_there_again(xml: str, random: Random) -> None:
    content = _with_paragraph(xml)

    assert _things(rewritten(DOCX, content, anything(random))) == _things(content)


def test_boxes_in_boxes_are_read_as_deep_as_files_may_go() -> None:
    depth = 40
    inner = f"{'<w:r><w:t>a</w:t><w:p>' * depth}{'</w:p></w:r>' * depth}"

    content = _with_paragraph(inner)

    assert texts(DOCX, content) == ['a<x i="0"/>'] * depth
    assert _members(rewritten(DOCX, content, own)) == _members(content)
    assert _members(rewritten(DOCX, content, shouted))["word/document.xml"].count(b">A</w:t>") == depth


def test_fields_and_bookmarks_without_end_take_no_time_to_speak_of() -> None:
    begin = '<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:bookmarkStart w:id="1" w:name="a"/>'
    end = '<w:bookmarkEnd w:id="2"/>'
    content = _with_paragraph(f"{begin * 20_000}<w:r><w:t>a</w:t></w:r>{end * 20_000}")

    assert texts(DOCX, content) == ["a"]


def test_an_empty_text_takes_words_only() -> None:
    content = _with_paragraph(_BOX)

    result = rewritten(DOCX, content, lambda _: "")

    assert _things(result) == _things(content)
    assert not [
        element
        for element in _opened(result).element.body.iter()
        if str(element.tag).endswith("}t") and element.text
    ]


@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        ("word/document.xml", b"<w:document", b'<!DOCTYPE d [<!ENTITY a "b">]><w:document', "document type"),
        ("word/document.xml", b"</w:body>", b"", "not well-formed"),
        ("[Content_Types].xml", b"document.main+xml", b"sheet.main+xml", "no text document"),
        ("[Content_Types].xml", b"/word/document.xml", b"/word/gone.xml", "'word/gone.xml' is missing"),
    ],
)
def test_what_is_no_sound_document_is_refused(name: str, old: bytes, new: bytes, problem: str) -> None:
    content = _replaced(_with_paragraph("<w:r><w:t>Wort</w:t></w:r>"), name, old, new)

    with pytest.raises(FileFormatError, match=problem):
        entries(DOCX, content)
