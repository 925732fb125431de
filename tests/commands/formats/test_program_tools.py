"""Tools of Android and Qt read translated files."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from service.formats.android_xml import AndroidXmlFormat
from service.formats.entries import Entry, FileOptions, TargetText
from service.formats.qt_ts import QtTsFormat
from service.text.outcome import TextOrigin
from tests.formats.rewriting import OPTIONS, own, rewritten, target_text
from tests.formats.string_samples import ANDROID, QT

AAPT = shutil.which("aapt")
LRELEASE = shutil.which("lrelease")


@pytest.mark.skipif(AAPT is None, reason="aapt of Debian's package aapt is not installed")
def test_androids_own_tool_reads_translated_resources(tmp_path: Path) -> None:
    def say(entry: object) -> str:
        text = getattr(entry, "text", "")
        return text if text.startswith("<t") else f"'{text}' \"\\ @?"

    values = tmp_path / "res" / "values"
    values.mkdir(parents=True)
    (values / "strings.xml").write_bytes(rewritten(AndroidXmlFormat(OPTIONS), ANDROID, say))
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


@pytest.mark.skipif(
    LRELEASE is None, reason="lrelease of Debian's package qttools5-dev-tools is not installed"
)
@pytest.mark.parametrize("mark", [own, lambda entry: target_text(entry.marked, TextOrigin.MACHINE, 0.5)])
def test_qts_own_tools_read_translated_messages(tmp_path: Path, mark: Callable[[Entry], TargetText]) -> None:
    file, catalogue = tmp_path / "a.ts", tmp_path / "a.po"
    file.write_bytes(rewritten(QtTsFormat(FileOptions("de", "pl")), QT, mark))

    released = subprocess.run([str(LRELEASE), str(file)], check=True, capture_output=True, text=True).stdout
    assert "Generated 3 translation(s)" in released
    lconvert = str(LRELEASE).replace("lrelease", "lconvert")
    subprocess.run([lconvert, str(file), "-o", str(catalogue)], check=True, capture_output=True)
    assert catalogue.read_text().count("%n Datei(en) gelöscht") == 5  # singular, plural, and three forms
