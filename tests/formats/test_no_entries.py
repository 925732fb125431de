# ruff: noqa: E501 -- files are read more easily unbroken
"""Strings that nobody should translate are no entries."""

from collections.abc import Mapping, Sequence

import pytest

from service.formats.registry import open_format
from tests.formats.rewriting import OPTIONS, texts

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
