"""Messages in JSON and .arb: which strings are entries, and what else changes."""

import json

import pytest

from service.formats.entries import FileOptions
from service.formats.json_strings import ArbFormat, JsonFormat
from tests.formats.rewriting import OPTIONS, own, places, rewritten, shouted, texts
from tests.formats.string_samples import ARB, I18NEXT

JSON = JsonFormat(OPTIONS)
POLISH = FileOptions("de", "pl")


def test_strings_with_words_are_entries_with_their_keys() -> None:
    assert places(JSON, I18NEXT) == [
        ('Hallo {{name}}, <g i="0">willkommen</g>!', "line 2, key greeting"),
        ("{{count}} Datei gelöscht", "line 4, key file_one"),
        ("{{count}} Dateien gelöscht", "line 5, key file_other"),
        ("Ja", "line 6, key menu.items"),
        ("Nein", "line 6, key menu.items"),
        ("$t(greeting) Noch einmal", "line 6, key menu.again"),
        ("{count, plural, one {# Datei} other {# Dateien}}", "line 7, key icu"),
    ]


def test_only_entries_change() -> None:
    source = b'{ "n" : 1e400,\n\t"n": [ -0.0, null ], "a":"ja"  ,"url":"http://x.y/a" }\r\n'

    assert rewritten(JSON, source, shouted) == source.replace(b'"ja"', b'"JA"')


@pytest.mark.parametrize(
    ("source", "said", "result"),
    [
        ('{"a": "x", "b": "é"}', "ü", '{"a": "ü", "b": "é"}'),
        ('{"a": "x", "b": "\\u00e9"}', "ü😀", '{"a": "\\u00fc\\ud83d\\ude00", "b": "\\u00e9"}'),
        ('{"a": "x", "b": "1\\/2"}', "</b>", '{"a": "<\\/b>", "b": "1\\/2"}'),
        ('{"a": "x"}', 'a"\\\n', '{"a": "a\\"\\\\\\n"}'),
    ],
)
def test_escapes_are_those_of_the_file(source: str, said: str, result: str) -> None:
    content = source.encode()

    assert (
        rewritten(JSON, content, lambda entry: said if entry.text == "x" else entry.text) == result.encode()
    )


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_files_with_a_byte_order_mark_keep_their_encoding(encoding: str) -> None:
    assert rewritten(JSON, '{"a": "ja"}'.encode(encoding), shouted) == '{"a": "JA"}'.encode(encoding)


def test_plural_categories_of_the_target_language_are_added_to_keys() -> None:
    content = b'{\n  "file_one": "Datei",\n  "file_other": "Dateien",\n  "end": "Ende"\n}'

    assert rewritten(JsonFormat(POLISH), content, shouted).decode() == (
        '{\n  "file_one": "DATEI",\n  "file_other": "DATEIEN",\n  "file_few": "DATEIEN",\n'
        '  "file_many": "DATEIEN",\n  "end": "ENDE"\n}'
    )
    assert rewritten(JsonFormat(POLISH), content, lambda _: "").count(b"few") == 0


@pytest.mark.parametrize(
    ("source", "added"),
    [
        ('{"a_ordinal_one": "xa", "a_ordinal_other": "xb"}', ["a_ordinal_two", "a_ordinal_few"]),
        ('{"one": "xa", "other": "xb"}', []),
        ('{"payment_other": "xa", "payment_card": "xb"}', []),
        ('{"a_one": "xa", "a_other": 5}', []),
    ],
)
def test_categories_are_added_only_where_keys_are_plurals(source: str, added: list[str]) -> None:
    result = json.loads(rewritten(JSON, source.encode(), own))

    assert list(result) == [*json.loads(source), *added]


def test_texts_of_a_single_language_key_are_under_the_target_language_afterwards() -> None:
    content = b'{"de": {"a": "ja", "de": "nein"}}'

    assert rewritten(JSON, content, shouted) == b'{"en": {"a": "JA", "de": "NEIN"}}'
    assert rewritten(JSON, content, own) == content
    assert rewritten(JSON, b'{"de": "ja"}', shouted) == b'{"de": "JA"}'
    assert rewritten(JsonFormat(FileOptions("de", "pt-BR")), b'{"de_AT": {"a": "ja"}}', shouted) == (
        b'{"pt_BR": {"a": "JA"}}'
    )


@pytest.mark.parametrize("file_format", [ArbFormat(OPTIONS), JSON], ids=["arb", "json"])
def test_an_application_resource_bundle_keeps_its_metadata(file_format: JsonFormat) -> None:
    result = rewritten(file_format, ARB, shouted).decode()

    assert texts(file_format, ARB) == [
        "Meine App",
        "Hallo {userName}",
        "{count, plural, =0{keine Wombats} =1{ein Wombat} other{{count} Wombats}}",
    ]
    assert result.startswith('{\n    "@@locale": "en",\n    "@@last_modified": "2026-01-01T00:00:00",\n')
    assert '"description": "Gruß an den Benutzer"' in result
    assert rewritten(file_format, ARB, own) == ARB


def test_a_key_that_is_there_twice_is_translated_twice() -> None:
    assert rewritten(JSON, b'{"a": "ja", "a": "nein"}', shouted) == b'{"a": "JA", "a": "NEIN"}'
