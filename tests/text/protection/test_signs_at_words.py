"""Signs that touch words, columns, references, quotation marks: what the model sees, and what comes back."""

import re
from dataclasses import replace
from html import unescape
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman.types import Splitting, Translation
from service.text.context import TextContext
from service.text.marked_text import MarkedText
from service.text.options import MarkupLanguage, MarkupOptions
from service.text.text_plan import plan_text
from tests.text.markup.marked import as_it_is, outcome, parse
from tests.text.protection.bad_model import answer

CONTEXT = TextContext("de", "en")
HTML = MarkupOptions(MarkupLanguage.HTML)
WORDS = st.lists(st.sampled_from(["Haus", "Leser", "sehr", "Hunde", "Winter"]), min_size=1, max_size=4).map(
    " ".join
)


SURE_NOTES = ["*", "®", "1,2", "[3]", '<a href="#n">3</a>']


def shown(text: str, context: TextContext = CONTEXT) -> list[str]:
    return [call.text for call in plan_text(MarkedText(text), context).calls]


def small(text: str) -> Translation:
    return as_it_is(text.lower())


@given(
    WORDS,
    WORDS,
    st.sampled_from(["*", "**", "†", "‡", "¹", "²,³", "®", "©", "§", "º"]),
    st.sampled_from(["", ".", ",", "!"]),
)
def test_a_sign_at_the_end_of_a_word_is_not_shown_and_comes_back(
    before: str, after: str, sign: str, stop: str
) -> None:
    text = f"{before}{sign}{stop} {after}"

    assert shown(text) == [f"{before}{stop} {after}"]
    assert outcome(MarkedText(text), small, CONTEXT).marked.text.count(sign) == 1


@pytest.mark.parametrize("text", ["10 km² und 5 m³", "10² und a*b", "2 * 3 = 6", "§ 5 und Nº"])
def test_signs_of_units_and_formulas_are_shown(text: str) -> None:
    assert shown(text) == [text]


@pytest.mark.parametrize(
    ("before", "note"),
    [
        *product(["im Jahr 1901.", "ein Haus"], ["1", "12", "a", "1)", *SURE_NOTES]),
        *product(["im", "im Jahr 1901"], SURE_NOTES),
    ],
)
@pytest.mark.parametrize("tag", ["sup", "sub"])
def test_a_raised_note_parts_what_is_before_from_what_is_after(note: str, before: str, tag: str) -> None:
    html = parse(f"<p>Es war {before}<{tag}>{note}</{tag}> Heute ist es groß.</p>", HTML)

    assert f"<{tag}>{note}</{tag}>" in html.translate(small, CONTEXT)
    assert html.blocks[0] == f"Es war {before} Heute ist es groß."


@pytest.mark.parametrize(
    "html", ["H<sub>2</sub>O ist da", "10<sup>3</sup> Hunde", "km<sup>2</sup> Wald", "1<sup>st</sup> Haus"]
)
def test_what_is_raised_within_a_word_stays_a_part_of_it(html: str) -> None:
    assert parse(html, HTML).blocks == (re.sub(r"</?su[bp]>", "", html),)


@pytest.mark.parametrize("text", ["Leser{}", "die Mitarbeiter{} und Hunde"])
@pytest.mark.parametrize("ending", ["/in", "/innen", ":innen", "*innen", "_innen", "(innen)", "/-innen"])
def test_the_model_reads_the_word_before_a_gender_ending(text: str, ending: str) -> None:
    assert shown(text.format(ending)) == [text.format("")]


@pytest.mark.parametrize(
    "blanks", ["   ", " " * 12, " | ", " · ", " • ", " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "]
)
def test_columns_and_labels_in_a_row_are_texts_of_their_own(blanks: str) -> None:
    text = blanks.join(["Name", "Vorname", "Ort"])

    assert shown(text) == ["Name\nVorname\nOrt"]
    assert outcome(MarkedText(text), small, CONTEXT).marked.text == text.lower()


@pytest.mark.parametrize("reference", ["&amp;", "&#38;", "&quot;", "&#39;", "&lt;", "&uuml;", "&#xFC;"])
def test_a_reference_is_read_as_its_character_and_written_as_before(reference: str) -> None:
    text = f"Haus {reference} Hund"
    found = outcome(MarkedText(text), small, CONTEXT)

    assert shown(text) == [unescape(text)]
    assert found.marked.text == f"haus {reference} hund"
    assert found.translation is not None
    assert [one.text for one in found.translation.segments] == [found.marked.text]
    assert found.translation.segments[0].span == (0, len(text))


def test_a_reference_stays_opaque_where_its_character_is_written_too() -> None:
    assert shown("R&D &amp; Haus") == ["R&D %1$s Haus"]


@pytest.mark.parametrize("form", ["[{}]", "ids={}", '"{}"', "Seiten {} und 90", "Linien {} fahren nicht"])
@pytest.mark.parametrize("numbers", ["1,2", "12,13", "16,63"])
def test_integers_in_a_list_are_no_decimals(form: str, numbers: str) -> None:
    assert shown(f"Haus {form.format(numbers)}") == [f"Haus {form.format('%1$s')}"]


@pytest.mark.parametrize(
    "text", ["1,5 und 2 Meter", "kostet 12,13 Euro", "von 3,5 bis 4,5", "Mieten 12,50 Euro"]
)
def test_decimals_are_no_lists(text: str) -> None:
    assert shown(text) == [text]


@given(
    st.from_regex(
        r"[1-9][0-9]{2}\.[0-9]{3}\.[0-9]{3}-[0-9]{2}|[1-9][0-9]\.[0-9]{3}\.[0-9]{3}/[0-9]{4}-[0-9]{2}",
        fullmatch=True,
    )
)
def test_groups_of_different_lengths_are_an_identifier(number: str) -> None:
    assert shown(f"Das Haus {number} ist da") == ["Das Haus %1$s ist da"]


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ('Er sagte: "Komm" und ging.', "He said, 'Come' and left.", 'He said, "Come" and left.'),
        ("Das „neue“ Haus", "The 'new' house", 'The "new" house'),
        ("Das 'neue' Haus", "The 'new' house", "The 'new' house"),
        ('27" und 32" sind da', "27-inch and 32-inch are there", "27-inch and 32-inch are there"),
        ('Das [x a="b"] Haus', "The 'new' %1$s house", "The 'new' [x a=\"b\"] house"),
        ("„Ja“, der Hund ist's", "'Yes', it's the dog's", "\"Yes\", it's the dog's"),
    ],
)
def test_quotation_marks_keep_their_kind(source: str, target: str, expected: str) -> None:
    found = outcome(MarkedText(source), lambda text: answer(text, target), CONTEXT)

    assert found.marked.text == expected


def test_lost_quotation_marks_are_placed_again() -> None:
    found = outcome(MarkedText('Das "neue" Haus'), lambda text: answer(text, "The new house"), CONTEXT)

    assert found.marked.text.count('"') == 2


@pytest.mark.parametrize("splitting", [Splitting.NO_NEWLINES, Splitting.OFF])
@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\n  "])
@given(st.lists(WORDS, min_size=2, max_size=4))
def test_line_breaks_stay_without_splitting_at_them(
    splitting: Splitting, line_break: str, lines: list[str]
) -> None:
    context = replace(CONTEXT, splitting=splitting)
    text = line_break.join(lines)

    assert shown(text, context) == [" ".join(lines)]
    assert outcome(MarkedText(text), small, context).marked.text.count(line_break) == len(lines) - 1


@pytest.mark.parametrize(
    "html", ["<p>Haus <%= a.b %> und <%= c %></p>", "<p>Haus <?= $a->b ?> und</p>", "<p>{{ a > b }} Haus</p>"]
)
def test_expressions_of_templates_are_written_as_they_were(html: str) -> None:
    found = parse(html, HTML).translate(lambda text: small(text.replace("Haus", "house")), CONTEXT)

    assert found == html.replace("Haus", "house")


@pytest.mark.parametrize(
    ("first", "last"),
    [("{% NAME %}", "{% endNAME %}"), ("{{#NAME x}}", "{{/NAME}}"), ("<% NAME x { %>", "<% } %>")],
)
@pytest.mark.parametrize("word", ["if", "for", "each"])
def test_statements_of_templates_part_texts(first: str, last: str, word: str) -> None:
    text = f"Haus {first.replace('NAME', word)} Hund {last.replace('NAME', word)} und"

    assert shown(text) == ["Haus \n Hund \n und"]


@pytest.mark.parametrize("text", ["Hund|Katze|Maus", "rot|Grün|blau", "Hund|katze"])
def test_a_list_with_bars_is_a_text_each_whatever_case_they_get(text: str) -> None:
    def engine(lines: str) -> Translation:
        return as_it_is(
            "\n".join(one.upper() if i % 2 else one.lower() for i, one in enumerate(lines.split("\n")))
        )

    found = outcome(MarkedText(text), engine, CONTEXT)

    assert found.marked.text == "|".join(
        one.upper() if i % 2 else one.lower() for i, one in enumerate(text.split("|"))
    )
    assert not found.failed
