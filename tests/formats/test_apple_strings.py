"""Strings of Apple's platforms: `.strings` and string catalogues."""

import json
from collections.abc import Callable

import pytest

from service.formats.apple_strings import AppleStringsFormat
from service.formats.entries import Entry, FileOptions
from service.formats.xcstrings import XcstringsFormat
from service.text.outcome import TextOrigin
from tests.formats.rewriting import OPTIONS, own, places, rewritten, shouted, target_text
from tests.formats.string_samples import STRINGS, XCSTRINGS

FORMAT = AppleStringsFormat(OPTIONS)
CATALOGUE = XcstringsFormat(OPTIONS)


def test_values_with_words_are_entries_without_escapes() -> None:
    assert places(FORMAT, STRINGS) == [
        ('Hallo %@, %1$d "Dateien" ü', "line 2, key hello"),
        ("Ein Wert", "line 4, key key.unquoted"),
        ("Nur Schlüssel", "line 5, key Nur Schlüssel"),
        ("Erste\nZweite", "line 7, key multi"),
    ]
    assert rewritten(FORMAT, STRINGS, lambda _: 'a\n"b"\\').decode() == (
        '/* Gruß */\n"hello" = "a\\n\\"b\\"\\\\\\n";\n// Zeile\nkey.unquoted   = "a\\n\\"b\\"\\\\";\n'
        '"Nur Schlüssel" = "a\\n\\"b\\"\\\\";\n"url" = "https://a.b";\n"multi" = "a\n\\"b\\"\\\\";\n'
    )


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"])
def test_the_encoding_of_strings_stays(encoding: str) -> None:
    content = '"a" = "grün";\n'.encode(encoding)

    assert rewritten(FORMAT, content, shouted).decode(encoding) == '"a" = "GRÜN";\n'
    assert rewritten(FORMAT, content, own) == content


def test_missing_localisations_are_filled_in_and_nothing_else() -> None:
    assert places(CATALOGUE, XCSTRINGS) == [
        ("%lld Datei", "line 7, key %lld Dateien, one"),
        ("%lld Dateien", "line 7, key %lld Dateien, other"),
        ("Abbrechen", "line 36, key Abbrechen"),
        ("Neu", "line 42, key Neu"),
    ]
    before, after = json.loads(XCSTRINGS), json.loads(rewritten(CATALOGUE, XCSTRINGS, shouted))

    def unit(value: str) -> object:
        return {"stringUnit": {"state": "translated", "value": value}}

    strings = before["strings"]
    plural = {"one": unit("%LLD DATEI"), "other": unit("%LLD DATEIEN")}
    strings["%lld Dateien"]["localizations"]["en"] = {"variations": {"plural": plural}}
    strings["Abbrechen"]["localizations"] = {"en": unit("ABBRECHEN")}
    strings["Neu"]["localizations"]["en"] = unit("NEU")
    assert after == before


def test_a_catalogue_is_written_as_xcode_writes_it() -> None:
    result = rewritten(CATALOGUE, XCSTRINGS, shouted)
    laid_out = json.dumps(json.loads(result), indent=2, separators=(",", " : "), ensure_ascii=False)

    assert result.decode() == laid_out.replace('"" : {}', '"" : {\n\n    }') + "\n"
    assert list(json.loads(result)["strings"]["%lld Dateien"]["localizations"]) == ["de", "en", "fr"]


def test_a_catalogue_in_one_line_stays_in_one_line() -> None:
    content = b'{"sourceLanguage":"de","strings":{"ja":{},"nein":{"comment":"c"}},"version":"1.0"}'

    assert rewritten(CATALOGUE, content, shouted) == (
        b'{"sourceLanguage":"de","strings":{"ja":{"localizations":{"en":{"stringUnit":{"state":"translated",'
        b'"value":"JA"}}}},"nein":{"comment":"c","localizations":{"en":{"stringUnit":{"state":"translated",'
        b'"value":"NEIN"}}}}},"version":"1.0"}'
    )


def test_plural_variations_have_the_categories_of_the_target_language() -> None:
    def kinds(target: str) -> list[str]:
        result = json.loads(rewritten(XcstringsFormat(FileOptions("de", target)), XCSTRINGS, own))
        return list(result["strings"]["%lld Dateien"]["localizations"][target]["variations"]["plural"])

    assert kinds("pl") == ["one", "few", "many", "other"]
    assert kinds("ja") == ["other"]


@pytest.mark.parametrize(
    ("mark", "state"),
    [
        (lambda entry: target_text(entry.marked, TextOrigin.MACHINE), "needs_review"),
        (lambda entry: target_text(entry.marked, TextOrigin.MEMORY), "translated"),
        (lambda entry: target_text(entry.marked, TextOrigin.SOURCE), "new"),
        (own, "translated"),
    ],
    ids=["machine", "memory", "source", "off"],
)
def test_states_tell_who_translated(mark: Callable[[Entry], str], state: str) -> None:
    result = json.loads(rewritten(CATALOGUE, XCSTRINGS, mark))

    assert result["strings"]["Abbrechen"]["localizations"]["en"]["stringUnit"]["state"] == state
