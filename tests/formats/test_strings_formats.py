"""Files of strings: what is peculiar to JSON, YAML, Apple's catalogues, Qt's and .NET's files."""

from collections.abc import Mapping, Sequence

import pytest

from service.formats.entries import FileOptions
from service.formats.json_strings import JsonFormat
from service.formats.registry import open_format
from service.formats.yaml_strings import YamlFormat
from tests.formats.rewriting import OPTIONS, places, texts, written
from tests.formats.string_samples import EXTENSION, SAMPLES

JSON, YAML = JsonFormat(OPTIONS), YamlFormat(OPTIONS)


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
