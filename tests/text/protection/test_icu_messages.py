"""Messages with branches: parsed, translated branch by branch, and rebuilt."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.text.context import TextContext
from service.text.icu_messages import icu_message
from service.text.icu_parser import (
    Argument,
    Choice,
    ChoiceKind,
    Hash,
    IcuSyntaxError,
    Text,
    has_branches,
    parse_icu,
    write_text,
)
from service.text.marked_text import MarkedText
from service.text.options import MarkupLanguage, MarkupOptions
from service.text.outcome import Check
from service.text.reading import ReadText
from service.text.text_plan import plan_text
from tests.text.markup.marked import as_it_is, parse
from tests.text.protection.bad_model import answer, translate

FILES = "{count, plural, one {# Datei gelöscht} other {# Dateien gelöscht}}"


def _shouted(message: str, target: str = "en", source: str = "de") -> str:
    """The message with its text in capitals, by an engine that keeps stand-ins."""
    context = TextContext(source, target)
    return translate(
        message, context, lambda text: answer(text, text.upper().replace("$S", "$s"))
    ).marked.text


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (FILES, "{count, plural, one {# DATEI GELÖSCHT} other {# DATEIEN GELÖSCHT}}"),
        (
            "Sie haben {n, plural, =0 {nichts} one {# Datei} other {# Dateien}} in {ort}.",
            (
                "{n, plural, =0 {SIE HABEN NICHTS IN {ort}.} one {SIE HABEN # DATEI IN {ort}.} "
                "other {SIE HABEN # DATEIEN IN {ort}.}}"
            ),
        ),
        (
            "{g, select, female {Sie ruft {n, plural, one {# mal} other {# Male}}} other {Es ruft}}",
            "{g, select, female {{n, plural, one {SIE RUFT # MAL} other {SIE RUFT # MALE}}} other {ES RUFT}}",
        ),
        (
            "{n, plural, offset:1 one {du und # anderer} other {du und # andere}}",
            "{n, plural, offset:1 one {DU UND # ANDERER} other {DU UND # ANDERE}}",
        ),
        (
            "{a, plural, one {# a {b, plural, one {# b} other {# c}}} other {x}}",
            "{a, plural, one {{b, plural, one {{a, number} A # B} other {{a, number} A # C}}} other {X}}",
        ),
    ],
)
def test_each_combination_of_branches_is_translated_as_a_sentence(message: str, expected: str) -> None:
    assert _shouted(message) == expected


@pytest.mark.parametrize(
    ("target", "categories"),
    [
        ("en", ["one", "other"]),
        ("pl", ["one", "few", "many", "other"]),
        ("ja", ["other"]),
        ("ar", ["zero", "one", "two", "few", "many", "other"]),
    ],
)
def test_the_branches_are_the_plural_categories_of_the_target_language(
    target: str, categories: list[str]
) -> None:
    [choice] = parse_icu(_shouted(FILES, target))

    assert isinstance(choice, Choice)
    assert [selector for selector, _ in choice.branches] == categories


def test_ordinals_have_categories_of_their_own() -> None:
    message = "{n, selectordinal, other {#. Versuch}}"

    assert _shouted(message, "en") == (
        "{n, selectordinal, one {#. VERSUCH} two {#. VERSUCH} few {#. VERSUCH} other {#. VERSUCH}}"
    )


def test_quoted_text_stays_quoted_and_apostrophes_are_written_as_in_the_source() -> None:
    doubled = "{n, plural, other {'{'ein Wort'}' geht''s '#' {n}}}"
    single = "{n, plural, other {geht's}}"

    assert parse_icu(_shouted(doubled)) == (
        Choice("n", ChoiceKind.PLURAL, "", tuple(
            (name, (Text("{EIN WORT} GEHT'S # "), Argument("{n}"))) for name in ("one", "other")
        )),
    )  # fmt: skip
    assert "GEHT''S" in _shouted(doubled)
    assert "GEHT'S" in _shouted(single)


def test_a_number_that_the_engine_lost_is_put_back() -> None:
    result = translate(FILES, TextContext("de", "en"), lambda text: answer(text, "A file was deleted."))

    [choice] = parse_icu(result.marked.text)
    assert isinstance(choice, Choice)
    assert all(sum(isinstance(node, Hash) for node in content) == 1 for _, content in choice.branches)


@pytest.mark.parametrize(
    "message",
    [
        "{n, plural, one {x}}",
        "{n, plural, one {x} other {y}",
        "{n, plural, one {x} one {y} other {z}}",
        "{n, plural, other {x}} }",
        "{n, plural, other {{x}",
        "{n, plural,}",
        "{n, select, other {{a b}}}",
        "{n, plural, other {" * 12 + "x" + "}}" * 12,
        "".join(f"{{n{i}, select, a {{x}} other {{y}}}}" for i in range(7)),
        "{n, plural, one {x} other {y}} " * 1000,
    ],
)
def test_a_message_that_cannot_be_translated_stays_as_it_is_and_the_check_says_why(message: str) -> None:
    result = translate(message, TextContext("de", "en"), lambda text: answer(text, text))

    assert (result.marked.text, result.is_source) == (message, True)
    assert [failure.check for failure in result.failed] == [Check.ICU]


def test_long_messages_are_rejected_before_they_are_expanded() -> None:
    message = "x" * 5000 + "".join(f"{{n{i}, select, a {{x}} other {{y}}}}" for i in range(5))

    with pytest.raises(IcuSyntaxError, match="split the message"):
        icu_message(MarkedText(message), "de", "en")


@pytest.mark.parametrize("text", ["{name}", "{n, number}", "plural", "{plural}", "{a, plural }"])
def test_other_text_is_no_message_with_branches(text: str) -> None:
    assert not has_branches(text)


@given(st.text("ab'{}#|"), st.booleans(), st.booleans())
def test_written_text_is_read_as_the_same(text: str, in_plural: bool, doubles: bool) -> None:  # noqa: FBT001 -- drawn
    written = write_text(text, in_plural=in_plural, doubles_apostrophes=doubles)
    message = f"{{n, {'plural' if in_plural else 'select'}, other {{{written}}}}}"

    [choice] = parse_icu(message)

    assert isinstance(choice, Choice)
    assert "".join(node.text for node in choice.branches[0][1] if isinstance(node, Text)) == text


MARKED = {
    "{n, plural, one {<b>#</b> Datei} other {<b>#</b> Dateien}}": (
        "{n, plural, one {<b>#</b> DATEI} few {<b>#</b> DATEIEN} many {<b>#</b> DATEIEN} "
        "other {<b>#</b> DATEIEN}}"
    ),
    "Es sind <b>{n, select, one {# Datei} other {<i>alle</i>}}</b> da": (
        "{n, select, one {ES SIND <b># DATEI</b> DA} other {ES SIND <b><i>ALLE</i></b> DA}}"
    ),
    "{n, select, a {Haus<br>Hund} other {<!-- c -->Haus &amp; <code>x</code>}}": (
        "{n, select, a {HAUS<br>HUND} other {<!-- c -->HAUS &amp; <code>x</code>}}"
    ),
    "{n, select, a {<a>Haus</a><a>Hund</a>} other {\ufffc<x></x>}}": (
        "{n, select, a {<a>HAUS</a><a>HUND</a>} other {\ufffc<x></x>}}"
    ),
}


@pytest.mark.parametrize("html", MARKED)
def test_marks_and_objects_are_once_in_each_branch_made_of_theirs(html: str) -> None:
    document = parse(f"<p>{html}</p>", MarkupOptions(MarkupLanguage.HTML))

    translated = document.translate(
        lambda text: as_it_is(text.upper().replace("$S", "$s")), TextContext("de", "pl")
    )

    assert translated == f"<p>{MARKED[html]}</p>"


@pytest.mark.parametrize(
    "html",
    [
        "{n, plural, one {<b>a} other {b</b>}}",
        "{n, <b>plural</b>, one {a} other {b}}",
        "{d, date, <b>x</b>} {n, plural, one {a} other {b}}",
        "{n, plural, other {" + "<b>a</b>" * 5_000 + "}}",
    ],
)
def test_marks_that_no_branch_can_have_leave_the_message_as_it_is(html: str) -> None:
    [marked] = [
        part.marked
        for part in parse(html, MarkupOptions(MarkupLanguage.HTML)).parts
        if isinstance(part, ReadText)
    ]

    plan = plan_text(marked, TextContext("de", "en"))

    assert plan.calls == []
    assert (plan.outcome.marked, [failure.check for failure in plan.outcome.failed]) == (marked, [Check.ICU])
