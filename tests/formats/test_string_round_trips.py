"""Files of strings: with their own texts they stay as they were; other texts are read again by others."""

import json
import plistlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as ET

import pytest
import yaml
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from service.formats.entries import Entry, FileOptions
from service.formats.json_strings import JsonFormat
from service.formats.registry import open_format
from service.formats.yaml_strings import YamlFormat
from service.text.escaping import escape_xml
from tests.formats.rewriting import BILINGUAL, OPTIONS, entries, own, places, rewritten, texts, written
from tests.formats.string_samples import EXTENSION, SAMPLES

_ESCAPE = re.compile(r"\\(?:u([0-9a-f]{4})|(.))")
_KEPT = re.compile(r"[#@]\S+|&\w+;|\{[^{}]*\}|%\w+%")
"""Topics, names, references and placeholders."""
_NAMED = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}


@dataclass(frozen=True, slots=True)
class _Kind:
    """A writer and a reader of files, not this project's; the keys of the texts are `k0`, `k1` and so on."""

    write: Callable[[Sequence[str]], bytes]
    read: Callable[[bytes], Sequence[str]]


def _unescaped(text: str) -> str:
    decoded = _ESCAPE.sub(
        lambda found: chr(int(found[1], 16)) if found[1] else _NAMED.get(found[2], found[2]), text
    )
    return decoded.encode("utf-16", "surrogatepass").decode("utf-16")


def _java(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")
    return f"\\{escaped}" if escaped.startswith(" ") else escaped


def _apple(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")


def _keyed(texts: Sequence[str]) -> dict[str, str]:
    return {f"k{i}": text for i, text in enumerate(texts)}


def _values(found: Mapping[str, str]) -> list[str]:
    return list(found.values())


def _write_resx(texts: Sequence[str]) -> bytes:
    data = "".join(
        f'<data name="k{i}"><value>{escape_xml(text)}</value></data>\n' for i, text in enumerate(texts)
    )
    return f"<root>\n{data}</root>".encode()


def _read_resx(content: bytes) -> list[str]:
    return [value.text or "" for value in ET.fromstring(content).iterfind("data/value")]  # noqa: S314 -- ours


def _write_rules(texts: Sequence[str]) -> bytes:
    rules = {key: {"NSStringVariableWidthRuleType": {"1": text}} for key, text in _keyed(texts).items()}
    return plistlib.dumps(rules, sort_keys=False)


def _yaml(**style: Any) -> _Kind:
    return _Kind(
        lambda texts: str(yaml.safe_dump({"a": _keyed(texts)}, **style)).encode(),
        lambda content: _values(yaml.safe_load(content)["a"]),
    )


KINDS = {
    "a.stringsdict": _Kind(
        _write_rules,
        lambda content: [
            rule["NSStringVariableWidthRuleType"]["1"] for rule in plistlib.loads(content).values()
        ],
    ),
    "messages.json": _Kind(
        lambda texts: json.dumps(
            {key: {"description": "Wort", "message": text} for key, text in _keyed(texts).items()}
        ).encode(),
        lambda content: [message["message"] for message in json.loads(content).values()],
    ),
    "a.json": _Kind(
        lambda texts: json.dumps(_keyed(texts), indent=2).encode(),
        lambda content: _values(json.loads(content)),
    ),
    "b.json": _Kind(
        lambda texts: json.dumps(_keyed(texts), ensure_ascii=False).encode(),
        lambda content: _values(json.loads(content)),
    ),
    "plain.yaml": _yaml(allow_unicode=True),
    "quoted.yaml": _yaml(default_style="'", width=10),
    "literal.yaml": _yaml(default_style="|", indent=4),
    "folded.yaml": _yaml(default_style=">", width=10),
    "flow.yaml": _Kind(
        lambda texts: yaml.safe_dump(list(texts), default_flow_style=True, allow_unicode=True).encode(),
        lambda content: list(yaml.safe_load(content)),
    ),
    "a.properties": _Kind(
        lambda texts: "".join(f"k{i} = {_java(text)}\n" for i, text in enumerate(texts)).encode(),
        lambda content: [
            _unescaped(line.partition(" = ")[2]) for line in content.decode().split("\n") if line
        ],
    ),
    "a.strings": _Kind(
        lambda texts: "".join(f'"k{i}" = "{_apple(text)}";\n' for i, text in enumerate(texts)).encode(),
        lambda content: [
            _unescaped(line.partition(" = ")[2][1:-2].replace("\\U", "\\u"))
            for line in content.decode().split("\n")
            if line
        ],
    ),
    "a.resx": _Kind(_write_resx, _read_resx),
}
_PIECES = (
    *(
        "Wort",
        "zwei ",
        " ",
        "  ",
        "\n",
        "\t",
        '"',
        "'",
        "\\",
        "\\n",
        "%s",
        "%",
        ": ",
        " #",
        "#",
        "-",
        "- ",
        "[",
        "]",
    ),
    *("{", "}", "&", "*", "|", ">", "@", "!", "=", ";", "//", "ü", "字", "😀", "é", "\u00a0", "null", "y"),
)
_TEXT = st.lists(st.sampled_from(_PIECES), min_size=1, max_size=8).map("".join)


def _edges(text: str) -> tuple[str, str]:
    return text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=60, deadline=None)
@given(texts=st.lists(_TEXT, min_size=1, max_size=4), said=st.lists(_TEXT, min_size=4, max_size=4))
def test_own_texts_change_nothing_and_others_are_read_as_they_are(
    name: str, texts: list[str], said: list[str]
) -> None:
    kind, file_format = KINDS[name], open_format(name, OPTIONS)
    content = kind.write(texts)
    assume(list(kind.read(content)) == texts)  # PyYAML folds a line that begins with a space, and breaks it

    assert rewritten(file_format, content, own) == content

    given_texts = iter(said)
    replaced: dict[str, list[str]] = {}

    def say(entry: Entry) -> str:
        text = next(given_texts)
        replaced.setdefault(entry.text, []).append(text)
        return text

    result = kind.read(rewritten(file_format, content, say))
    for before, after in zip(texts, result, strict=True):
        answers = replaced.get(before.strip())
        if answers is None:
            assert "Wort" not in _KEPT.sub("", before)
            assert after == before
            continue
        start, end = _edges(before)
        assert after == f"{start}{answers.pop(0)}{end}"


@pytest.mark.parametrize("suffix", sorted(SAMPLES.keys() - BILINGUAL))
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_sample_written_with_its_own_texts_is_the_same(suffix: str, line_end: str) -> None:
    file_format = open_format(f"a{suffix}", OPTIONS)
    content = SAMPLES[suffix].replace(b"\n", line_end.encode())

    assert rewritten(file_format, content, own) == content


@pytest.mark.parametrize("suffix", SAMPLES)
def test_all_entries_of_strings_are_messages(suffix: str) -> None:
    found = entries(open_format(f"a{suffix}", OPTIONS), SAMPLES[suffix])

    assert found
    assert all(entry.is_message for entry in found) == (suffix not in {".ass", ".ssa"})


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
    ["[ :year, :month, :day ]", "[:year,:month]", "{a: :b, c: [ :d ]}", '{"a":b, c: :d}', "[a: :b]", ":year"],
)
def test_symbols_of_ruby_are_read_and_stay(symbols: str) -> None:
    """PyYAML rejects a scalar in brackets that begins with a colon; Ruby and YAML 1.2 do not."""
    content = f"de:\n  order: {symbols}\n  hello: Guten Morgen\n".encode()
    selected = YamlFormat(FileOptions("de", "en", columns=("de.hello",)))

    assert "Guten Morgen" in texts(YAML, content)
    assert not any(":" in text for text in texts(YAML, content))
    assert written(selected, content, "Hi").decode() == f"en:\n  order: {symbols}\n  hello: Hi\n"
