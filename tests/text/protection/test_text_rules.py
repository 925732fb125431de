"""The rules that hold for every text, whatever a model makes of it."""

import re
from collections import Counter
from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.types import Splitting, Translation
from service.text.context import TextContext
from service.text.marked_text import MarkedText
from service.text.options import MarkupError, MarkupLanguage, MarkupOptions, PlaceholderMode
from service.text.outcome import TextOutcome
from service.text.text_plan import plan_text
from tests.linear import is_linear
from tests.reading.bundled import find
from tests.text.markup.marked import as_it_is, outcome, parse
from tests.text.protection.bad_model import translate_badly

CONTEXT = TextContext("de", "en")
HTML = MarkupOptions(MarkupLanguage.HTML)
WORDS = ["Haus", "und", "öffnen", "die", "Hunde", "sehr", "nicht", "Datei", "Wir"]


def translate(text: str, context: TextContext = CONTEXT) -> TextOutcome:
    return outcome(MarkedText(text), translate_badly, context)


def translate_html(html: str) -> str:
    return parse(html, HTML).translate(translate_badly, CONTEXT)


SENTENCES = st.lists(st.sampled_from([*WORDS, "{app}", "{app}"]), min_size=1, max_size=7).filter(
    lambda words: any(word in WORDS for word in words)
)


@settings(max_examples=300)
@given(st.lists(SENTENCES, min_size=1, max_size=3))
def test_an_element_is_translated_as_a_placeholder_is(sentences: list[list[str]]) -> None:
    text = "\n".join(" ".join(words) + "." for words in sentences)
    html = text.replace("{app}", "<code>ls</code>").replace("\n", "<br>")

    translated = translate_html(f"<p>{html}</p>")

    assert translated.replace("<code>ls</code>", "{app}").replace("<br>", "\n") == (
        f"<p>{translate(text).marked.text}</p>"
    )


BLANKS = [" ", "\t", "\u00a0", "\n", "\r\n", "\\n", "\\n", "\\r\\n", "\\n"]
WITHOUT_WORDS = st.lists(
    st.sampled_from(BLANKS) | st.sampled_from(["<br/>", "{app}", "%s", "<b></b>", "<x/>", "<!-- c -->"]),
    max_size=3,
).map("".join)
"""Texts of blanks, breaks and objects only."""
FORMS = {
    "plain": "{}",
    "icu": "{{n, plural, one {{{}}} other {{{}}}}}",
    "icu with words": "{{n, plural, one {{{}}} other {{Hunde}}}}",
    "markup": "<p>{}</p><p>{}</p>",
    "markup with words": "<p>{}</p><p>Hunde</p>{}",
}
CONTEXTS = st.builds(
    TextContext,
    st.just("de"),
    st.just("en"),
    is_message=st.booleans(),
    splitting=st.sampled_from(Splitting),
    placeholders=st.sampled_from(PlaceholderMode),
    has_prefix=st.booleans(),
)


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=200)
@given(WITHOUT_WORDS, WITHOUT_WORDS, CONTEXTS, st.sampled_from(MarkupLanguage))
def test_a_text_without_words_has_an_outcome_and_stays_however_it_is_split(
    form: str, one: str, two: str, context: TextContext, language: MarkupLanguage
) -> None:
    text = FORMS[form].format(one, two)
    if "markup" in form:
        assert parse(text, MarkupOptions(language)).translate(as_it_is, context) == text
    else:
        assert outcome(MarkedText(text), as_it_is, context).marked.text == text


PERCENTAGE = re.compile(r"\d%s\w")
"""Read as a number in percent before a word."""
NUMBERS = st.sampled_from(
    ["tausendeins", "achtzigtausendzwei", "minus ", "1111", "1.234,5", "%s", "%2$s", " ", "Hunde"]
)


@settings(max_examples=300)
@given(
    st.lists(NUMBERS, min_size=1, max_size=6).map("".join).filter(lambda text: not PERCENTAGE.search(text))
)
def test_placeholders_that_touch_numbers_in_words_are_kept_whatever_numbers_are_lost(text: str) -> None:
    translated = outcome(MarkedText(text), lambda shown: as_it_is(re.sub(r"[^%$s]", "", shown)), CONTEXT)

    assert Counter(re.findall(r"%(?:2\$)?s", translated.marked.text)) == Counter(
        re.findall(r"%(?:2\$)?s", text)
    )


MANY_DIGITS = st.sampled_from(["7", "0" * 5000, "1" * 5000, "\u0663" * 5000, "1" + ",234" * 2000])
AROUND_DIGITS = [
    "{{n, plural, offset:{} one {{a}} other {{b}}}}",
    "{{n, plural, ={} {{a}} other {{# b}}}}",
    "{{n, selectordinal, offset: {} other {{# b}}}}",
    *("{}", "-{}", "%{}$s", "%{}d", "{{{}}}", "&#{};", "{} Uhr", "{}.{}.", "{}:{}", "{} km", "x{}y", "<g{}>"),
]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(AROUND_DIGITS), MANY_DIGITS, MANY_DIGITS, st.sampled_from([None, *MarkupLanguage]))
def test_a_number_may_have_any_number_of_digits(
    form: str, one: str, two: str, language: MarkupLanguage | None
) -> None:
    text = form.format(one, two)
    if language is None:
        outcome(MarkedText(text), translate_badly, CONTEXT)
        return
    try:
        document = parse(f"<p>{text}</p>", MarkupOptions(language))
    except MarkupError:
        return
    document.translate(translate_badly, CONTEXT)


PIECES = ["<b>", "</b>", "<i>", "</i>", "<code>x</code>", "{app}", "<!-- c -->", " ", " ", ". ", "<br>", "%s"]
DOCUMENTS = st.lists(st.sampled_from(PIECES) | st.sampled_from(WORDS), max_size=14).map("".join)


@settings(max_examples=400)
@given(DOCUMENTS)
def test_each_mark_and_object_is_there_once(html: str) -> None:
    translated = translate_html(html)

    for piece in ("<b>", "</b>", "<i>", "</i>", "<code>x</code>", "{app}", "<!-- c -->", "<br>", "%s"):
        assert translated.count(piece) == html.count(piece)


def test_the_branches_of_an_icu_message_in_html_are_translated() -> None:
    html = "<p>{n, plural, one {ein Hund} other {{n} Hunde}} &amp; mehr</p>"
    document = parse(html, HTML)

    assert document.translate(as_it_is, CONTEXT).startswith("<p>{n, plural, one {ein Hund &amp; mehr")
    assert "EIN HUND" in document.translate(lambda text: as_it_is(text.upper()), CONTEXT)


@settings(max_examples=300)
@given(SENTENCES)
def test_nothing_is_put_inside_a_word_or_apart_from_its_full_stop(words: list[str]) -> None:
    source = " ".join(words).replace("{app}", "<code>x</code>")

    translated = translate_html(f"<p>{source}.</p>")

    assert not re.search(r"\w<code>|</code>\w| \.", translated)


@pytest.mark.parametrize(
    ("html", "texts"),
    [
        ("<a>Haus</a><a>Die Hunde</a>", ["Haus", "Die Hunde"]),
        ("<a>Haus</a> <a>Hunde</a>", ["Haus", "Hunde"]),
        ("<b>Name:</b>Hund", ["Name:", "Hund"]),
        ("<i>Haus</i><b>Hund</b>", ["Haus", "Hund"]),
        ("<b>Donau</b><i>dampfer</i>", ["Donaudampfer"]),
        ("<b>A</b>lle Hunde", ["Alle Hunde"]),
        ("<ruby>Haus<rt>Hütte</rt></ruby> ist groß", ["Haus ist groß"]),
    ],
)
def test_touching_elements_make_one_text_or_several(html: str, texts: list[str]) -> None:
    found = parse(html, HTML).blocks

    assert [line for text in found for line in text.split("\n") if line.strip()] == texts


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Klicken Sie %1$shier%2$s.", "Klicken Sie hier."),
        ("Das ist *sehr wichtig* heute.", "Das ist sehr wichtig heute."),
        ("Das ist ~~alt~~ neu.", "Das ist alt neu."),
        ("Das ist |sehr wichtig| und ||sehr geheim||.", "Das ist sehr wichtig und sehr geheim."),
        ("Klicke <b>hier</b>!", "Klicke hier!"),
        ("Klicken Sie {0}hier{1}.", "Klicken Sie hier."),
        ("Klicken Sie %(a)shier%(b)s.", "Klicken Sie hier."),
        ("Der '''Hund''' und ''Katze''.", "Der Hund und Katze."),
        ("Das ist \\textbf{neu} und \\nu", "Das ist neu und \\nu"),
        ("Ein %dx%d Bild", "Ein %d x %d Bild"),
        ("100 <b> Dateien", "100 %1$s Dateien"),
    ],
)
def test_a_mark_that_touches_a_word_is_hidden_from_the_model(text: str, shown: str) -> None:
    assert [call.text for call in plan_text(MarkedText(text), CONTEXT).calls] == [shown]


@given(st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=4), min_size=2, max_size=4))
@pytest.mark.parametrize("line_break", ["\n", "\r\n", "<br>", "<br/>", "\\n"])
def test_a_line_break_is_one_in_every_spelling(line_break: str, lines: list[list[str]]) -> None:
    texts = [" ".join(words) for words in lines]

    translated = translate(line_break.join(texts)).marked.text

    assert translated == line_break.join(translate(text).marked.text for text in texts)


NUMBERS = st.integers(100, 10**8).map(str) | st.integers(1, 10**7).map(lambda n: f"{n:,}".replace(",", "."))


@settings(max_examples=300)
@given(st.lists(st.sampled_from(WORDS) | NUMBERS, min_size=2, max_size=8))
def test_numbers_come_out_as_they_went_in_or_are_named(words: list[str]) -> None:
    text = " und ".join(words)
    found = outcome(MarkedText(text), partial(translate_badly, changes_digits=True), CONTEXT)

    digits = [re.sub(r"\D", "", word) for word in words if word[0].isdigit()]
    said = [re.sub(r"\D", "", word) for word in re.findall(r"\d[\d.,]*", found.marked.text)]
    assert found.failed or not Counter(digits) - Counter(said)
    assert not found.is_source


@pytest.mark.parametrize(("number", "put"), [("zwölftausenddreihundert", "12,300"), ("minus 2,5", "-2.5")])
def test_a_number_that_a_model_loses_is_put_in_digits(number: str, put: str) -> None:
    def engine(text: str) -> Translation:
        return translate_badly(text.replace("minus", "mindestens"))

    context = replace(CONTEXT, read=partial(find, language="de"))
    found = outcome(MarkedText(f"Im Haus sind {number} Hunde. Wir nicht."), engine, context)

    assert put in found.marked.text
    assert not found.failed


@pytest.mark.parametrize(
    ("text", "translated"),
    [
        ("Das sind 10\u00a0km.", "das sind 10\u00a0km."),
        ("Mit 10\u202f% und 10 %", "mit 10\u202f% und 10 %"),
        ("Laut \u00a7\u00a05 sind 10 Tage", "laut \u00a7\u00a05 sind 10 tage"),
        ("Mit {n}\u00a0Hunden", "mit {n}\u00a0hunden"),
        ("Hund\u00a0und Haus", "hund und haus"),
        ("Haus&nbsp;und&nbsp;Hund", "haus&nbsp;und&nbsp;hund"),
        ("Ein %dx%d Bild", "ein %dx%d bild"),
    ],
)
def test_a_no_break_space_stays_at_numbers_and_objects_and_none_is_added(text: str, translated: str) -> None:
    def engine(shown: str) -> Translation:
        return as_it_is(re.sub("[\u00a0\u202f]", " ", shown).lower())

    assert outcome(MarkedText(text), engine, CONTEXT).marked.text == translated


@pytest.mark.parametrize("space", ["&nbsp;", "&#160;", "\u00a0"])
def test_a_no_break_space_is_written_as_the_page_writes_it(space: str) -> None:
    html = parse(f"<p>Das sind 10{space}km.</p>", HTML)

    translated = html.translate(lambda shown: as_it_is(shown.lower().replace("\u00a0", " ")), CONTEXT)

    assert translated == f"<p>das sind 10{space}km.</p>"


def test_a_number_that_no_call_keeps_is_named_and_the_translation_is_kept() -> None:
    def engine(text: str) -> Translation:
        return translate_badly(text.replace("Haus", "Haus 99999"))

    found = outcome(MarkedText("Das Haus kostet 1234567 Euro"), engine, CONTEXT)

    assert "1234567" in found.marked.text
    assert [failure.check for failure in found.failed] == ["numbers"]
    assert not found.is_source


HOSTILE = [
    "{{n}}",
    "\t",
    "{n, plural, one {x} other {y}} ",
    "%1$s",
    "%1$s a ",
    "\\n",
    "*a* ",
    "<b>",
    "1.5 ",
    "{a}<br>",
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_texts_take_linear_work(unit: str) -> None:
    def translate(size: int) -> None:
        marked = MarkedText("Haus " + unit * size)
        found = outcome(marked, lambda shown: translate_badly(shown[:200]), CONTEXT)
        assert found.is_source or found.marked.text

    assert is_linear(translate)
