"""Messages in YAML: which scalars are entries, and how translations are written."""

import pytest
import yaml

from service.formats.entries import FileOptions
from service.formats.yaml_strings import YamlFormat
from tests.formats.rewriting import OPTIONS, own, places, rewritten, shouted, texts, written
from tests.formats.string_samples import RAILS

YAML = YamlFormat(OPTIONS)


def test_scalars_with_words_are_entries_with_their_keys() -> None:
    assert places(YAML, RAILS) == [
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
    ]


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


@pytest.mark.parametrize(
    ("source", "said", "result"),
    [
        ("a: ja", "yes", 'a: "yes"'),
        ("a: ja", "Norway: no", 'a: "Norway: no"'),
        ("a: ja", "5", 'a: "5"'),
        ("a: ja", "*b", 'a: "*b"'),
        ("a: ja", "C #", 'a: "C #"'),
        ("a: ja", "y", 'a: "y"'),
        ("a: ja", "yes, sir", "a: yes, sir"),
        ("[ja]", "yes, sir", '["yes, sir"]'),
        ("a: ja", "two\nlines", 'a: "two\\nlines"'),
        ("a: 'ja'", "two\nlines", 'a: "two\\nlines"'),
        ("a: |\n  ja\n", "  indented", 'a: "  indented\\n"\n'),
        ("a: |2\n    ja\n", "yes", 'a: "  yes\\n"\n'),
        ("a: >\n  ja\n", "two\nlines", "a: >\n  two\n\n  lines\n"),
        ("a: ja", "\x7f\u2028\x01", 'a: "\\u007f\\u2028\\u0001"'),
    ],
)
def test_a_translation_that_its_style_cannot_hold_is_quoted(source: str, said: str, result: str) -> None:
    assert rewritten(YAML, source.encode(), lambda _: said) == result.encode()


def test_plural_categories_of_the_target_language_are_added() -> None:
    polish = YamlFormat(FileOptions("de", "pl"))
    block = b"de:\r\n  files:\r\n    one: Datei # a\r\n    other: Dateien # b\r\n  c: Ende\r\n"

    assert rewritten(polish, block, shouted) == (
        b"pl:\r\n  files:\r\n    one: DATEI # a\r\n    other: DATEIEN # b\r\n    few: DATEIEN\r\n"
        b"    many: DATEIEN\r\n  c: ENDE\r\n"
    )
    assert rewritten(polish, b"{one: Datei, other: Dateien}", shouted) == (
        b"{one: DATEI, other: DATEIEN, few: DATEIEN, many: DATEIEN}"
    )


def test_a_single_language_key_names_the_target_language_afterwards() -> None:
    assert rewritten(YamlFormat(FileOptions("de", "no")), b"de:\n  a: ja\n", shouted) == b'"no":\n  a: JA\n'
    assert rewritten(YAML, b"de:\n  a: ja\n", own) == b"de:\n  a: ja\n"
    assert rewritten(YAML, b"de:\n  a: ja\nen:\n  a: nein\n", shouted) == b"de:\n  a: JA\nen:\n  a: NEIN\n"


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
