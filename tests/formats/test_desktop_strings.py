"""Strings of programs on desktops: Java's `.properties`, Qt's `.ts`, .NET's `.resx`."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from service.formats.entries import Entry, FileOptions
from service.formats.java_properties import PropertiesFormat
from service.formats.qt_ts import QtTsFormat
from service.formats.resx import ResxFormat
from service.text.outcome import TextOrigin
from tests.formats.rewriting import OPTIONS, own, places, rewritten, shouted, target_text
from tests.formats.string_samples import PROPERTIES, QT, RESX

JAVA = PropertiesFormat(OPTIONS)
TS = QtTsFormat(OPTIONS)
NET = ResxFormat(OPTIONS)
LRELEASE = shutil.which("lrelease")


def test_values_of_properties_are_entries_and_all_else_stays() -> None:
    assert places(JAVA, PROPERTIES) == [
        ("Willkommen, {0}! Das ist's", "line 3, key welcome"),
        ("Datei ü nicht gefunden: %s", "line 4, key fehler"),
        ("Erste Zeile\nzweite Zeile weiter", "line 5, key lang"),
        ("Wert mit Raum", "line 10, key a b=c"),
        ("Ende", "line 12, key ende"),
    ]
    assert rewritten(JAVA, PROPERTIES, shouted) == (
        rb"""# Kommentar
! auch einer
welcome = WILLKOMMEN, {0}! DAS IST''S
fehler:DATEI \u00dc NICHT GEFUNDEN: %S
lang = ERSTE ZEILE\n\
    ZWEITE ZEILE WEITER
url=https://example.org/c
leer=
  a\ b\=c   WERT MIT RAUM
choice={0,choice,0#keine|1#eine}
ende=ENDE"""
    )


@pytest.mark.parametrize(
    ("content", "said", "result"),
    [
        (b"a=ja", "ü字😀", rb"a=\u00fc\u5b57\ud83d\ude00"),
        ("# é\na=ja".encode(), "ü字", "# é\na=ü字".encode()),
        ("# é\na=ja".encode("latin-1"), "ü字", "# é\na=ü\\u5b57".encode("latin-1")),
        (b"a=ja", " a\\\t\n b\r\x01", rb"a=\ a\\\t\n b\r\u0001"),
        (b"a=ja", "don't", b"a=don't"),
        (b"a={0} ja", "don't {0}", b"a=don''t {0}"),
        (b"a={0} 'ja", "don't {0}", b"a=don't {0}"),
        (b"a={n, plural, one {ja} other {ja}}", "don't", b"a=don't"),
        (b"a=eins\\n\\\r\n  zwei", "a\n b", b"a=a\\n\\\r\n  \\ b"),
        (b"a = \\\n   ja\nb: ja", "yes", b"a = yes\nb: yes"),
        (b"a ja\\\n", "yes", b"a yes"),
    ],
)
def test_translations_of_properties_are_escaped(content: bytes, said: str, result: bytes) -> None:
    assert rewritten(JAVA, content, lambda _: said) == result


def test_messages_of_qt_without_a_translation_are_entries() -> None:
    assert places(TS, QT) == [
        ("%n Datei(en) gelöscht", "message 1, %n Datei(en) gelöscht"),
        ('&amp;Öffnen <g i="0">%1</g>…', "message 2, &Öffnen <b>%1</b>…"),
    ]


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


@pytest.mark.parametrize(
    ("mark", "start_tag"),
    [
        (lambda entry: target_text(entry.marked, TextOrigin.MACHINE, 0.5), '<translation type="unfinished">'),
        (lambda entry: target_text(entry.marked, TextOrigin.MEMORY), "<translation>"),
        (lambda entry: target_text(entry.marked, TextOrigin.SOURCE), '<translation type="unfinished">'),
        (own, "<translation>"),
    ],
    ids=["machine", "memory", "source", "off"],
)
def test_types_of_qt_tell_what_is_to_be_reviewed(mark: Callable[[Entry], str], start_tag: str) -> None:
    result = rewritten(TS, QT, mark).decode()

    assert f"{start_tag}&amp;Öffnen" in result
    comments = re.findall(r"<translatorcomment>([^<]*)</translatorcomment>\n {8}<translation ", result)
    assert comments == (["dragoman, confidence: 0.50"] * 2 if "0.50" in result else [])


@pytest.mark.skipif(
    LRELEASE is None, reason="lrelease of Debian's package qttools5-dev-tools is not installed"
)
@pytest.mark.parametrize("mark", [own, lambda entry: target_text(entry.marked, TextOrigin.MACHINE, 0.5)])
def test_qts_own_tools_read_translated_messages(tmp_path: Path, mark: Callable[[Entry], str]) -> None:
    file, catalogue = tmp_path / "a.ts", tmp_path / "a.po"
    file.write_bytes(rewritten(QtTsFormat(FileOptions("de", "pl")), QT, mark))

    released = subprocess.run([str(LRELEASE), str(file)], check=True, capture_output=True, text=True).stdout
    assert "Generated 3 translation(s)" in released
    lconvert = str(LRELEASE).replace("lrelease", "lconvert")
    subprocess.run([lconvert, str(file), "-o", str(catalogue)], check=True, capture_output=True)
    assert catalogue.read_text().count("%n Datei(en) gelöscht") == 5  # singular, plural, and three forms


def test_strings_of_net_are_entries_and_all_else_stays() -> None:
    said = 'A & ]]> {0}<g i="0">b</g>'.replace("&", "&amp;").replace("]]>", "]]&gt;")
    result = rewritten(NET, RESX, lambda _: said)

    assert places(NET, RESX) == [('Hallo {0}, <g i="0">willkommen</g>!', "data Hello")]
    assert ET.fromstring(result)[1][0].text == "A & ]]> {0}<b>b</b>"  # noqa: S314 -- ours
    assert len(result.splitlines()) == len(RESX.splitlines())
    assert result.replace(result.splitlines()[4], RESX.splitlines()[4]) == RESX
