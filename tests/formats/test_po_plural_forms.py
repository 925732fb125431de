"""Plural forms that a catalogue gets with its translations."""

import polib
import pytest

from service.formats.entries import FileOptions
from service.formats.po import PoFormat
from tests.formats.rewriting import OPTIONS, own, rewritten

TEMPLATE = r"""msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\n"
"X-Generator: none\n"

msgid "%d Datei"
msgid_plural "%d Dateien"
msgstr[0] ""
msgstr[1] ""

msgid "Ende"
msgstr ""
"""


def _filled(template: str, target: str) -> polib.POFile:
    return polib.pofile(rewritten(PoFormat(FileOptions("de", target)), template.encode(), own).decode())


@pytest.mark.parametrize(
    ("target", "num_forms", "singular"), [("en", 2, 0), ("pl", 3, 0), ("ar", 6, 1), ("ja", 1, None)]
)
def test_a_template_gets_the_plural_forms_of_the_target_language(
    target: str, num_forms: int, singular: int | None
) -> None:
    catalogue = _filled(TEMPLATE, target)
    files, end = catalogue

    assert catalogue.metadata["Plural-Forms"].startswith(f"nplurals={num_forms}; plural=")
    assert catalogue.metadata["X-Generator"] == "none"
    assert {int(form): text for form, text in files.msgstr_plural.items()} == {
        form: "%d Datei" if form == singular else "%d Dateien" for form in range(num_forms)
    }
    assert end.msgstr == "Ende"


@pytest.mark.parametrize(
    "before",
    [
        TEMPLATE.replace('"Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\\n"\n', ""),
        TEMPLATE.replace("nplurals=INTEGER; ", 'nplurals=INTEGER; "\n"'),
    ],
)
def test_a_missing_field_is_added_and_a_field_on_two_lines_replaced(before: str) -> None:
    assert before != TEMPLATE
    assert _filled(before, "en").metadata["Plural-Forms"] == "nplurals=2; plural=(n != 1);"


def test_plural_forms_that_somebody_filled_in_stay_and_missing_forms_are_added() -> None:
    given = "nplurals=3; plural=(n==1 ? 2 : n==0 ? 0 : 1);"
    catalogue = _filled(TEMPLATE.replace("nplurals=INTEGER; plural=EXPRESSION;", given), "en")

    assert catalogue.metadata["Plural-Forms"] == given
    assert catalogue[0].msgstr_plural == {0: "%d Dateien", 1: "%d Dateien", 2: "%d Datei"}


def test_a_catalogue_without_plural_texts_keeps_its_header() -> None:
    template = TEMPLATE.replace('msgid_plural "%d Dateien"\nmsgstr[0] ""\nmsgstr[1] ""', 'msgstr ""')

    assert "nplurals=INTEGER" in _filled(template, "en").metadata["Plural-Forms"]


def test_line_ends_of_windows_stay() -> None:
    result = rewritten(PoFormat(OPTIONS), TEMPLATE.replace("\n", "\r\n").encode(), own).decode()

    assert result.count("\n") == result.count("\r\n")
