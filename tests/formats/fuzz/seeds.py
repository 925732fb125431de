# ruff: noqa: E501 -- markup is read more easily unbroken
"""Small sound files of every format, and pieces that their readers look at."""

import gzip
from collections.abc import Mapping, Sequence
from io import BytesIO
from zipfile import ZIP_STORED

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from bench.hostile.files import pack
from tests.formats.pdf_samples import SEED, drawn
from tests.formats.string_samples import EXTENSION, SAMPLES, STRING_TOKENS

TEXT = "Hallo Welt.\r\n\r\n  Noch eine Zeile: ä字😀\n".encode()
JSON_LINES = b'{"text": "Hallo \\u00e4", "n": [1, {"text": "a"}]}\n{"id": 1.5e3, "text": "b\\n"}\r\n'
COMMAS = b'id,text\n1,"Hallo, ""Welt"""\r\n2,"a\nb"\n'
TABS = COMMAS.replace(b",", b"\t")
SUBRIP = b"\xef\xbb\xbf1\r\n00:00:01,000 --> 00:00:04,074  X1:10\r\nHallo <i>du</i>\r\n- Gut.\r\n\r\n2\n00:00:05,000 --> 00:00:06,000\n{\\an8}Ende\n"
WEBVTT = b"WEBVTT - x\nKind: captions\n\nNOTE nein\n\nSTYLE\n::cue { color: red }\n\na\n00:01.000 --> 00:04.000 align:start\n<v Ann>Hallo &amp; <00:00:05.500>du</v>\n"
GETTEXT = rb"""# Kopf
msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

#, fuzzy
msgctxt "a"
msgid "Hallo %s\n"
msgstr ""

msgid "%d Datei"
msgid_plural "%d Dateien"
msgstr[0] ""
msgstr[1] ""

#~ msgid "alt"
#~ msgstr ""
"""
XLIFF_1 = b'<?xml version="1.0" encoding="UTF-8"?>\n<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2"><file source-language="de" original="x" datatype="plaintext"><body><group id="g"><trans-unit id="1"><source>a <g id="1">b</g><x id="2"/></source><target state="new"/></trans-unit></group></body></file></xliff>'
XLIFF_2 = b'<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="de"><file id="f"><unit id="u"><segment><source>a <pc id="1">b</pc></source></segment><ignorable><source> </source></ignorable></unit></file></xliff>'
TMX = b'<?xml version="1.0"?>\n<tmx version="1.4"><header srclang="de"/><body><tu tuid="1"><tuv xml:lang="de"><seg>a <bpt i="1">x</bpt>b<ept i="1">y</ept></seg></tuv></tu></body></tmx>'
PAGE = '<!DOCTYPE html><html lang="de"><head><meta charset="utf-8"><title>A &amp; B</title></head><body><p>Ein <b>schöner</b><br>Tag<p translate=no>x<pre>a\n b</pre><script>x</script></body></html>'.encode()
MARKDOWN = b"---\ntitle: x\n---\n# Titel #\n\nEin *b* und **c** [Link](<a b> 'titel')  \nZeile ![alt](b.png)\n\n> - [ ] offen\n\n| a | b |\n|---|:-:|\n| `x` | y |\n\n```python\ncode\n```\n<div>\na\n</div>\n\n[^1]: Note\n"

_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_ODF = 'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0" xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
DOCX_MEMBERS: Mapping[str, bytes] = {
    "[Content_Types].xml": b'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/><Override PartName="/word/header1.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.header+xml"/></Types>',
    "word/document.xml": f'<?xml version="1.0" encoding="UTF-8"?><w:document {_W}><w:body><w:p><w:pPr/><w:r><w:t xml:space="preserve">Ein </w:t></w:r><w:r><w:rPr><w:b/></w:rPr><w:t>fetter</w:t></w:r><w:r><w:tab/><w:br/></w:r><w:hyperlink><w:r><w:t>Satz</w:t></w:r></w:hyperlink></w:p><w:p><w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText>PAGE</w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r><w:r><w:t>1</w:t></w:r><w:r><w:fldChar w:fldCharType="end"/></w:r></w:p></w:body></w:document>'.encode(),
    "word/header1.xml": f"<w:hdr {_W}><w:p><w:r><w:t>Kopf</w:t></w:r></w:p></w:hdr>".encode(),
}
ODT_MEMBERS: Mapping[str, bytes] = {
    "mimetype": b"application/vnd.oasis.opendocument.text",
    "content.xml": f"<office:text {_ODF}><text:h>Titel</text:h><text:p>Ein <text:span text:style-name='T1'>fetter</text:span><text:s text:c='3'/><text:tab/>Satz<text:note><text:note-body><text:p>Note</text:p></text:note-body></text:note></text:p></office:text>".encode(),
    "styles.xml": f"<office:styles {_ODF}><text:p>Fuss</text:p></office:styles>".encode(),
    "META-INF/manifest.xml": b"<manifest/>",
}
EPUB_MEMBERS: Mapping[str, bytes] = {
    "mimetype": b"application/epub+zip",
    "META-INF/container.xml": b'<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles><rootfile full-path="OEBPS/b.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
    "OEBPS/b.opf": b'<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Buch</dc:title></metadata><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/><item id="n" href="n.ncx" media-type="application/x-dtbncx+xml"/></manifest><spine><itemref idref="a"/></spine></package>',
    "OEBPS/a.xhtml": b'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>T</title></head><body><p>Ein <b>fetter</b> Satz.</p></body></html>',
    "OEBPS/n.ncx": b'<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>Kapitel</text></navLabel></navPoint></navMap></ncx>',
}
_A = 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
_P = 'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main"'
_X = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_OFFICE_TYPE = "application/vnd.openxmlformats-officedocument"


def content_types(**members: str) -> bytes:
    """List of the members of a package, each with the end of its content type; `__` in a name is `/`."""
    overrides = "".join(
        f'<Override PartName="/{name.replace("__", "/")}.xml" ContentType="{_OFFICE_TYPE}.{kind}+xml"/>'
        for name, kind in members.items()
    )
    return f'<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">{overrides}</Types>'.encode()


PPTX_MEMBERS: Mapping[str, bytes] = {
    "[Content_Types].xml": content_types(
        ppt__presentation="presentationml.presentation.main",
        ppt__slides__slide1="presentationml.slide",
        ppt__notesSlides__notesSlide1="presentationml.notesSlide",
        ppt__slideMasters__slideMaster1="presentationml.slideMaster",
    ),
    "ppt/presentation.xml": f"<p:presentation {_P}/>".encode(),
    "ppt/slides/slide1.xml": f'<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\r\n<p:sld {_P} {_A}><p:txBody><a:bodyPr/><a:p><a:pPr algn="ctr"/><a:r><a:rPr lang="de-DE" dirty="0"/><a:t>Ein </a:t></a:r><a:r><a:rPr lang="de-DE" b="1"/><a:t>fetter</a:t></a:r><a:br/><a:r><a:rPr lang="de-DE" err="1"/><a:t>Satz\tvon   mir</a:t></a:r><a:fld id="{{0}}" type="slidenum"><a:rPr/><a:t>1</a:t></a:fld><a:endParaRPr lang="de-DE"/></a:p></p:txBody></p:sld>'.encode(),
    "ppt/notesSlides/notesSlide1.xml": f"<p:notes {_P} {_A}><a:p><a:r><a:t>Notiz</a:t></a:r></a:p></p:notes>".encode(),
    "ppt/slideMasters/slideMaster1.xml": f"<p:sldMaster {_P} {_A}><a:p><a:r><a:t>Titel</a:t></a:r></a:p></p:sldMaster>".encode(),
}
XLSX_MEMBERS: Mapping[str, bytes] = {
    "[Content_Types].xml": content_types(
        xl__workbook="spreadsheetml.sheet.main",
        xl__sharedStrings="spreadsheetml.sharedStrings",
        xl__worksheets__sheet1="spreadsheetml.worksheet",
        xl__tables__table1="spreadsheetml.table",
        xl__drawings__drawing1="drawing",
    ),
    "xl/workbook.xml": f'<workbook {_X}><sheets><sheet name="Blatt" sheetId="1"/></sheets></workbook>'.encode(),
    "xl/worksheets/sheet1.xml": f'<worksheet {_X}><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>Hier</t></is></c><c r="C1" t="str"><f>A1&amp;" ja"</f><v>Name ja</v></c><c r="D1"><v>1.5</v></c></row></sheetData></worksheet>'.encode(),
    "xl/sharedStrings.xml": f'<sst {_X} count="3" uniqueCount="3"><si><t>Name</t></si><si><t xml:space="preserve"> Zeile\nzwei_x000D_ </t><phoneticPr fontId="1"/></si><si><r><t xml:space="preserve">Ein </t></r><r><rPr><b/></rPr><t>fetter</t></r><r><t xml:space="preserve"> Satz</t></r><rPh sb="0" eb="1"><t>x</t></rPh></si></sst>'.encode(),
    "xl/tables/table1.xml": f'<table {_X} ref="A1:A2"><tableColumns count="1"><tableColumn id="1" name="Name"/></tableColumns></table>'.encode(),
    "xl/drawings/drawing1.xml": f'<xdr:wsDr xmlns:xdr="x" {_A}><a:p><a:r><a:t>Kasten</a:t></a:r></a:p></xdr:wsDr>'.encode(),
}
_TABLE = 'xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
_SHOW = 'xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0" xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"'
ODP_MEMBERS: Mapping[str, bytes] = {
    "mimetype": b"application/vnd.oasis.opendocument.presentation",
    "content.xml": f"<office:presentation {_ODF} {_SHOW}><presentation:footer-decl presentation:name='f'>Fuss</presentation:footer-decl><draw:page draw:name='Seite'><draw:text-box><text:p>Ein <text:span text:style-name='T1'>fetter</text:span> Satz</text:p></draw:text-box><presentation:notes><text:p>Notiz</text:p></presentation:notes></draw:page></office:presentation>".encode(),
    "styles.xml": f"<office:styles {_ODF}><text:p>Titel</text:p></office:styles>".encode(),
}
ODS_MEMBERS: Mapping[str, bytes] = {
    "mimetype": b"application/vnd.oasis.opendocument.spreadsheet",
    "content.xml": f"<office:spreadsheet {_ODF} {_TABLE}><table:table table:name='Blatt'><table:table-row><table:table-cell office:value-type='string' office:string-value='Wort' table:number-columns-repeated='2'><text:p>Wort</text:p></table:table-cell><table:table-cell office:value-type='float' office:value='1.5'><text:p>1,5</text:p></table:table-cell><table:table-cell table:formula='of:=[.A1]' office:value-type='string' office:string-value='Wort'><text:p>Wort</text:p></table:table-cell><table:table-cell/></table:table-row></table:table></office:spreadsheet>".encode(),
    "styles.xml": f"<office:styles {_ODF}><text:p>Kopf</text:p></office:styles>".encode(),
}


def _parquet() -> bytes:
    target = BytesIO()
    pq.write_table(pa.table({"text": ["Hallo", None, "a"], "n": [1, 2, 3]}), target)
    return target.getvalue()


# Not compressed, so that edits reach the members.
DOCX, ODT, EPUB = (pack(members, ZIP_STORED) for members in (DOCX_MEMBERS, ODT_MEMBERS, EPUB_MEMBERS))
PPTX, XLSX, ODP, ODS = (
    pack(members, ZIP_STORED) for members in (PPTX_MEMBERS, XLSX_MEMBERS, ODP_MEMBERS, ODS_MEMBERS)
)

FILES: Mapping[str, Sequence[bytes]] = {
    ".txt": (TEXT, b"\xff\xfe" + TEXT.decode().encode("utf-16-le"), b"\xef\xbb\xbf" + TEXT),
    **dict.fromkeys((".jsonl", ".ndjson"), (JSON_LINES,)),
    ".csv": (COMMAS,),
    ".tsv": (TABS,),
    ".parquet": (_parquet(),),
    ".srt": (SUBRIP,),
    ".vtt": (WEBVTT,),
    **dict.fromkeys((".po", ".pot"), (GETTEXT, GETTEXT.replace(b"UTF-8", b"ISO-8859-1"))),
    **dict.fromkeys((".xliff", ".xlf"), (XLIFF_1, XLIFF_2)),
    ".tmx": (TMX,),
    **dict.fromkeys(
        (".html", ".htm"), (PAGE, PAGE.replace(b"utf-8", b"shift_jis").replace("ö".encode(), b"o"))
    ),
    **dict.fromkeys((".md", ".markdown"), (MARKDOWN,)),
    ".xhtml": (EPUB_MEMBERS["OEBPS/a.xhtml"],),
    ".pdf": (SEED, drawn([[(70, 700, "Hallo")], [(70, 700, "Welt")]])),
    ".docx": (DOCX,),
    ".pptx": (PPTX,),
    ".xlsx": (XLSX,),
    ".odt": (ODT,),
    ".odp": (ODP,),
    ".ods": (ODS,),
    ".epub": (EPUB,),
    **{suffix: (content,) for suffix, content in SAMPLES.items()},
    ".json": (SAMPLES[".json"], EXTENSION),
    ".txt.gz": (gzip.compress(TEXT, mtime=0),),
    ".jsonl.zst": (zstandard.compress(JSON_LINES),),
    ".docx.zst": (zstandard.compress(DOCX),),
    ".docx.gz": (gzip.compress(DOCX, mtime=0),),
}
ARCHIVES: Mapping[str, Mapping[str, bytes]] = {
    ".docx": DOCX_MEMBERS,
    ".pptx": PPTX_MEMBERS,
    ".xlsx": XLSX_MEMBERS,
    ".odt": ODT_MEMBERS,
    ".odp": ODP_MEMBERS,
    ".ods": ODS_MEMBERS,
    ".epub": EPUB_MEMBERS,
}

_ANY = (
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    b"\r",
    b"\n\n",
    b"\xef\xbb\xbf",
    "\u2028".encode(),
    "\x85".encode(),
    b" ",
)
_MARKUP = (
    b"<",
    b">",
    b"&",
    b'"',
    b"'",
    b"/>",
    b"<!--",
    b"-->",
    b"<![CDATA[",
    b"]]>",
    b"&#0;",
    b"&#x110000;",
    b"&#xd800;",
    b"&lt;",
    b"<b>",
    b"</b>",
    b"<?xml version='1.0' encoding='utf-16'?>",
    b"<?xml version='1.1'?>",
    b"xmlns:x='y' x:a=''",
    b"<!DOCTYPE a [<!ENTITY b 'c'>]>",
    b"&b;",
    b"xml:space='preserve'",
    b"<a>" * 600,
    b"encoding='idna'",
    b"charset=rot13",
)
_LINES = (
    b",",
    b'"',
    b'""',
    b"\t",
    b"{",
    b"}",
    b"[" * 600,
    b"\\u",
    b"\\ud800",
    b"1e999",
    b"-->",
    b"00:00:01,000",
    b"\\",
    b"msgid ",
)
_GETTEXT = (
    b"msgstr[9] ",
    b'"Plural-Forms: nplurals=9999999; plural=n/0;\\n"',
    b"charset=utf-16",
    b"charset=idna",
    b"#~ ",
    b"msgctxt",
    b"%s",
    b"\\x",
)
_WORDS = (
    b"<w:r>",
    b"</w:r>",
    b"<w:p>",
    b"</w:p>",
    b"<w:t>",
    b"</w:t>",
    b'<w:fldChar w:fldCharType="begin"/>',
    b"<w:del>",
    b'<w:fldChar w:fldCharType="end"/>',
    b"<a:p>",
    b"</a:p>",
    b"<a:br/>",
    b"</si>",
    b"_x000A_",
    b"office:string-value=''",
    b"</table:table-cell>",
    b"<text:s text:c='99999999'/>",
    b"text:c='-1'",
    b"text:c='\xd9\xa3'",
    b"<text:p>",
    b"</text:p>",
    b"</text:span>",
    b"href='../../x'",
    b"href='%00'",
    b"href='//x'",
    b"full-path='..'",
    b"PartName='/'",
)
_ZIP = (
    b"PK\3\4",
    b"PK\1\2",
    b"PK\5\6",
    b"PK\6\6",
    b"PK\6\7",
    b"\xff\xff\xff\xff",
    b"\0\0\0\0",
    b"\1\0\x10\0",
)
_PDF = (
    b"3 0 R",
    b"/Kids [2 0 R]",
    b"/Count 2147483647",
    b"<< /Length 4 0 R >>",
    b"/Filter /FlateDecode",
    b"/Filter /LZWDecode",
    b"/Encrypt 5 0 R",
    b"/Prev 0",
    b"stream\n",
    b"endobj\n",
    b"obj\n",
    b"[" * 600,
    b"<< " * 600,
    b"BT /F 11 Tf 70 700 Td (a) Tj ET",
    b"1e38 0 0 1e38 0 0 Tm",
    b"Tj",
    b"-99999999999999",
    b"%%EOF",
)

TOKENS: Mapping[str, Sequence[bytes]] = (
    {
        suffix: (*_ANY, *_ZIP, *_MARKUP, *_WORDS)
        if suffix in ARCHIVES
        else (*_ANY, *_MARKUP, *_LINES, *_GETTEXT)
        for suffix in FILES
    }
    | {".pdf": (*_ANY, *_PDF)}
    | dict.fromkeys(SAMPLES, (*_ANY, *_MARKUP, *_LINES, *STRING_TOKENS))
)
