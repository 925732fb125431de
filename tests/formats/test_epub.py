# ruff: noqa: E501 -- markup is read more easily unbroken
"""Books, put together by hand."""

from random import Random

import pytest
from hypothesis import given, settings
from lxml import etree

from bench.hostile.files import pack
from service.formats.epub import EpubFormat
from tests.formats.rewriting import OPTIONS, anything, own, places, rewritten, shouted, unpack
from tests.text.markup.translations import SEEDS

EPUB = EpubFormat(OPTIONS)
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


UTF_16 = "<?xml version='1.0' encoding='UTF-16'?><html><p>Größe</p></html>"
CHAPTERS = [
    (
        b"<html xmlns='http://www.w3.org/1999/xhtml' lang='de' xml:lang=\"de-DE\"><!-- <p lang='de'> --><body><p title='lang=\"de\" x'>Ja <i lang='fr'>oui</i> <i xml:lang='DE'>nein</i></p></body></html>",
        b"<html xmlns='http://www.w3.org/1999/xhtml' lang='en' xml:lang=\"en\"><!-- <p lang='de'> --><body><p title='lang=\"de\" x'>JA <i lang='fr'>OUI</i> <i xml:lang='en'>NEIN</i></p></body></html>",
    ),
    (
        b"<html><a>x<p>y</p>z</a><div><b>q</b></div></html>",
        b"<html><a>X<p>Y</p>Z</a><div><b>Q</b></div></html>",
    ),
    *(
        (UTF_16.encode(encoding), UTF_16.replace("Größe", "GRÖSSE").encode(encoding))
        for encoding in ("utf-16", "utf-16-le", "utf-16-be")
    ),
]


@pytest.mark.parametrize(("chapter", "result"), CHAPTERS)
def test_language_attributes_of_changed_text_name_the_target_language_in_any_encoding(
    chapter: bytes, result: bytes
) -> None:
    content = _epub(chapter)

    assert unpack(rewritten(EPUB, content, shouted))["OEBPS/kapitel 1.xhtml"] == result
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
