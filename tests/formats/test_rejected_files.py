"""Files that are none of their kind, and the place where that shows."""

from codecs import BOM_UTF16_LE
from collections.abc import Mapping, Sequence

import pytest

from bench.hostile.files import pack
from bench.hostile.pdf import one_page, stream, text_at
from service.formats.entries import FileFormatError, FileOptions
from service.formats.registry import open_format
from tests.formats.fuzz import seeds
from tests.formats.pdf_samples import SEED, drawn
from tests.formats.rewriting import entries

CODECS = ("undefined", "zlib", "rot13", "idna", "punycode", "utf-7", "base64", "unicode_escape", "hz", "mbcs")
"""Of Python, but none of text; or none that a reader may meet."""
LOCKED = ".*encrypted, or in an old binary format.*; save it without a password"
COMPOUND_FILE = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(504)
NO_ARCHIVES = (b"", b"text", b"PK\x03\x04", pack({}), pack({"a.txt": b"x"}))
MANIFEST = b'<m xmlns="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"><encryption-data/></m>'
CIPHER = b'<e xmlns:x="http://www.w3.org/2001/04/xmlenc#"><x:CipherReference URI="OEBPS/a.xhtml"/></e>'
DOCUMENT, CONTENT, TYPES = "word/document.xml", "content.xml", "[Content_Types].xml"
SLIDE, STRINGS = "ppt/slides/slide1.xml", "xl/sharedStrings.xml"
LACKS = "its member 'content.xml' is missing"


def _changed(suffix: str, name: str, content: bytes, old: bytes = b"") -> bytes:
    """A sound archive with another content, or other bytes, of a member."""
    members = seeds.ARCHIVES[suffix]
    return pack({**members, name: members[name].replace(old, content) if old else content})


OTHER = "its translations are in 'fr_FR', but the target language is en; choose that language"
REJECTED: Mapping[str, Sequence[tuple[bytes, str]]] = {
    "a.txt": [
        (b"Gr\xc3\xbc\xc3\x9fe\nGra\xfc\n", "line 2 is not UTF-8: byte 0xfc at position 4 of it; convert"),
        (b"\xef\xbb\xbfa\xff", "line 1 is not UTF-8: byte 0xff at position 5 of it"),
        (BOM_UTF16_LE + b"a", r"it is not in utf-16-le, .* byte 2 \(counted from 0\)"),
        (
            BOM_UTF16_LE + b"a\0" * 70_000 + b"\0\xdc\0\0",
            r"it is not in utf-16-le, .* byte 140002 \(counted from 0\)",
        ),
    ],
    **{f"a{suffix}": [(each, "") for each in NO_ARCHIVES] for suffix in seeds.ARCHIVES},
    "b.docx": [
        (
            _changed(".docx", DOCUMENT, b'<!DOCTYPE d [<!ENTITY a "b">]><w:document', b"<w:document"),
            ".*document type",
        ),
        (_changed(".docx", DOCUMENT, b"", b"</w:body>"), ".*not well-formed"),
        (_changed(".docx", TYPES, b"sheet.main+xml", b"document.main+xml"), ".*no text document"),
        (_changed(".docx", TYPES, b"/word/gone.xml", b"/word/document.xml"), ".*'word/gone.xml' is missing"),
        (COMPOUND_FILE, LOCKED),
    ],
    "b.pptx": [
        (seeds.XLSX, "it contains no presentation; save it as .pptx"),
        (NO_ARCHIVES[-1], r".*not a PowerPoint presentation: \[Content_Types\].xml is missing"),
        (_changed(".pptx", SLIDE, b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'), ".*document type"),
        (COMPOUND_FILE, LOCKED),
    ],
    "b.xlsx": [
        (seeds.PPTX, "it contains no workbook; save it as .xlsx"),
        (
            pack({name: said for name, said in seeds.XLSX_MEMBERS.items() if name != STRINGS}),
            f".*'{STRINGS}' is missing",
        ),
        (_changed(".xlsx", STRINGS, b"<sst><si>"), ".*not well-formed"),
        (COMPOUND_FILE, LOCKED),
    ],
    "b.odt": [
        (_changed(".odt", "META-INF/manifest.xml", MANIFEST), "it is encrypted; save it without a password")
    ],
    "b.odp": [
        (NO_ARCHIVES[-1], f".*not an OpenDocument presentation: {LACKS}"),
        (_changed(".odp", CONTENT, b"<a>"), ".*not well-formed"),
    ],
    "b.ods": [
        (NO_ARCHIVES[-1], f".*not an OpenDocument spreadsheet: {LACKS}"),
        (pack({**seeds.ODS_MEMBERS, "META-INF/manifest.xml": MANIFEST}), "it is encrypted"),
        (COMPOUND_FILE, LOCKED),
    ],
    "b.epub": [
        (_changed(".epub", "OEBPS/a.xhtml", b"<html><p>x</html>"), r".*a\.xhtml: not well-formed"),
        (
            _changed(".epub", "OEBPS/a.xhtml", b'<!DOCTYPE html [<!ENTITY a "b">]><html>&a;</html>'),
            ".*entity 'a' is declared",
        ),
        (_changed(".epub", "OEBPS/b.opf", b"gone", b"a.xhtml"), r".*'OEBPS/gone' is missing"),
        (_changed(".epub", "META-INF/container.xml", b"<x/>"), ".*lists no chapters"),
        (pack({**seeds.EPUB_MEMBERS, "META-INF/encryption.xml": CIPHER}), ".*is encrypted"),
    ],
    "a.pdf": [
        (b"", "it is not a PDF file"),
        (b"PK\x03\x04" * 20, "it is not a PDF file"),
        (SEED[:-20], "it is truncated"),
        (b"%PDF-1.7\n%%EOF\n", "it cannot be read as PDF"),
        (drawn([[(70, 700, "a")]], "secret"), "it is encrypted; save it without a password"),
        (one_page(stream(b"0 0 9 9 re f")), "it has no text, only pictures"),
        (
            one_page(
                stream(text_at(70, 700, b"a")), others={2: b"<< /Type /Pages /Kids [3 0 R 9 0 R] /Count 2 >>"}
            ),
            "page 2 cannot be read",
        ),
    ],
    "a.md": [(b"F\xfc\xdfe", "it is not in utf-8: byte 1 .*save it in UTF-8")],
    "b.html": [
        (
            f'<meta charset="{codec}"><p>a</p>'.encode(),
            f"it declares the encoding '{codec}', which is unknown",
        )
        for codec in CODECS
    ],
    "a.html": [(b"<p>Gr\xfc\xdfe", "it is not in utf-8: byte 5 .*declare its encoding, or save")],
    "a.xml": [
        (b"<LinearLayout/>", "it is not a file of Android's resources: <resources> is missing"),
        (b'<string name="a">b</string>', "it is not a file of Android's resources"),
        (b"", "not well-formed XML"),
        (b"<resources><string>a</resources>", "not well-formed XML: mismatched tag"),
        (b"<resources>\0</resources>", "not well-formed XML"),
        (b'<!DOCTYPE resources [<!ENTITY a "b">]><resources/>', "entity 'a' is declared"),
        (b"<resources>" + b"<a>" * 1001, "elements are nested more than 1000 deep"),
    ],
    "a.strings": [
        (b'"a" = "b"\n"c" = "d";', "line 2: not a file of strings: an equals sign or a semicolon"),
        (b'"a" = {b = c;};', "line 1: not a file of strings: a value in quotation marks is expected"),
        (b'"a" = "b', "line 1: not a file of strings: a value in quotation marks is expected"),
        (
            b"/* a",
            r"line 1: not a file of strings: a key in quotation marks is expected, but '/\* a' is there",
        ),
        (b'"a" = "\\341b";', r"line 1: not a file of strings: \\341 is an escape of the encoding NextStep"),
        (b'"a" = "b\\ud800";', "line 1, key a: character 2 is a lone surrogate"),
        (b"bplist00\xd1", "it is a binary property list"),
        (b'"a" = "\xff";', "it is not in utf-8: byte 7"),
    ],
    "a.xcstrings": [
        (b'{"a": "b"}', "it is not a string catalogue"),
        (b'{"sourceLanguage": "fr", "strings": {}}', "its source language is 'fr', not 'de'"),
        (b'{"sourceLanguage": "de", "strings": {"a": 1}}', "line 1, key a: the string is not an object"),
    ],
    "a.ass": [
        (b"1\n00:00:01,000 --> 00:00:02,000\na\n", r"line 1: \[Script Info\] is expected"),
        (b"[Events]\nDialogue: a\n", r"line 1: \[Script Info\] is expected"),
        (b"[Script Info]\n[Events]\nFormat: Text, Start\n", "line 3: the last field of events must be Text"),
        (b"[Script Info]\n[Events]\nDialogue: 0,a\n", "line 3: an event has 2 fields instead of 10"),
        (b"[Script Info]\n\xff", "line 2 is not UTF-8"),
        (
            b"[Script Info]\n[Events]\nFormat: Start, Text\nDialogue: 0," + b"a" * 1_000_001,
            "line 4: a text is longer than 1,000,000 characters",
        ),
    ],
    "a.properties": [
        (b"a=1\nb=\\u12g4", r"line 2: \\u is not followed by four hexadecimal digits"),
        (b"a=b\\ud800", "line 1, key a: character 2 is a lone surrogate"),
        (b"\xff\xfea\xd8", "it is not in utf-16-le"),
        (b"x" * 1001 + b"=a", "'xxx"),
    ],
    "a.ts": [
        (b'<TS language="fr_FR"></TS>', OTHER),
        (b"<xliff/>", "it is not a translation source of Qt: <TS> is missing"),
        (b"export const a = 1;", "not well-formed XML"),
        (b'<!DOCTYPE TS [<!ENTITY a "b">]><TS/>', "entity 'a' is declared"),
    ],
    "a.resx": [
        (b"<resources/>", "it is not a file of .NET resources: <root> is missing"),
        (b"<!DOCTYPE root><root/>", "it declares a document type"),
        (b"<root>\0</root>", "not well-formed XML"),
    ],
    "a.json": [
        (b"", "line 1, column 1: not valid JSON: Expecting value"),
        (b'{"a": "b",\n}', "line 2, column 1: not valid JSON: a key in quotation marks is expected"),
        (b'{"a" "b"}', "line 1, column 6: not valid JSON: a colon is expected"),
        (b'["a"] 1', "line 1, column 7: not valid JSON: something follows the value"),
        (b'// a\n{"a": "b"}', "line 1, column 1: not valid JSON"),
        (b'{"a": NaN}', "it is not valid JSON: NaN is no number of JSON"),
        (b'{"a": "b\n"}', "line 1, column 9: not valid JSON: Invalid control character"),
        (b'{"a": "b\0"}', "line 1, column 9: not valid JSON: Invalid control character"),
        (b'{"a": "b\\ud800"}', "line 1, key a: character 2 is a lone surrogate"),
        (b'{"a": "\xff"}', "it is not in utf-8: byte 7"),
        (b"[" * 101, "line 1, column 101: not valid JSON: it is nested more than 100 deep"),
        (b'{"' + b"x" * 1001 + b'": "b"}', "'x{40}'...: a key with those around it is longer than 1,000"),
    ],
    "b.po": [
        (
            f'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset={codec}\\n"\n'.encode(),
            f"its header declares the encoding '{codec}', which is unknown",
        )
        for codec in CODECS
    ],
    "a.po": [
        (b'msgid ""\nmsgstr "Language: fr_FR\\n"\n\nmsgid "ja"\nmsgstr ""\n', OTHER),
        (b'msgid "x\nmsgstr ""\n', "line 1 has no text between two quotation marks"),
        (b"Text\n", r"it is not a valid gettext catalogue: Syntax error in po file \(line 1\)"),
        (b"/etc/passwd", r"it is not a valid gettext catalogue: Syntax error in po file \(line 1\)"),
        (
            b'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=klingon\\n"\n',
            "its header declares the encoding 'klingon', which is unknown",
        ),
        (
            b'msgid ""\nmsgstr ""\n"Plural-Forms: nplurals=2; plural=import;\\n"\n',
            "its header's plural forms cannot be read",
        ),
        (b'msgid "\xfc"\nmsgstr ""\n', "it is not in utf-8"),
    ],
    "a.stringsdict": [
        (b"", "not well-formed XML: no element found"),
        (b"bplist00\xd0", "it is a binary property list; use the file of the project's sources"),
        (b"<dict><key>a</key><string>b</string></dict>", "it is not a file of plural rules"),
        (b"<plist><string>b</string></plist>", "it is not a file of plural rules: <plist> with a <dict>"),
        (b"<a><dict/></a>", "it is not a file of plural rules"),
        (
            b"<plist>" + b"<dict>" * 101 + b"</dict>" * 101 + b"</plist>",
            "elements are nested more than 100 deep",
        ),
        (
            b"<plist><dict><key>" + b"a" * 1001 + b"</key><string>b</string></dict></plist>",
            "'a{40}'...: a key with those around it is longer than 1,000 characters",
        ),
        (b'<!DOCTYPE plist [<!ENTITY a "b">]><plist/>', "entity 'a' is declared, which is not supported"),
    ],
    "a.srt": [
        (b"\nHallo\n", "line 2: a cue with a timing is expected"),
        (b"WEBVTT\n\n00:01.000 --> 00:02.000\na\n", "line 1: a cue with a timing is expected"),
        (b"1\n00:00:01,000 --> 00:00:02,000\na\n\x81", "line 4 is not UTF-8: byte 0x81 at position 1"),
        (
            b"00:00:01,000 --> 00:00:02,000\n" + (b"a" * 99 + b"\n") * 10_102,
            "line 1: more than 1,000,000 characters",
        ),
    ],
    "a.vtt": [
        (b"1\n00:00:01,000 --> 00:00:02,000\na\n", "line 1: WEBVTT is expected"),
        (b"WEBVTTX\n", "line 1: WEBVTT is expected"),
    ],
    "a.yaml": [
        (b"a: [b", r"line 1, column 6: not valid YAML: expected ',' or '\]'"),
        (b"a: b\n c: d", "line 2, column 3: not valid YAML: mapping values are not allowed here"),
        (b"a: *b\n\t- c", "line 2, column 1: not valid YAML"),
        (b"a: b\0", "it is not valid YAML: unacceptable character #x0000"),
        (b"a: \xff", "it is not in utf-8: byte 3"),
        (b"[" * 101, "line 1: it is nested more than 100 deep"),
        (b"%YAML 9.9\n---\na: b", "line 1, column 1: not valid YAML: found incompatible YAML document"),
        (b'a: "b\\ud800"', "line 1, key a: character 2 is a lone surrogate"),
    ],
    "a.jsonl": [
        (b'{"id": 1, "body": "a"}\n{"id": 2}\n', "no line has the key text; .*the first line: id, body$"),
        (b'{"text": "a"}\n[]', "line 2 is not a JSON object: character 1: an object is expected"),
        (b'"text"', "line 1 is not a JSON object: character 1: an object is expected"),
        (b'{"text": "a"', "line 1 is not a JSON object: character 13: a comma or a closing brace"),
        (
            b'{"text": "a"} {',
            "line 1 is not a JSON object: character 15: each line must have exactly one object",
        ),
        (b'{"text" "a"}', "line 1 is not a JSON object: character 9: a colon is expected"),
        (b'{"text": "a\tb"}', "line 1 is not a JSON object: character 12: Invalid control character"),
        (b'{"text": "a}', "line 1 is not a JSON object: character 10: Unterminated string"),
        (b'{1: "a"}', "line 1 is not a JSON object: character 2: a key in quotation marks is expected"),
        (b'{"a": nul}', "line 1 is not a JSON object: character 7: Expecting value"),
        (b'{"a": ' + b"[" * 100_000, "line 1 is not a JSON object: character 7: it is nested too deeply"),
        (b'{"text": ' + b"[" * 200 + b"]" * 200 + b"}", "line 1, key text.*: not a string"),
        (b'{"text": "a"}\n{"text": 1}', "line 2, key text: not a string; choose keys of strings"),
        (b'{"text": {"de": "a"}}', "line 1, key text: not a string"),
        (b'{"text": "a\\ud800"}', "line 1, key text: character 2 is a lone surrogate"),
        (b'{"text": "a"}\n{"text": "\xff"}\n', "line 2 is not UTF-8: byte 0xff at position 11"),
    ],
    "a.csv": [
        (b"id,body\n1,a\n", "no column is named text in line 1; .*: id, body$"),
        (b"text,text\n1,a\n", "more than one column is named text in line 1; .*number from: text, text$"),
        (b'id,text\n1,"a\n\n"\n2\n', "line 5 has 1 cells, but column text is number 2"),
        (b'text\n"b\nc\n', "line 2: a quoted cell is not closed"),
        (b"text\rb\rc\n", "line 1: a carriage return has no line feed"),
        (b'text\n"b"\rc\n', "line 2: a carriage return has no line feed"),
        (b"text\n\x81\n", "line 2 is not UTF-8: byte 0x81 at position 1"),
    ],
    "3.csv": [(b"a,b\n", "column 3 not found: line 1 has 2")],
    "0.csv": [(b"a,b\n", "column 0 not found: line 1 has 2")],
    "a.tmx": [
        (
            b'<tmx><header srclang="fr"/><body><tu><tuv xml:lang="fr"><seg>a</seg></tuv></tu></body></tmx>',
            "none of its 1 units has a segment in de; name its language",
        )
    ],
    "a.xliff": [
        (b'<xliff version="1.2"><file source-language="de" target-language="fr_FR"/></xliff>', OTHER),
        (b'<xliff version="2.0" srcLang="de" trgLang="fr_FR"></xliff>', OTHER),
        *(
            (
                f'<?xml version="1.0" encoding="{codec}"?><x/>'.encode(),
                f".*declares the encoding '{codec}', which is unknown",
            )
            for codec in CODECS
        ),
        (b"<x/>", "it is not an XLIFF file: <xliff> is missing"),
        (b"<xliff", "not well-formed XML: unclosed token, line 1"),
        (b"<xliff>", "not well-formed XML: no element found, line 1"),
        (b"<xliff>\n<p></xliff>", "not well-formed XML: mismatched tag, line 2"),
        (b"", "not well-formed"),
        (b"<xliff>\xff</xliff>", "it is not in utf-8"),
        (b"<p:d/>", "not well-formed XML: unbound prefix"),
        (b"<xliff>" + b"<a>" * 1001, "elements are nested more than 1000 deep"),
        (b'<xliff version="1.2"><trans-unit>' + b"<p>" * 101, "elements are nested more than 100 deep"),
        (b'<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]><xliff>&b;</xliff>', "entity 'a' is declared"),
        (
            b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><xliff>&a;</xliff>',
            "entity 'a' is declared",
        ),
        (b'<!DOCTYPE x [<!ENTITY % a SYSTEM "http://127.0.0.1/x">%a;]><xliff/>', "entity 'a' is declared"),
        (b'<!DOCTYPE x [<!ENTITY a "b">]><xliff version="1.2"/>', "entity 'a' is declared"),
    ],
}


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        pytest.param(name, *case, id=f"{name}: {case[1]}")
        for name, cases in REJECTED.items()
        for case in cases
    ],
)  # fmt: skip
def test_a_file_of_another_format_is_rejected_with_its_position(
    name: str, content: bytes, problem: str
) -> None:
    """A number as the name of a table is that of a column."""
    columns = (name[0],) if name[0].isdigit() else ()

    with pytest.raises(FileFormatError, match=f"^{problem}"):
        entries(open_format(name, FileOptions("de", "en", columns)), content)
