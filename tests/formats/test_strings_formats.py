"""Files of strings: what is peculiar to JSON, YAML, Apple's catalogues, Qt's and .NET's files."""

import json
import plistlib
import re
from collections.abc import Callable, Mapping, Sequence
from xml.etree import ElementTree as ET

import pytest
import yaml

from service.formats.entries import Entry, FileOptions
from service.formats.json_strings import ArbFormat, JsonFormat
from service.formats.qt_ts import QtTsFormat
from service.formats.registry import open_format
from service.formats.resx import ResxFormat
from service.formats.stringsdict import StringsdictFormat
from service.formats.xcstrings import XcstringsFormat
from service.formats.yaml_strings import YamlFormat
from service.text.outcome import TextOrigin
from tests.formats.rewriting import OPTIONS, own, places, rewritten, shouted, target_text, texts, written
from tests.formats.string_samples import ARB, EXTENSION, QT, RAILS, RESX, SAMPLES, STRINGSDICT, XCSTRINGS

JSON, YAML = JsonFormat(OPTIONS), YamlFormat(OPTIONS)
CATALOGUE, TS, NET = XcstringsFormat(OPTIONS), QtTsFormat(OPTIONS), ResxFormat(OPTIONS)


RULES = "key %d files in %d folders"
STRINGS: Mapping[str, Sequence[tuple[str, str]]] = {
    "a.json": [
        ('Hallo {{name}}, <g i="0">willkommen</g>!', "line 2, key greeting"),
        ("{{count}} Datei gelöscht", "line 4, key file_one"),
        ("{{count}} Dateien gelöscht", "line 5, key file_other"),
        ("Ja", "line 6, key menu.items"),
        ("Nein", "line 6, key menu.items"),
        ("$t(greeting) Noch einmal", "line 6, key menu.again"),
        ("{count, plural, one {# Datei} other {# Dateien}}", "line 7, key icu"),
    ],
    "messages.json": [
        ('Meine <g i="0">Erweiterung</g>', "line 2, key app_name"),
        ('$USER$ hat <x i="0"/> Dateien für <x i="1"/> gefunden', "line 4, key found"),
    ],
    "a.xml": [
        ("Hallo, %1$s! Das ist's.\nZeile ü", "string hello"),
        ('Ein <g i="0">fetter</g> Text mit <g i="2">Link</g> &amp; mehr', "string styled"),
        ('<x i="0"/> bis zum Urlaub', "string countdown"),
        ("Viel   Platz 'hier'", "string quoted"),
        ("Viele Zeilen hier", "string multi"),
        ('Klicken Sie <g i="0">hier</g>!', "string html"),
        ('Mit <g i="0">CDATA</g> &amp; so', "string cdata"),
        ("%d Datei", "plurals files, one"),
        ("%d Dateien", "plurals files, other"),
        ("Montag", "string-array days, item 1"),
    ],
    "a.strings": [
        ('Hallo %@, %1$d "Dateien" ü', "line 2, key hello"),
        ("Ein Wert", "line 4, key key.unquoted"),
        ("Nur Schlüssel", "line 5, key Nur Schlüssel"),
        ("Erste\nZweite", "line 7, key multi"),
    ],
    "a.xcstrings": [
        ("%lld Datei", "line 7, key %lld Dateien, one"),
        ("%lld Dateien", "line 7, key %lld Dateien, other"),
        ("Abbrechen", "line 36, key Abbrechen"),
        ("Neu", "line 42, key Neu"),
    ],
    "a.properties": [
        ("Willkommen, {0}! Das ist's", "line 3, key welcome"),
        ("Datei ü nicht gefunden: %s", "line 4, key fehler"),
        ("Erste Zeile\nzweite Zeile weiter", "line 5, key lang"),
        ("Wert mit Raum", "line 10, key a b=c"),
        ("Ende", "line 12, key ende"),
    ],
    "a.ts": [
        ("%n Datei(en) gelöscht", "message 1, %n Datei(en) gelöscht"),
        ('&amp;Öffnen <g i="0">%1</g>…', "message 2, &Öffnen <b>%1</b>…"),
    ],
    "a.resx": [('Hallo {0}, <g i="0">willkommen</g>!', "data Hello")],
    "a.stringsdict": [
        ("%1$#@files@ in %2$#@folders@", f"{RULES}.NSStringLocalizedFormatKey"),
        ("%d gelöschte Datei", f"{RULES}.files.one"),
        ("%d gelöschte Dateien", f"{RULES}.files.other"),
        ("einem Ordner", f"{RULES}.folders.one"),
        ('%d <g i="0">Ordnern</g> &amp; mehr', f"{RULES}.folders.other"),
        ("Hallo", "key greeting.NSStringVariableWidthRuleType.1"),
        ("Guten Morgen", "key greeting.NSStringVariableWidthRuleType.50"),
    ],
    "a.yaml": [
        ("Hallo %{name}", "line 3, key de.hello"),
        ('Die "Welt" ü', "line 4, key de.title"),
        ("Das ist's", "line 5, key de.single"),
        ("Ja", "line 6, key de.yes"),
        ("nein", "line 7, key de.no"),
        ("Anker Text", "line 10, key de.anchored"),
        ("%{count} Datei", "line 14, key de.files.one"),
        ("%{count} Dateien", "line 15, key de.files.other"),
        ("Montag", "line 16, key de.list"),
        ("Dienstag", "line 16, key de.list"),
        ("Mittwoch", "line 16, key de.list.a"),
        ("Erste Zeile\n  eingerückt\n\nLetzte", "line 17, key de.literal"),
        ("Gefaltete Zeilen\nAbsatz", "line 22, key de.folded"),
        ("Behalten", "line 27, key de.kept"),
        ("mehr Zeilen", "line 30, key de.plain"),
        ("Schluss", "line 32, key de.last"),
    ],
    "a.arb": [
        ("Meine App", "line 4, key title"),
        ("Hallo {userName}", "line 5, key hello"),
        ("{count, plural, =0{keine Wombats} =1{ein Wombat} other{{count} Wombats}}", "line 10, key wombats"),
    ],
    "a.ass": [
        ('Ich habe, ein <g i="0">kleines</g> Haus.', "line 11"),
        ("Gut.", "line 12"),
        ("Ja,\u00a0na{klar}.", "line 12"),
    ],
}


@pytest.mark.parametrize("name", STRINGS)
def test_strings_with_words_are_entries_with_their_keys(name: str) -> None:
    content = EXTENSION if name == "messages.json" else SAMPLES[name.removeprefix("a")]

    assert places(open_format(name, OPTIONS), content) == STRINGS[name]


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


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ('{"a": {"message": "ja"}}', ["ja"]),
        ('{"a": {"message": "ja", "description": "nein"}, "b": "doch"}', ["ja", "nein", "doch"]),
        ('{"a": {"message": "ja", "description": "nein", "title": "doch"}}', ["ja", "nein", "doch"]),
        ('{"a": {"message": ["ja"], "description": "nein"}}', ["ja", "nein"]),
        ('{"a": {"description": "nein"}}', ["nein"]),
    ],
)
def test_messages_of_extensions_are_recognised_by_their_structure(source: str, words: list[str]) -> None:
    assert texts(JSON, source.encode()) == words


def test_scalars_keep_their_style_and_everything_else_stays() -> None:
    result = rewritten(YAML, RAILS, shouted).decode()
    before, after = yaml.load(RAILS, yaml.BaseLoader), yaml.load(result, yaml.BaseLoader)  # noqa: S506 -- strings only

    assert result.startswith("# Rails\nen:\n  hello: HALLO %{NAME}   # Gruß\n")
    assert "  single: 'DAS IST''S'\n  yes: JA\n" in result
    assert "  anchored: &a ANKER TEXT\n  alias: *a\n  symbol: !ruby/symbol foo\n" in result
    assert '  list: [MONTAG, "DIENSTAG", {a: MITTWOCH}]\n' in result
    assert "  literal: |\n    ERSTE ZEILE\n      EINGERÜCKT\n\n    LETZTE\n" in result
    assert "  folded: >-\n    GEFALTETE ZEILEN\n\n    ABSATZ\n" in result
    assert after["en"]["literal"] == before["de"]["literal"].upper()
    assert after["en"]["folded"] == before["de"]["folded"].upper()
    assert after["en"]["kept"] == before["de"]["kept"].upper()
    assert after["en"]["date"] == before["de"]["date"]


def test_aliases_are_never_expanded() -> None:
    levels = [b"a0: &a0 [ja, ja]"]
    levels += [b"a%d: &a%d [*a%d, *a%d, *a%d]" % (i, i, i - 1, i - 1, i - 1) for i in range(1, 60)]

    assert texts(YAML, b"\n".join(levels)) == ["ja", "ja"]


@pytest.mark.parametrize(
    "symbols",
    [
        "[ :year, :month, :day ]",
        "[:year,:month]",
        "{a: :b, c: [ :d ]}",
        '{"a":b, c: :d}',
        "[a: :b]",
        ":year",
    ],
)
def test_symbols_of_ruby_are_read_and_stay(symbols: str) -> None:
    """PyYAML rejects a scalar in brackets that begins with a colon; Ruby and YAML 1.2 do not."""
    content = f"de:\n  order: {symbols}\n  hello: Guten Morgen\n".encode()
    selected = YamlFormat(FileOptions("de", "en", columns=("de.hello",)))

    assert "Guten Morgen" in texts(YAML, content)
    assert not any(":" in text for text in texts(YAML, content))
    assert written(selected, content, "Hi").decode() == f"en:\n  order: {symbols}\n  hello: Hi\n"


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


def test_keys_types_and_layout_of_plural_rules_stay() -> None:
    result = rewritten(StringsdictFormat(OPTIONS), STRINGSDICT, shouted).decode()

    assert result.replace("GUTEN MORGEN", "<![CDATA[Guten Morgen]]>").lower() == STRINGSDICT.decode().lower()
    read = plistlib.loads(result.encode())
    assert read["%d files in %d folders"]["folders"] == {
        "NSStringFormatSpecTypeKey": "NSStringPluralRuleType",
        "NSStringFormatValueTypeKey": "d",
        "one": "EINEM ORDNER",
        "other": "%D <b>ORDNERN</b> & MEHR",
    }


def test_translations_of_qt_are_filled_in_and_nothing_else() -> None:
    result = rewritten(TS, QT, own).decode()
    form = "<numerusform>%n Datei(en) gelöscht</numerusform>"
    message = "&amp;Öffnen &lt;b&gt;%1&lt;/b&gt;…</"

    assert result == (
        QT.decode()
        .replace("<TS version", '<TS language="en" version')
        .replace('<translation type="unfinished">\n', "<translation>\n")
        .replace("<numerusform></numerusform>", f"{form}\n            {form}")
        .replace('<translation type="unfinished"></', f"<translation>{message}")
    )


@pytest.mark.parametrize(
    ("declared", "number"),
    [("pl_PL", 1), ("", 3), ("fr", 3)],
    ids=["its language", "none", "another language"],
)
def test_messages_of_qt_have_the_numerus_forms_of_their_language(declared: str, number: int) -> None:
    content = QT.replace(b"<TS ", f'<TS language="{declared}" '.encode())
    result = rewritten(QtTsFormat(FileOptions("de", "pl")), content, own)

    assert result.count(b"<numerusform>") == number


MARKS: dict[str, tuple[Callable[[Entry], str], str, str]] = {
    "machine": (lambda one: target_text(one.marked, TextOrigin.MACHINE, 0.5), "needs_review", "unfinished"),
    "memory": (lambda one: target_text(one.marked, TextOrigin.MEMORY), "translated", ""),
    "source": (lambda one: target_text(one.marked, TextOrigin.SOURCE), "new", "unfinished"),
    "off": (own, "translated", ""),
}


@pytest.mark.parametrize("origin", MARKS)
def test_states_of_apple_and_types_of_qt_tell_who_translated(origin: str) -> None:
    mark, state, kind = MARKS[origin]
    catalogue, result = json.loads(rewritten(CATALOGUE, XCSTRINGS, mark)), rewritten(TS, QT, mark).decode()
    start_tag = f'<translation type="{kind}">' if kind else "<translation>"
    comments = re.findall(r"<translatorcomment>([^<]*)</translatorcomment>\n {8}<translation ", result)

    assert catalogue["strings"]["Abbrechen"]["localizations"]["en"]["stringUnit"]["state"] == state
    assert f"{start_tag}&amp;Öffnen" in result
    assert comments == ["dragoman, confidence: 0.50"] * (2 if origin == "machine" else 0)


def test_strings_of_net_are_entries_and_all_else_stays() -> None:
    said = 'A & ]]> {0}<g i="0">b</g>'.replace("&", "&amp;").replace("]]>", "]]&gt;")
    result = rewritten(NET, RESX, lambda _: said)

    assert places(NET, RESX) == [('Hallo {0}, <g i="0">willkommen</g>!', "data Hello")]
    assert ET.fromstring(result)[1][0].text == "A & ]]> {0}<b>b</b>"  # noqa: S314 -- ours
    assert len(result.splitlines()) == len(RESX.splitlines())
    assert result.replace(result.splitlines()[4], RESX.splitlines()[4]) == RESX
