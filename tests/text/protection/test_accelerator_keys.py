"""Accelerator keys of menus and buttons, in catalogues and in texts of requests."""

import pytest

from dragoman.types import Link, Span, Translation
from service.text.accelerators import find_accelerators
from service.text.context import TextContext
from service.text.marked_text import MarkedText
from service.text.text_plan import plan_text
from tests.text.protection.bad_model import answer, translate

MESSAGE = TextContext("de", "en", is_message=True)
TEXT = TextContext("de", "en")


def written(source: str, translated: str, context: TextContext) -> tuple[str, str]:
    """Return what the engine sees, and the outcome."""
    seen: list[str] = []

    def engine(text: str) -> Translation:
        seen.append(text)
        return answer(text, translated)

    text = translate(source, context, engine).marked.text
    return "|".join(seen), text


@pytest.mark.parametrize("context", [MESSAGE, TEXT])
@pytest.mark.parametrize(
    ("source", "shown", "translated", "expected"),
    [
        ("&Öffnen", "Öffnen", "Open", "&Open"),
        ("S&chließen", "Schließen", "Close", "&Close"),
        ("Ö&ffnen", "Öffnen", "Open file", "Open &file"),
        ("B&eenden", "Beenden", "Exit", "&Exit"),
        ("Datei &öffnen", "Datei öffnen", "Open file", "&Open file"),
        ("&Zoom %s", "Zoom %s", "%s ändern", "%s &ändern"),
        ("打开(&O)", "打开", "Open", "&Open"),
        ("&Open", "Open", "打开", "打开 (&O)"),
        ("Öffnen (&O)…", "Öffnen…", "Open…", "&Open…"),
        ("Sichern && be&enden", "Sichern && beenden", "Save && quit", "Sav&e && quit"),
        ("&OK", "OK", "OK", "&OK"),
        ("Cu&t", "Cut", "Schneiden", "&Schneiden"),
    ],
)
def test_the_engine_sees_whole_words_and_one_letter_gets_the_sign(
    source: str, shown: str, translated: str, expected: str, context: TextContext
) -> None:
    assert written(source, translated, context) == (shown, expected)


@pytest.mark.parametrize(
    ("source", "translated", "expected"),
    [("_Datei öffnen", "Open file", "_Open file"), ("Datei _löschen …", "Delete file …", "De_lete file …")],
)
def test_only_texts_of_programs_have_underscores_as_accelerators(
    source: str, translated: str, expected: str
) -> None:
    assert written(source, translated, MESSAGE) == (source.replace("_", ""), expected)
    assert written(source, translated, TEXT) == (source, translated)


def test_the_sign_goes_to_the_aligned_translation_of_its_word() -> None:
    def engine(text: str) -> Translation:
        found = answer(text, "Save all as")
        links = (Link(Span(0, 5), Span(9, 11)), Link(Span(6, 14), Span(0, 4)))
        return found._replace(segments=(found.segments[0]._replace(links=links),))

    outcome = translate("&Unter sichern", TEXT, engine)

    assert outcome.marked.text == "Save all &as"


def test_other_hypotheses_have_the_sign_as_well() -> None:
    outcome = translate("Datei &öffnen", TEXT, lambda text: answer(text, "Open file", "Show file"))

    assert outcome.translation is not None
    assert [one.text for one in outcome.translation.alternatives] == ["&Open file", "&Show file"]


def test_each_line_has_its_own_accelerator() -> None:
    found = find_accelerators("&Datei\nBearbeiten\nE&xtras", is_message=False)

    assert [(one.start, one.end) for one in found] == [(0, 1), (19, 20)]


@pytest.mark.parametrize(
    "text",
    ["Tom & Jerry", "R&D", "AT&T", "Johnson&Johnson", "&amp;", "user_name", "%(user_id)s", "a_b_c", "&A &B",
     "Der Wert von max_size ist zu groß", "&A _b", "", "Öffnen", "?x=1&y=2", "?x=a&y=b", "a & b", "q&a",
     "Ort?von=a&bis=b", "R&b", "10&nbsp km", "&lt;b&gt;", "Sichern && beenden"],
)  # fmt: skip
def test_other_signs_are_no_accelerators(text: str) -> None:
    plan = plan_text(MarkedText(text), MESSAGE)

    assert not list(find_accelerators(text, is_message=True)) or [call.text for call in plan.calls] == [text]


@pytest.mark.parametrize("text", ["Fish&chips", "Drag&drop"])
def test_compounds_of_a_text_have_no_accelerator(text: str) -> None:
    assert not list(find_accelerators(text, is_message=False))


@pytest.mark.parametrize(
    ("text", "is_aligned"), [("Datei &öffnen", False), ("Klicken Sie auf „&Weiter“, um zu enden.", True)]
)
def test_only_sentences_are_aligned_for_their_accelerator(text: str, is_aligned: bool) -> None:  # noqa: FBT001
    [call] = plan_text(MarkedText(text), MESSAGE).calls

    assert call.is_aligned == is_aligned
