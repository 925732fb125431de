# ruff: noqa: E501 -- markup is read more easily unbroken
"""OpenDocument texts and books, put together by hand."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from service.formats.entries import Entry, FileFormatError
from service.formats.epub import EpubFormat
from service.formats.odt import OdtFormat
from service.text.marked_text import MarkedText
from tests.formats.rewriting import (  # fmt: skip
    OPTIONS,
    anything,
    entries,
    others,
    own,
    pack,
    places,
    rewritten,
    shouted,
    target_text,
    texts,
    unpack,
)
from tests.markup.translations import SEEDS

ODT = OdtFormat(OPTIONS)
EPUB = EpubFormat(OPTIONS)
NAMES = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
    ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
    ' xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"'
    ' xmlns:style="urn:oasis:names:tc:opendocument:xmlns:style:1.0"'
)


def _odt(inner: str, **others: str) -> bytes:
    document = f"<?xml version='1.0' encoding='UTF-8'?>\n<office:text {NAMES}>{inner}</office:text>"
    members = {"content.xml": document, "meta.xml": "<x/>"} | {
        f"{name}.xml": said for name, said in others.items()
    }
    return pack({"mimetype": "application/vnd.oasis.opendocument.text", **members})


def _content(odt: bytes) -> str:
    return unpack(odt)["content.xml"].decode()


@pytest.mark.parametrize(
    ("inner", "said", "shouted_inner"),
    [
        ("<text:h>Titel</text:h><text:p/>", ["Titel"], "<text:h>TITEL</text:h><text:p/>"),
        (
            "<text:p text:style-name='a'>Ein <text:span text:style-name='T1'>fetter</text:span> Satz.</text:p>",
            ['Ein <g i="0">fetter</g> Satz.'],
            "<text:p text:style-name='a'>EIN <text:span text:style-name='T1'>FETTER</text:span> SATZ.</text:p>",
        ),
        (
            "<text:p>a\n b c<text:tab/>d<text:line-break/>e</text:p>",
            ["a b c", 'd<br i="0"/>e'],
            "<text:p>A B C<text:tab/>D<text:line-break/>E</text:p>",
        ),
        (
            "<text:p><text:s text:c='4'/>a <text:s text:c='2'/>b<text:s/>c<text:span>d <text:s/></text:span>e</text:p>",
            ['a <?p 0?>b c<g i="1">d <?p 2?></g>e'],
            "<text:p><text:s text:c='4'/>A <text:s text:c='2'/>B C<text:span>D <text:s/></text:span>E</text:p>",
        ),
        (
            "<text:p>a<text:s text:c='3'/>b <text:line-break/><text:s text:c='2'/>c</text:p>",
            ['a <?p 0?>b <br i="1"/><?p 2?>c'],
            "<text:p>A <text:s text:c=\"2\"/>B <text:line-break/><text:s text:c='2'/>C</text:p>",
        ),
        (
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
        (
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
        (
            "<text:p>a <text:bookmark-start text:name='m'/>b<text:bookmark-end text:name='m'/> c</text:p>",
            ['a <g i="0">b</g> c'],
            "<text:p>A <text:bookmark-start text:name='m'/>B<text:bookmark-end text:name='m'/> C</text:p>",
        ),
        (
            "<text:p>a<text:bookmark-start text:name='spaces:x'/>b<text:bookmark-end text:name='spaces:x'/></text:p>",
            ['a<g i="0">b</g>'],
            "<text:p>A<text:bookmark-start text:name='spaces:x'/>B<text:bookmark-end text:name='spaces:x'/></text:p>",
        ),
    ],
)
def test_paragraphs_of_a_text(inner: str, said: list[str], shouted_inner: str) -> None:
    content = _odt(inner)

    assert texts(ODT, content) == said
    assert _content(rewritten(ODT, content, shouted)) == _content(_odt(shouted_inner))


def test_spaces_that_a_translation_has_are_written_to_be_seen() -> None:
    result = _content(rewritten(ODT, _odt("<text:p>a</text:p>"), lambda _: "a   b < c"))

    assert '<text:p>a <text:s text:c="2"/>b &lt; c</text:p>' in result


def test_headers_are_read_after_the_text() -> None:
    styles = f"<style:header {NAMES}><text:p>Kopf</text:p></style:header>"

    assert places(ODT, _odt("<text:p>a</text:p>", styles=styles)) == [
        ("a", "paragraph 1"),
        ("Kopf", "styles.xml, paragraph 1"),
    ]


def test_an_encrypted_text_is_rejected() -> None:
    manifest = (
        '<m:manifest xmlns:m="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><m:file-entry><m:encryption-data/>'
        "</m:file-entry></m:manifest>"
    )
    content = pack({"content.xml": "...", "META-INF/manifest.xml": manifest})

    with pytest.raises(FileFormatError, match="encrypted; save it without a password"):
        entries(ODT, content)


_INSIDE = st.lists(
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
).map("".join)  # fmt: skip


def test_elements_that_reach_over_tab_stops_stay_nested() -> None:
    content = _odt("<text:p><text:a>a<text:tab/>b</text:a> und <text:span>c<text:tab/>d</text:span></text:p>")

    def say(entry: Entry) -> str:
        if not entry.marks:
            return entry.text
        return target_text(MarkedText("c und b", tuple(replace(mark, at=7) for mark in entry.marks)))

    result = rewritten(ODT, content, say)

    assert _content(result) == _content(
        _odt("<text:p><text:a>a<text:tab/>c und b</text:a><text:span><text:tab/>d</text:span></text:p>")
    )


@settings(max_examples=100)
@given(_INSIDE, SEEDS)
def test_for_any_translation_everything_but_text_is_unchanged(inner: str, random: Random) -> None:
    content = _odt(f"<text:p>{inner}</text:p>")

    assert unpack(rewritten(ODT, content, own)) == unpack(content)
    result = unpack(rewritten(ODT, content, anything(random)))["content.xml"]
    assert others(result) == others(unpack(content)["content.xml"])


_CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles><rootfile '
    'full-path="OEBPS/content.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'
)
_PACKAGE = (
    '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><manifest>'
    '<item id="a" href="kapitel%201.xhtml" media-type="application/xhtml+xml"/>'
    '<item id="b" href="../toc.ncx" media-type="application/x-dtbncx+xml"/>'
    '<item id="c" href="stil.css" media-type="text/css"/></manifest></package>'
)
_CHAPTER = (
    '<?xml version="1.0" encoding="utf-8"?>\n<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "x.dtd">\n'
    '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>Titel</title><style>p {{}}</style></head><body>'
    '{}<p><a id="s1"/>Ein <i>schöner</i>&nbsp;Satz.<br/>Neu &amp; da.</p><pre xml:space="preserve">a\n b</pre>'
    "<p><code>x</code> ist <b>gut</b></p></body></html>"
)
_TOC = (
    '<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>Kapitel</text></navLabel>'
    '<content src="OEBPS/kapitel%201.xhtml"/></navPoint></navMap></ncx>'
)


def _epub(chapter: str | bytes = _CHAPTER.format(""), **others: str) -> bytes:
    members: dict[str, str | bytes] = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": _CONTAINER,
        "OEBPS/content.opf": _PACKAGE,
        "OEBPS/kapitel 1.xhtml": chapter,
        "OEBPS/stil.css": "p {}",
        "toc.ncx": _TOC,
    }
    return pack(members | others)


def test_chapters_and_the_table_of_contents_are_read() -> None:
    assert places(EPUB, _epub()) == [
        ("Titel", "OEBPS/kapitel 1.xhtml, block 1"),
        (
            '<x i="0"/>Ein <g i="1">schöner</g><x i="3"/>Satz.<br i="4"/>Neu &amp; da.',
            "OEBPS/kapitel 1.xhtml, block 2",
        ),
        ("a\n b", "OEBPS/kapitel 1.xhtml, block 3"),
        ('<x i="0"/> ist <g i="1">gut</g>', "OEBPS/kapitel 1.xhtml, block 4"),
        ("Kapitel", "toc.ncx, block 1"),
    ]


def test_a_book_changes_in_its_words_only() -> None:
    result = rewritten(EPUB, _epub(), shouted)

    expected = (
        _CHAPTER.format("")
        .replace("<title>Titel", "<title>TITEL")
        .replace(
            "Ein <i>schöner</i>&nbsp;Satz.<br/>Neu &amp; da.",
            "EIN <i>SCHÖNER</i>&nbsp;SATZ.<br/>NEU &amp; DA.",
        )
        .replace("a\n b</pre>", "A\n B</pre>")
        .replace(" ist <b>gut", " IST <b>GUT")
    )
    crossing = _epub(_CHAPTER.format("<a>x<p>y</p>z</a><div><b>q</b></div>"))
    assert unpack(rewritten(EPUB, crossing, own)) == unpack(crossing)
    wanted = unpack(_epub(expected)) | {"toc.ncx": _TOC.replace("Kapitel<", "KAPITEL<").encode()}
    assert unpack(result) == wanted
    assert result[30:58] == b"mimetypeapplication/epub+zip"


_TITLED = _PACKAGE.replace(
    "<manifest>",
    '<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title id="t">Ein &amp; Titel</dc:title>'
    "<dc:creator>Ein Mensch</dc:creator><dc:language> de-AT </dc:language><dc:language>la</dc:language>"
    "</metadata><manifest>",
).replace("<package ", '<package xml:lang="de" ')


def test_titles_of_a_book_are_translated_after_its_chapters_and_its_language_is_that_of_the_target() -> None:
    content = _epub(**{"OEBPS/content.opf": _TITLED})

    result = unpack(rewritten(EPUB, content, shouted))["OEBPS/content.opf"].decode()

    assert places(EPUB, content)[-1] == ("Ein & Titel", "OEBPS/content.opf, title 1")
    assert result == (
        _TITLED.replace("Ein &amp; Titel", "EIN &amp; TITEL")
        .replace("<dc:language> de-AT </dc:language>", "<dc:language>en</dc:language>")
        .replace('xml:lang="de"', 'xml:lang="en"')
    )
    assert unpack(rewritten(EPUB, content, own)) == unpack(content)
    without_title = rewritten(EPUB, content, lambda it: it.text if "Titel" in it.text else shouted(it))
    assert "<dc:language>en</dc:language>" in unpack(without_title)["OEBPS/content.opf"].decode()


def test_language_attributes_of_changed_text_name_the_target_language() -> None:
    chapter = (
        "<html xmlns='http://www.w3.org/1999/xhtml' lang='de' xml:lang=\"de-DE\"><!-- <p lang='de'> --><body>"
        "<p title='lang=\"de\" x'>Ja <i lang='fr'>oui</i> <i xml:lang='DE'>nein</i></p></body></html>"
    )

    result = unpack(rewritten(EPUB, _epub(chapter), shouted))["OEBPS/kapitel 1.xhtml"].decode()

    assert result == (
        "<html xmlns='http://www.w3.org/1999/xhtml' lang='en' xml:lang=\"en\"><!-- <p lang='de'> --><body>"
        "<p title='lang=\"de\" x'>JA <i lang='fr'>OUI</i> <i xml:lang='en'>NEIN</i></p></body></html>"
    )


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_chapters_in_utf_16_are_read_and_written(encoding: str) -> None:
    chapter = "<?xml version='1.0' encoding='UTF-16'?><html><p>Größe</p></html>".encode(encoding)
    content = _epub(chapter)

    result = unpack(rewritten(EPUB, content, shouted))["OEBPS/kapitel 1.xhtml"]

    assert texts(EPUB, content)[0] == "Größe"
    assert result == chapter.decode(encoding).replace("Größe", "GRÖSSE").encode(encoding)
    assert unpack(rewritten(EPUB, content, own)) == unpack(content)


@settings(max_examples=100)
@given(SEEDS)
def test_for_any_translation_a_chapter_is_well_formed_and_keeps_its_elements(random: Random) -> None:
    content = _epub(_CHAPTER.format("<p>a <b>b <i>c</i></b><img src='x'/></p>"))
    parser = etree.XMLParser(load_dtd=False, resolve_entities=False)

    before, after = (
        etree.fromstring(unpack(one)["OEBPS/kapitel 1.xhtml"], parser)
        for one in (content, rewritten(EPUB, content, anything(random)))
    )

    assert sorted(str(one.tag) for one in after.iter()) == sorted(str(one.tag) for one in before.iter())


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (_epub("<html><p>x</html>"), r"kapitel 1\.xhtml: not well-formed"),
        (_epub('<!DOCTYPE html [<!ENTITY a "b">]><html>&a;</html>'), "entity 'a' is declared"),
        (
            _epub(**{"OEBPS/content.opf": _PACKAGE.replace("kapitel%201", "gone")}),
            r"'OEBPS/gone\.xhtml' is missing",
        ),
        (_epub(**{"META-INF/container.xml": "<x/>"}), "lists no chapters"),
        (
            _epub(
                **{
                    "META-INF/encryption.xml": '<e xmlns:x="http://www.w3.org/2001/04/xmlenc#"><x:CipherReference '
                    'URI="OEBPS/kapitel%201.xhtml"/></e>'
                }
            ),
            "is encrypted",
        ),
    ],
)
def test_a_damaged_book_is_rejected(content: bytes, problem: str) -> None:
    with pytest.raises(FileFormatError, match=problem):
        entries(EPUB, content)
