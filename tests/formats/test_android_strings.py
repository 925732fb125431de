"""String resources of Android: what is an entry, and how translations are escaped."""

import shutil
import subprocess
from pathlib import Path

import pytest

from service.formats.android_xml import AndroidXmlFormat
from service.formats.entries import FileOptions
from tests.formats.rewriting import OPTIONS, own, places, rewritten, shouted
from tests.formats.string_samples import ANDROID

XML = AndroidXmlFormat(OPTIONS)
AAPT = shutil.which("aapt")


def _resources(content: str) -> bytes:
    return f'<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">{content}</resources>'.encode()


def _string(content: str) -> bytes:
    return _resources(f'<string name="a">{content}</string>')


def test_strings_plurals_and_arrays_are_entries_without_escapes() -> None:
    assert places(XML, ANDROID) == [
        ("Hallo, %1$s! Das ist's.\nZeile ü", "string hello"),
        (
            ('Ein <g i="0">fetter</g> Text mit <g i="2">Link</g> &amp; mehr'),
            "string styled",
        ),
        ('<x i="0"/> bis zum Urlaub', "string countdown"),
        ("Viel   Platz 'hier'", "string quoted"),
        ("Viele Zeilen hier", "string multi"),
        ('Klicken Sie <g i="0">hier</g>!', "string html"),
        ('Mit <g i="0">CDATA</g> &amp; so', "string cdata"),
        ("%d Datei", "plurals files, one"),
        ("%d Dateien", "plurals files, other"),
        ("Montag", "string-array days, item 1"),
    ]


@pytest.mark.parametrize(
    ("content", "said", "result"),
    [
        ("ja", "don't", r"don\'t"),
        ("ja", 'a "b" \\ c\n\td', r"a \"b\" \\ c\n\td"),
        ("ja", "@yes", r"\@yes"),
        ("ja", "?", r"\?"),
        ("ja", " a  b ", r"\u0020a \u0020b\u0020"),
        ("ja", "a < b & c\u00a0d", r"a &lt; b &amp; c\u00A0d"),
        ("\n  ja\n", "yes", "\n  yes\n"),
        ('"ja"', 'don\'t  "go"', r'''"don't  \"go\""'''),
        ("<![CDATA[ja]]>", "a & <b> ]]>", "<![CDATA[a & <b> ]]]]><![CDATA[>]]>"),
        ("<b>ja</b>", "yes", "<b>yes</b>"),
    ],
)
def test_translations_are_escaped(content: str, said: str, result: str) -> None:
    assert rewritten(XML, _string(content), lambda _: said) == _string(result)


def test_escapes_that_android_does_not_know_stay() -> None:
    assert rewritten(XML, _string(r"ja \u2026 \q und"), shouted) == _string(r"JA … \q UND")


def test_quantities_of_the_target_language_are_added() -> None:
    polish = AndroidXmlFormat(FileOptions("de", "pl"))
    content = _resources(
        '<plurals name="n">\n  <!-- a --><item quantity="one">Datei</item>'
        '\n  <item quantity="other">Dateien</item>\n</plurals>'
    )
    result = rewritten(polish, content, shouted).decode()

    assert result.endswith(
        '<item quantity="other">DATEIEN</item>\n  <item quantity="few">DATEIEN</item>'
        '\n  <item quantity="many">DATEIEN</item>\n</plurals></resources>'
    )
    assert b"few" not in rewritten(polish, content, lambda _: "")
    assert rewritten(XML, content, own) == content


@pytest.mark.skipif(AAPT is None, reason="aapt of Debian's package aapt is not installed")
def test_androids_own_tool_reads_translated_resources(tmp_path: Path) -> None:
    def say(entry: object) -> str:
        text = getattr(entry, "text", "")
        return text if text.startswith("<t") else f"'{text}' \"\\ @?"

    values = tmp_path / "res" / "values"
    values.mkdir(parents=True)
    (values / "strings.xml").write_bytes(rewritten(XML, ANDROID, say))
    (tmp_path / "AndroidManifest.xml").write_text(
        '<manifest xmlns:android="http://schemas.android.com/apk/res/android" package="a.b"/>'
    )
    command = [str(AAPT), "package", "-M", "AndroidManifest.xml", "-S", "res", "-F", "a.apk"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    dumped = subprocess.run(
        [str(AAPT), "dump", "strings", "a.apk"], cwd=tmp_path, check=True, capture_output=True, text=True
    ).stdout

    for wanted in ("Hallo, %1$s! Das ist's.\nZeile ü", "Montag", "Viel   Platz 'hier'"):
        assert f"'{wanted}' \"\\ @?" in dumped
