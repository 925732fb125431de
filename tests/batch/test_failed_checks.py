"""Messages whose translations fail a check, in `dragoman batch`. The double translates into upper case."""

import json
from pathlib import Path

import polib

from tests.batch.conftest import Run

CATALOGUE = r"""msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"

msgid "&Öffne %s"
msgstr ""

msgid "{n, plural, one {# Datei}"
msgstr ""

msgid "{n, plural, one {# <b>Datei</b>} other {# Dateien}}"
msgstr ""
"""


def _translations(path: Path) -> list[str]:
    return [entry.msgstr for entry in polib.pofile(path.read_text(encoding="utf-8"))]


def test_an_entry_that_fails_a_check_keeps_its_source_and_is_reported(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in.po").write_text(CATALOGUE, encoding="utf-8")

    finished = run("in.po", "-o", "out.po", "--source", "de", "--target", "en")

    assert finished.returncode == 1
    assert _translations(tmp_path / "out.po") == [
        "&ÖFFNE %s",
        "{n, plural, one {# Datei}",
        "{n, plural, one {# <b>DATEI</b>} other {# DATEIEN}}",
    ]
    [reported] = map(json.loads, (tmp_path / "out.po.errors.jsonl").read_text(encoding="utf-8").splitlines())
    assert reported["check"] == "icu"
    assert reported["outcome"] == "untranslated"
    assert reported["place"] == "line 9"
    assert "a closing brace is missing" in reported["problem"]


def test_placeholders_may_be_left_to_the_model_which_is_another_run(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in.po").write_text(CATALOGUE, encoding="utf-8")
    run("in.po", "-o", "out.po")

    finished = run("in.po", "-o", "out.po", "--force", "--placeholders", "off")

    assert (finished.returncode, "3 translated now" in finished.stderr) == (0, True)
    assert _translations(tmp_path / "out.po")[0] == "&ÖFFNE %S"
