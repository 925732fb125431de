# ruff: noqa: E501 -- files are read more easily unbroken
"""Rules that hold for files of every format."""

import gzip
from collections.abc import Mapping, Sequence

import pytest

from service.formats.entries import FileFormatError, FileOptions
from service.formats.registry import open_format
from tests.formats.fuzz.seeds import FILES
from tests.formats.rewriting import OPTIONS, rewritten, texts, written
from tests.formats.string_samples import EXTENSION, STRINGSDICT


@pytest.mark.parametrize("suffix", FILES)
def test_writing_takes_as_many_texts_as_reading_gives(suffix: str) -> None:
    content, file_format = FILES[suffix][0], open_format(f"a{suffix}", OPTIONS)
    own = texts(file_format, content)

    with pytest.raises(ValueError, match=r"fewer texts than entries: none for \w+"):
        written(file_format, content, *own[:-1])
    with pytest.raises(ValueError, match="more texts than entries"):
        written(file_format, content, *own, "one more")


KEYED = b'{"a": {"b": "eins", "c": ["zwei"]}, "a.d": "drei", "e": "vier", "ab": "nein"}'
RULES, MESSAGES, LINES = STRINGSDICT, EXTENSION, b"a=eins\na.b=zwei\nab=drei"


@pytest.mark.parametrize(
    ("name", "content", "columns", "expected"),
    [
        ("a.json", KEYED, ("a.c", "e"), ["zwei", "vier"]),
        ("a.json", KEYED, ("a",), ["eins", "zwei", "drei"]),
        ("a.json", KEYED, ("a", "x.y"), None),
        ("a.csv.gz", gzip.compress(b"a,b\n1,Hallo\n", mtime=0), ("b",), ["Hallo"]),
        ("a.properties", LINES, ("a",), ["eins", "zwei"]),
        ("a.properties", LINES, ("x",), None),
        ("a.stringsdict", RULES, ("greeting",), ["Hallo", "Guten Morgen"]),
        ("a.stringsdict", RULES, ("%d files in %d folders.folders.one",), ["einem Ordner"]),
        ("a.stringsdict", RULES, ("x",), None),
        (
            "messages.json",
            MESSAGES,
            ("app_name",),
            ['Meine <g i="0">Erweiterung</g>'],
        ),
        ("messages.json", MESSAGES, ("x",), None),
    ],
)
def test_columns_of_strings_are_keys_with_all_within_them(
    name: str, content: bytes, columns: tuple[str, ...], expected: list[str] | None
) -> None:
    file_format = open_format(name, FileOptions("de", "en", columns))

    if expected is None:
        with pytest.raises(
            FileFormatError, match=f"^no text has the key {columns[-1]}; choose keys of the file"
        ):
            texts(file_format, content)
    else:
        assert texts(file_format, content) == expected


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.txt", b"\nb\n", "line 2: its translation cannot be written in UTF-8: character 3"),
        ("a.jsonl", b'{"text": "a"}', "line 1, key text: its translation cannot be written"),
        ("a.jsonl", b'{"text": "\\u00fc"}', "line 1, key text: its translation cannot be written"),
        ("a.json", b'{"a": "ja"}', "line 1, key a: its translation cannot be written in UTF-8"),
        (
            "a.xcstrings",
            b'{"sourceLanguage": "de", "strings": {"ja": {}}}',
            "line 1, key ja: its translation cannot be written",
        ),
        ("a.csv", b"text\na\n", "line 2, column text: its translation cannot be written"),
        ("a.parquet", FILES[".parquet"][0], "row 1, column text: its translation cannot be written"),
        ("a.txt.gz", FILES[".txt.gz"][0], "line 1: its translation cannot be written"),
        (
            "a.po",
            FILES[".po"][1],
            r"'\\ud800' of a translation cannot be written in iso8859-1; save the file",
        ),
    ],
)
def test_a_translation_with_invalid_unicode_is_rejected_with_its_position(
    name: str, content: bytes, problem: str
) -> None:
    with pytest.raises(FileFormatError, match=f"^{problem}"):
        rewritten(open_format(name, OPTIONS), content, lambda _: "ab\ud800")


FRAMES = {
    "a.json": '{"a": "•"}',
    "messages.json": '{"a": {"message": "•", "description": "Wozu", "placeholders": {"user": {"content": "$1"}}}}',
    "a.xml": '<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">•</resources>',
    "a.ts": "<TS><context><name>a</name><message>•</message></context></TS>",
    "a.xcstrings": '{"sourceLanguage": "de", "strings": {"ja": {"localizations": {"de": •}}}}',
    "a.ass": "[Script Info]\n\n[Events]\nFormat: Start, End, Text\nDialogue: 0:00:01.00,0:00:02.00,•\n",
    "a.yaml": "- &b •\n- *b\n",
}
"""Files, each with a place for what is tried."""
NO_TEXTS: Mapping[str, Sequence[str]] = {
    "a.json": [
        "", " ", "12", "-", "1.5 %", "https://example.org", "/etc/app", "{{name}}: <b>", "{{- html}}",
        "{{when, datetime}}", "$t(key)", '$t(ns:key, {\\"count\\": 1})', "%#@files@", "%1$#@a_b@",
    ],
    "messages.json": ["$USER$", "$1", "$USER$: $2"],
    "a.xml": [
        *(
            f'<string name="a">{text}</string>'
            for text in (
                "@string/other", "@android:string/ok", "?attr/colour", "@null", "%1$s", "12", "", " ",
                '<xliff:g id="a">Marke</xliff:g>', "https://example.org/a",
            )
        ),
        '<string name="a" translatable="false">A</string>',
        '<string-array name="b" translatable="false"><item>B</item></string-array>',
        '<dimen name="c">1dp</dimen><item type="id" name="d">D</item>',
    ],
    "a.ts": [
        "<source>ja</source><translation>yes</translation>",
        '<source>ja</source><translation type="obsolete"></translation>',
        '<source>ja</source><translation type="unfinished">yes?</translation>',
        "<source>%1</source><translation/>",
        "<source>ja</source>",
        "<source>ja</source><translation><numerusform>yes</numerusform><numerusform/></translation>",
        '<source>ja</source><translation variants="yes"><lengthvariant></lengthvariant></translation>',
    ],
    "a.xcstrings": [
        '{"substitutions": {}}',
        '{"stringUnit": {"state": "translated", "value": "a"}, "substitutions": {}}',
        '{"variations": {"plural": {"one": {"stringUnit": {"value": "a"}}}}}',
        '{"variations": {"plural": {"other": {"substitutions": {}}}}}',
    ],
    "a.ass": [r"{\p1}m 0 0 l 1 0{\p0}", r"{\an8}", "", r"\N"],
    "a.yaml": ["1", "1e3", "true", "no", "~", "2020-01-01", "12:30", "!!str ja", "!a ja"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "text"), [(name, text) for name, found in NO_TEXTS.items() for text in found]
)
def test_strings_without_words_references_and_what_is_done_are_no_entries(name: str, text: str) -> None:
    assert texts(open_format(name, OPTIONS), FRAMES[name].replace("•", text).encode()) == []
