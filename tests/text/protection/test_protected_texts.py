"""Whatever an engine answers, protected spans and unknown words come back as often as in the source."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dragoman import Router
from dragoman.terms import Term, Terminology
from dragoman.types import Span, Translation
from service.text.context import FoundTerm, TextContext, UnknownWords
from service.text.marked_text import MarkedText, Shown
from service.text.objects import find_objects
from service.text.options import MarkupLanguage, MarkupOptions
from service.text.outcome import Check
from service.text.patterns import find_spans
from service.text.text_plan import Plan, plan_text
from tests.service.conftest import TINY_BUNDLE
from tests.text.markup.marked import SEEDS, any_translation, as_it_is, outcome, parse, segment
from tests.text.protection.bad_model import answer, translate

UNKNOWN = re.compile(r"[\u0430-\u044f]+")
"""Words that the model cannot read."""
CONTEXT = TextContext(
    "de", "en", find_unknown=lambda text: [Span(*one.span()) for one in UNKNOWN.finditer(text)]
)
MESSAGE = replace(CONTEXT, is_message=True)

_PARTS = (
    *("Wort", "ein", " ", " ", "\n", ". ", "ü", "&", "100%", "%%", "%s", "%d", "%1$s", "{x}", "{{ y }}"),
    *("мир", "<b>", "</b>", "<br/>", "&nbsp;", "https://a.example/b", "2.1.3", "`c`", "a@b.example"),
)
_TEXTS = st.lists(st.sampled_from(_PARTS), min_size=1, max_size=12).map("".join)


def _spans(text: str) -> Counter[str]:
    return Counter(text[each.start : each.end] for each in find_objects(MarkedText(text), CONTEXT).objects)


def _ordered(text: str) -> list[str]:
    return [
        text[span.start : span.end] for span in find_spans(text) if span.shown in {Shown.STRING, Shown.NUMBER}
    ]


def _plan(text: str) -> Plan:
    return plan_text(MarkedText(text), CONTEXT)


def _take(plan: Plan, *translations: Translation) -> None:
    plan.take(iter(translations))


@settings(max_examples=200)
@example("Wort<b>https://a.example/b<b>Wort", Random(184))  # noqa: S311 -- words that put a tag into the address
@given(_TEXTS, SEEDS)
def test_for_any_translation_each_span_is_there_once_or_the_source_is_kept(text: str, random: Random) -> None:
    result = translate(text, CONTEXT, lambda requested: any_translation(random, requested))

    assert all(result.marked.text.count(span) >= number for span, number in _spans(text).items())
    assert not _spans(text) or _ordered(result.marked.text) == _ordered(text)
    assert not result.is_source or result.marked.text == text


@settings(max_examples=100)
@example("{x}", Random(34663864))  # noqa: S311 -- a link of both placeholders
@given(_TEXTS, SEEDS)
def test_the_same_holds_within_markup(text: str, random: Random) -> None:
    html = f"<p>{text.replace('<', '&lt;')} <i>{{z}}</i> Ende</p>"
    marked = parse(html, MarkupOptions(MarkupLanguage.HTML))

    result = marked.translate(lambda requested: any_translation(random, requested), CONTEXT)

    assert result.count("{z}") == 1
    assert result.count("<i>") == result.count("</i>") == 1


def test_the_engine_sees_numbered_stand_ins_and_positions_are_those_of_the_text() -> None:
    plan = _plan("Hallo {name}, siehe https://a.example/b.")
    assert [call.text for call in plan.calls] == ["Hallo %1$s, siehe %2$s."]

    _take(plan, answer("Hallo %1$s, siehe %2$s.", "See %2$s, %1$s!"))
    text, translation = plan.outcome.marked.text, plan.outcome.translation
    assert translation is not None
    [segment] = translation.segments

    assert text == "See https://a.example/b, {name}!"
    assert segment.source == "Hallo {name}, siehe https://a.example/b."
    assert (segment.text, segment.span) == (text, (0, len(text)))


@pytest.mark.parametrize("damaged", ["Hello!", "Hello %1$s %1$s!", "Hello %2$s!", "Hello %1s!", "%s %1$s!"])
def test_a_damaged_stand_in_is_taken_out_and_placed_by_word_alignment(damaged: str) -> None:
    plan = _plan("Hallo {name}!")
    _take(plan, answer(plan.calls[0].text, damaged))
    assert [(call.text, call.is_aligned) for call in plan.calls] == [("Hallo !", True)]

    _take(plan, answer("Hallo !", "Hello !"))

    assert plan.outcome.marked.text == "Hello {name}!"


def test_only_spans_that_are_missing_are_taken_out() -> None:
    plan = _plan("Hallo {a} und {b}!")

    _take(plan, answer(plan.calls[0].text, "Hello %1$s!"))

    assert [call.text for call in plan.calls] == ["Hallo %1$s und !"]


ANSWERED = {
    "placeholders without a name that changed their order are placed again": (
        "%s hat %d",
        {"%s hat %d": "%d has %s", "hat": "has"},
        "%s has %d",
    ),
    "tags in plain text go around the same words": (
        "Klicke <b>hier</b>!",
        {"Klicke hier!": "Click here!"},
        "Click <b>here</b>!",
    ),
    "text that looks like a stand-in does no harm": (
        "10 %der {a}",
        {"10 %der %1$s": "10 %dof %1$s", "10 %der": "10 %dof"},
        "10 %dof {a}",
    ),
    "an address that became part of a word is placed again, but a name may have an ending": (
        "https://a.example auswerfen, мир",
        {"%1$s auswerfen, %2$s": "%1$swerfen %2$ss", "auswerfen, %1$s": "eject, %1$ss"},
        "https://a.example eject, \u043c\u0438\u0440s",
    ),
    "in a script without spaces, an address stands next to letters": (
        "Siehe https://a.example hier",
        {"Siehe %1$s hier": "\u65e5\u672c%1$s\u306f\u65e5\u672c"},
        "\u65e5\u672chttps://a.example\u306f\u65e5\u672c",
    ),
    "words that the model cannot read are kept, unless they are part of another placeholder": (
        "Das Wort мир in {мир} oder https://a.example/мир",
        {"Das Wort %1$s in %2$s oder %3$s": "The word %1$s in %2$s or %3$s"},
        "The word мир in {мир} or https://a.example/мир",
    ),
    "only the label of a link of a wiki or of Slack is translated": (
        "Siehe [[Haus_A|das Haus]] oder <https://a.example/b|hier>",
        {"Siehe das Haus oder hier": "See the house or here"},
        "See [[Haus_A|the house]] or <https://a.example/b|here>",
    ),
    "names of programs are kept, but not words with an underscore for both genders": (
        "Leser_innen von max_size und lade_datei()",
        {"Leser von %1$s und %2$s": "Readers of %1$s and %2$s"},
        "Readers of max_size and lade_datei()",
    ),
    "no blank is added beside a tag": (
        "{\\an8}Guten Tag{% url %}Ende",
        {"%1$s Guten Tag %2$s Ende": "%1$s Good day %2$s end"},
        "{\\an8}Good day{% url %}end",
    ),
    "words that the model cannot read are kept in an ICU message": (
        "{n, plural, one {# мир hier} other {# мир dort}}",
        {"%1$s %2$s hier": "%1$s %2$s here", "%1$s %2$s dort": "%2$s there: %1$s"},
        "{n, plural, one {# мир here} other {мир there: #}}",
    ),
    "a message that lost a number is tried again with its numbers protected": (
        "Schritt 30 von %s",
        {"Schritt 30 von %s": "Step thirty of %s", "Schritt %1$s von %s": "Step %1$s of %s"},
        "Step 30 of %s",
    ),
}


@pytest.mark.parametrize("rule", ANSWERED)
def test_translations_of_the_calls_become_the_text(rule: str) -> None:
    text, answers, expected = ANSWERED[rule]
    context = MESSAGE if "message" in rule else CONTEXT

    result = translate(text, context, lambda requested: answer(requested, answers[requested]))

    assert (result.marked.text, result.failed) == (expected, ())


def test_alternatives_with_damaged_placeholders_are_left_out() -> None:
    plan = _plan("Hallo {name}!")

    _take(plan, answer("Hallo %1$s!", "Hello %1$s!", "Hello!", "Hi %1$s!"))
    translation = plan.outcome.translation

    assert translation is not None
    assert [other.text for other in translation.alternatives] == ["Hello {name}!", "Hi {name}!"]


def test_segments_are_ready_for_a_stream_until_one_is_wrong() -> None:
    plan = _plan("Hallo {a}. Und {b}! Ende 5.")
    shown = plan.calls[0].text
    ends = [shown.index(".") + 1, shown.index("!") + 1, len(shown)]
    sources = [shown[: ends[0]], shown[ends[0] + 1 : ends[1]], shown[ends[1] + 1 :]]
    targets = ["Hello %1$s.", "And!", "End 5."]

    streamed = []
    at = source_at = 0
    for source, target in zip(sources, targets, strict=True):
        found = plan.take_segment(segment(source_at, source, at, target, ()))
        streamed.append(None if found is None else (found.source, found.text, found.span))
        source_at, at = source_at + len(source) + 1, at + len(target) + 1

    assert streamed == [("Hallo {a}.", "Hello {a}.", (0, 10)), None, None]


def test_lines_of_placeholders_alone_have_no_letters_for_the_engine() -> None:
    assert [call.text for call in _plan("{a}: %s\nDatei {b}").calls] == ["%1$: %2$\nDatei %1$s"]


@pytest.mark.parametrize(
    ("target", "check"),
    [
        ("", Check.EMPTY),
        ("  ", Check.EMPTY),
        ("Open " * 20, Check.LENGTH),
        ("Open {file}", Check.PLACEHOLDERS),
    ],
)
def test_a_message_that_fails_a_check_keeps_its_source(target: str, check: Check) -> None:
    result = translate("Öffnen", MESSAGE, lambda text: answer(text, target))

    assert result.marked.text == "Öffnen"
    assert [failure.check for failure in result.failed] == [check]


TEXT = "Der Hund 北京 und das Kind 北京 und 東京."


@pytest.fixture(scope="module")
def router() -> Iterator[Router]:
    with Router.open({"tiny": TINY_BUNDLE}) as router:
        yield router


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        (None, ["北京", "北京", "東京"]),
        ((), ["北京", "北京", "東京"]),
        ((Term("北京", ("Beijing",)),), ["東京"]),
        ((Term("Hund 北京", ("Beijing dog",)),), ["北京", "東京"]),
        ((Term("北京"), Term("Hund", ("dog",))), ["北京", "北京", "東京"]),  # to be kept
    ],
)
def test_unknown_words_are_those_that_no_term_has_a_translation_for(
    router: Router, terms: tuple[Term, ...] | None, expected: list[str]
) -> None:
    terminology = None if terms is None else Terminology(terms)
    unknown_words = UnknownWords(router, router.route("de", "en"), terminology)

    assert [TEXT[start:end] for start, end in unknown_words.find(TEXT)] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hund", [("dog", None)]),
        ("HUND", [("DOG", None)]),
        ("Hunde", [(None, None)]),
        ("Das Boot", [("лодка", "лодка")]),
        ("Die Boote", [(None, "лодка")]),
    ],
)
def test_a_term_has_a_translation_of_its_own_where_the_model_cannot_spell_it_or_it_stands_alone(
    router: Router, text: str, expected: list[tuple[str | None, str | None]]
) -> None:
    terminology = Terminology((Term("Hund", ("dog",)), Term("Boot", ("лодка",))))
    found = UnknownWords(router, router.route("de", "en"), terminology).find_terms(text)

    assert [(term.alone, term.put) for term in found] == expected


TERMS: dict[str, tuple[str, str | None]] = {
    "Test1": ("prüfung eins", None),
    "Boot": ("лодка", "лодка"),
    "app.py": ("the app", None),
}


def _find_terms(text: str) -> list[FoundTerm]:
    found = re.finditer("|".join(map(re.escape, TERMS)), text)
    return [FoundTerm(*one.span(), TERMS[one[0]][1], TERMS[one[0]][0]) for one in found]


@pytest.mark.parametrize(
    ("text", "shown", "translated"),
    [
        ("Test1", "%1$", "prüfung eins"),
        (" Test1 \nDas Haus", " %1$ \nDas Haus", " prüfung eins \nDAS HAUS"),
        ("Test1<br>Das Haus", "%1$\nDas Haus", "prüfung eins<br>DAS HAUS"),
        ("Der Test1", "Der Test1", "DER TEST1"),
        ("Das Boot {n}", "Das %1$s %2$s", "DAS лодка {n}"),
        ("app.py", "%1$", "the app"),
    ],
)
def test_a_term_that_is_a_line_or_that_the_model_cannot_spell_is_put_in_its_place(
    text: str, shown: str, translated: str
) -> None:
    seen: list[str] = []

    def engine(requested: str) -> Translation:
        seen.append(requested)
        return as_it_is(
            re.sub(r"%\d\$s?|\w+", lambda word: word[0] if "%" in word[0] else word[0].upper(), requested)
        )

    found = outcome(MarkedText(text), engine, TextContext("de", "en", find_terms=_find_terms))

    assert (seen, found.marked.text) == ([shown], translated)
