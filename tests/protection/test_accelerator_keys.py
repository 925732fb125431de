"""Accelerator keys of menus and buttons."""

import pytest

from dragoman.types import Translation
from service.text.accelerators import find_label
from service.text.context import TextContext
from service.text.marked_text import MarkedText
from service.text.text_plan import plan_text
from tests.protection.answers import answer, translate


@pytest.mark.parametrize(
    ("source", "translated", "expected"),
    [
        ("&Öffnen", "Open", "&Open"),
        ("_Datei öffnen", "Open file", "_Open file"),
        ("Datei _löschen …", "Delete file …", "De_lete file …"),
        ("S&chließen", "Close", "&Close"),
        ("Ö&ffnen", "Open file", "Open &file"),
        ("B&eenden", "Exit", "&Exit"),
        ("&Zoom", "{zoom} ändern", "{zoom} &ändern"),
        ("打开(&O)", "Open", "&Open"),
        ("&Open", "打开", "打开 (&O)"),
    ],
)
def test_a_label_keeps_one_accelerator(source: str, translated: str, expected: str) -> None:
    label = find_label(source)

    assert label is not None
    assert label.mark(translated) == expected


@pytest.mark.parametrize(
    "text",
    ["Tom & Jerry", "R&D", "AT&T", "Johnson&Johnson", "&amp;", "user_name", "%(user_id)s", "a_b_c", "&A &B",
     "Der Wert von max_size ist zu groß", "&A_b", "", "Öffnen", "&Zeile\nZeile"],
)  # fmt: skip
def test_other_signs_are_no_accelerators(text: str) -> None:
    assert find_label(text) is None


def test_the_engine_sees_the_label_without_its_accelerator() -> None:
    seen: list[str] = []

    def engine(text: str) -> Translation:
        seen.append(text)
        return answer(text, "Open %s")

    result = translate("&Öffne %s", TextContext("de", "en", is_message=True), engine)

    assert (seen, result.marked.text) == (["Öffne %s"], "&Open %s")


def test_only_messages_have_accelerators() -> None:
    plan = plan_text(MarkedText("&Öffnen"), TextContext("de", "en"))

    assert [call.text for call in plan.calls] == ["&Öffnen"]
