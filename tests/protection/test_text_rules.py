"""The rules that hold for every text, whatever a model makes of it.

The model's double inflects words, drops, repeats and moves stand-ins, and changes digits, by chance that
depends on the sentence alone: the same sentence always gets the same translation.
"""

import re
from collections import Counter
from html.parser import HTMLParser
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.types import FinishReason, Link, SegmentTranslation, Span, Translation
from service.text.context import TextContext
from service.text.marked_text import MarkedText
from service.text.options import MarkupLanguage, MarkupOptions
from service.text.outcome import TextOutcome
from service.text.planning import plan_text
from tests.markup.marked import outcome, parse
from tests.markup.translations import as_it_is

CONTEXT = TextContext("de", "en")
HTML = MarkupOptions(MarkupLanguage.HTML)
_WORDS = ["Haus", "und", "öffnen", "die", "Hunde", "sehr", "nicht", "Datei", "Wir"]
_WORD = re.compile(r"\S+")


def meddle(text: str, *, changes_digits: bool = False) -> Translation:
    """A translation with one segment a line."""
    translated, segments = "", list[SegmentTranslation]()
    for i, line in enumerate(text.split("\n")):
        at = len("\n".join(text.split("\n")[:i])) + (i > 0)
        translated += "\n" * (i > 0)
        words = [Span(*found.span()) for found in _WORD.finditer(line)]
        if not any(map(str.isalpha, line)):
            translated += line
            continue
        source = Span(at + words[0].start, at + words[-1].end)
        translated += line[: words[0].start]
        start, links = len(translated), list[Link]()
        random = Random(line.strip())  # noqa: S311 -- the same for the same line
        said = [(word, _meddled(random, line[word.start : word.end], changes_digits)) for word in words]
        if random.random() < 0.4:
            random.shuffle(said)
        for word, other in said:
            if other:
                translated += " " * (len(translated) > start)
                links.append(
                    Link(
                        Span(at + word.start, at + word.end),
                        Span(len(translated), len(translated) + len(other)),
                    )
                )
                translated += other
        segments.append(
            SegmentTranslation(
                text[source.start : source.end],
                translated[start:],
                -1.0,
                FinishReason.STOP,
                len(words),
                len(words),
                source,
                Span(start, len(translated)),
                tuple(links),
            )
        )
        translated += line[words[-1].end :]
    return Translation(translated, -1.0, FinishReason.STOP, tuple(segments), ())


def _meddled(random: Random, word: str, changes_digits: bool) -> str:  # noqa: FBT001 -- passed on
    chance = random.random()
    if "%" in word:
        return (
            "" if chance < 0.2 else f"{word} {word}" if chance < 0.3 else f"x{word}" if chance < 0.4 else word
        )
    if any(map(str.isdigit, word)):
        return re.sub(r"\d\d", "7", word, count=1) if changes_digits and chance < 0.5 else word
    return f"{word.upper()}S" if word.isalpha() else word.upper()


def translate(text: str, context: TextContext = CONTEXT) -> TextOutcome:
    return outcome(MarkedText(text), meddle, context)


def translate_html(html: str) -> str:
    return parse(html, HTML).translate(meddle, CONTEXT)


SENTENCES = st.lists(st.sampled_from([*_WORDS, "{app}", "{app}"]), min_size=1, max_size=7).filter(
    lambda words: any(word in _WORDS for word in words)
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


PIECES = ["<b>", "</b>", "<i>", "</i>", "<code>x</code>", "{app}", "<!-- c -->", " ", " ", ". ", "<br>", "%s"]
DOCUMENTS = st.lists(st.sampled_from(PIECES) | st.sampled_from(_WORDS), max_size=14).map("".join)


class _Tags(HTMLParser):
    """Start tags, and whether they nest."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.nests = True
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        del attrs
        self.open += [tag] * (tag != "br")

    def handle_endtag(self, tag: str) -> None:
        self.nests = self.nests and bool(self.open) and self.open.pop() == tag


@settings(max_examples=400)
@given(DOCUMENTS)
def test_each_mark_and_object_is_there_once_and_nests(html: str) -> None:
    translated = translate_html(html)

    for piece in ("<b>", "</b>", "<i>", "</i>", "<code>x</code>", "{app}", "<!-- c -->", "<br>", "%s"):
        assert translated.count(piece) == html.count(piece)
    own = _Tags(html)
    if own.nests and not own.open:
        assert _Tags(translated).nests


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
def test_what_touches_is_one_text_or_several(html: str, texts: list[str]) -> None:
    seen: list[str] = []

    def engine(text: str) -> Translation:
        seen.append(text)
        return meddle(text)

    parse(html, HTML).translate(engine, CONTEXT)

    assert [line for text in seen for line in text.split("\n") if line.strip()] == texts


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Klicken Sie %1$shier%2$s.", "Klicken Sie hier."),
        ("Das ist *sehr wichtig* heute.", "Das ist sehr wichtig heute."),
        ("Das ist ~~alt~~ neu.", "Das ist alt neu."),
        ("Klicke <b>hier</b>!", "Klicke hier!"),
        ("Ein %dx%d Bild", "Ein %d x %d Bild"),
        ("100 <b> Dateien", "100 %1$s Dateien"),
    ],
)
def test_what_touches_a_word_does_not_spoil_it(text: str, shown: str) -> None:
    assert [call.text for call in plan_text(MarkedText(text), CONTEXT).calls] == [shown]


@given(st.lists(st.lists(st.sampled_from(_WORDS), min_size=1, max_size=4), min_size=2, max_size=4))
@pytest.mark.parametrize("line_break", ["\n", "\r\n", "<br>", "<br/>", "\\n"])
def test_a_line_break_is_one_in_every_spelling(line_break: str, lines: list[list[str]]) -> None:
    texts = [" ".join(words) for words in lines]

    translated = translate(line_break.join(texts)).marked.text

    assert translated == line_break.join(translate(text).marked.text for text in texts)


NUMBERS = st.integers(100, 10**8).map(str) | st.integers(1, 10**7).map(lambda n: f"{n:,}".replace(",", "."))


@settings(max_examples=300)
@given(st.lists(st.sampled_from(_WORDS) | NUMBERS, min_size=2, max_size=8))
def test_numbers_come_out_as_they_went_in_or_are_named(words: list[str]) -> None:
    found = outcome(MarkedText(" und ".join(words)), lambda text: meddle(text, changes_digits=True), CONTEXT)

    digits = [re.sub(r"\D", "", word) for word in words if word[0].isdigit()]
    said = [re.sub(r"\D", "", word) for word in re.findall(r"\d[\d.,]*", found.marked.text)]
    assert found.failed or not Counter(digits) - Counter(said)
    assert not found.is_source


def test_a_reference_to_a_no_break_space_stays_one() -> None:
    found = outcome(MarkedText("Haus&nbsp;und&nbsp;Hund"), lambda text: as_it_is(text.lower()), CONTEXT)

    assert found.marked.text == "haus&nbsp;und&nbsp;hund"


def test_a_number_that_no_call_keeps_is_named_and_the_translation_is_kept() -> None:
    def engine(text: str) -> Translation:
        return meddle(text.replace("Haus", "Haus 99999"))

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


@pytest.mark.timeout(20)
@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_texts_take_linear_time(unit: str) -> None:
    text = "Haus " + unit * (100_000 // len(unit))

    found = outcome(MarkedText(text), lambda shown: meddle(shown[:2000]), CONTEXT)

    assert found.is_source or found.marked.text
