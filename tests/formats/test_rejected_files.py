"""Files that are none of their kind, and the place where that shows."""

from codecs import BOM_UTF16_LE

import pytest

from service.formats.entries import FileFormatError
from service.formats.registry import open_format
from tests.formats.rewriting import OPTIONS, entries

REJECTED = {
    "a.txt": [
        (b"Gr\xc3\xbc\xc3\x9fe\nGra\xfc\n", "line 2 is not UTF-8: byte 0xfc at position 4 of it; convert"),
        (b"\xef\xbb\xbfa\xff", "line 1 is not UTF-8: byte 0xff at position 5 of it"),
        (BOM_UTF16_LE + b"a", r"it is not in utf-16-le, .* byte 2 \(counted from 0\)"),
        (
            BOM_UTF16_LE + b"a\0" * 70_000 + b"\0\xdc\0\0",
            r"it is not in utf-16-le, .* byte 140002 \(counted from 0\)",
        ),
    ],
    "a.md": [(b"F\xfc\xdfe", "it is not in utf-8: byte 1 .*save it in UTF-8")],
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
    "a.po": [
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
        (b"1\n00:00:01,000 --> 00:00:02,000\na\n\xfc", "line 4 is not UTF-8: byte 0xfc at position 1"),
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
    "a.xliff": [
        (b"<x/>", "it is not an XLIFF file: <xliff> is missing"),
        (b"<xliff", "not well-formed XML: unclosed token, line 1"),
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
)
def test_a_file_of_another_format_is_rejected_with_its_position(
    name: str, content: bytes, problem: str
) -> None:
    with pytest.raises(FileFormatError, match=f"^{problem}"):
        entries(open_format(name, OPTIONS), content)
