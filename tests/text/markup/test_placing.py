"""Markup goes where the words went."""

from collections.abc import Mapping, Sequence

import pytest

from dragoman.types import Link, SegmentTranslation, Span
from service.text.options import MarkupLanguage, MarkupOptions
from service.text.reading import ReadText
from tests.paths import ROOT
from tests.text.markup.marked import as_one, links, parse, segment, translation

HTML = MarkupOptions(MarkupLanguage.HTML)
XML = MarkupOptions(MarkupLanguage.XML, ignore_tags=frozenset(["x"]))


def links_at(source_at: int, at: int, source: str, target: str, pairs: str) -> tuple[Link, ...]:
    return tuple(
        Link(
            Span(link.source.start + source_at, link.source.end + source_at),
            Span(link.target.start + at, link.target.end + at),
        )
        for link in links(source, target, pairs)
    )


def translate(markup: str, target: str, pairs: str, options: MarkupOptions = HTML) -> str:
    marked_up = parse(markup, options)
    (text,) = marked_up.blocks
    return marked_up.rejoin([as_one(text, target, pairs)])


ELEMENTS = {
    "one word moves": (
        "<p>I <b>saw</b> it</p>",
        "Ich habe es gesehen",
        "0-0 1-3 2-2",
        "<p>Ich habe es <b>gesehen</b></p>",
    ),
    "siblings change places": (
        "<b>big</b> <i>dog</i>",
        "chien grand",
        "0-1 1-0",
        "<i>chien</i> <b>grand</b>",
    ),
    "children stay inside, unlinked words between are taken in": (
        "a <b>b <i>c</i></b> d",
        "D C x B A",
        "0-4 1-3 2-1 3-0",
        "D <b><i>C</i> x B</b> A",
    ),
    "words of others are not taken in for a tie": (
        "a <b>b c</b> d",
        "B x y D C A",
        "0-5 1-0 2-4 3-3",
        "<b>B</b> x y D C A",
    ),
    "the span with more of its own wins": (
        "a <b>b c d</b> e",
        "B C E D A",
        "0-4 1-0 2-1 3-3 4-2",
        "<b>B C</b> E D A",
    ),
    "a word that says more than the element is better than none": (
        "of <b>the</b> dog",
        "du chien",
        "0-0 1-0 2-1",
        "<b>du</b> chien",
    ),
    "parts of a word that begin or end both words keep them": (
        "<b>un</b><i>believable</i> x",
        "unglaublich y",
        "0-0 1-1",
        "<b>un</b><i>glaublich</i> y",
    ),
    "nothing aligned: around what the next word became": (
        "see <a>the</a> dog",
        "hund sehen",
        "0-1 2-0",
        "<a>hund</a> sehen",
    ),
    "nothing aligned, and no word beside that no other element has": (
        "das <b>neue</b> haus <i>da</i>",
        "the house",
        "0-0 1-1 2-1",
        "the <b>house</b><i></i>",
    ),
    "white space inside stays inside": (
        "see<b> the dog </b>now",
        "nun den hund sehen",
        "0-3 1-1 2-2 3-0",
        "nun<b> den hund </b>sehen",
    ),
    "a full stop after what is before it": (
        "on 24 <b>may</b>",
        "am 24. mai",
        "0-0 1-1 2-2 2-3",
        "am 24. <b>mai</b>",
    ),
    "nested": (
        "<i>big <b>red</b></i> dog",
        "perro rojo grande",
        "0-2 1-1 2-0",
        "perro <i><b>rojo</b> grande</i>",
    ),
    "around all stays around all": (
        "<p><b>big dog</b></p>",
        "chien grand",
        "0-1 1-0",
        "<p><b>chien grand</b></p>",
    ),
    "tags without another half move alone": (
        "one</b> two <i>three",
        "drei zwei eins",
        "0-2 1-1 2-0",
        "<i>drei zwei eins</b>",
    ),
    "of crossed elements the outer one stays whole": (
        "a <b>one <i>two</b> three</i> four",
        "VIER DREI ZWEI EINS A",
        "0-4 1-3 2-2 3-1 4-0",
        "VIER DREI</i> <b><i>ZWEI EINS</b> A",
    ),
    "an empty pair of tags has no width": (
        '<p>see <i class="icon"></i>now</p>',
        "jetzt sehen",
        "0-1 1-0",
        '<p><i class="icon"></i>jetzt sehen</p>',
    ),
    "what stands after an element does not get into it": (
        "<b>one two</b><img> three",
        "zwei eins drei",
        "0-1 1-0 2-2",
        "<b>zwei eins</b><img> drei",
    ),
    "what stands before an element does not get into it": (
        "three <img><b>one two</b>",
        "zwei eins drei",
        "0-2 1-1 2-0",
        "<img><b>zwei eins</b> drei",
    ),
    "without links words are taken to follow each other": ("a b <i>c</i> d", "A B C D", "", "A B <i>C</i> D"),
    "without links or spaces characters are": ("a b <i>c</i> d", "甲乙丙丁", "", "甲乙<i>丙</i>丁"),
    "changed text is escaped and keeps its no-break spaces": (
        "<p>a</p>",
        '<b>"1\u00a0€" & x',
        "",
        '<p>&lt;b&gt;"1\u00a0€" &amp; x</p>',
    ),
}


MARKS_WITHIN_WORDS = {
    "a word that stays": (
        "drink H<sub>2</sub>O now",
        "jetzt H2O trinken",
        "0-2 1-1 2-0",
        "jetzt H<sub>2</sub>O trinken",
    ),
    "a number": ("about 10<sup>30</sup> kg", "um 1030 kg", "0-0 1-1 2-2", "um 10<sup>30</sup> kg"),
    "a word that stays and is aligned with others": (
        "drink H<sub>2</sub>O now",
        "jetzt H2O trinken",
        "0-1 1-0 2-0",
        "jetzt H<sub>2</sub>O trinken",
    ),
    "words that stay are told apart": (
        "x<sub>1</sub> or x<sub>2</sub> x<sub>1</sub>",
        "x1 x1 oder x2",
        "0-1 1-2 2-3 3-0",
        "x<sub>1</sub> x<sub>1</sub> oder x<sub>2</sub>",
    ),
    "signs that are not there again are around no word": (
        "H<sub>2</sub>O x",
        "Wasser y",
        "0-0 1-1",
        "Wasser<sub></sub> y",
    ),
    "what follows the same characters": (
        "the 1<sup>er</sup> x",
        "the 1st x",
        "0-0 1-1 2-2",
        "the 1<sup>st</sup> x",
    ),
    "the same beginning": (
        "CO<sub>2</sub>neutral x",
        "x CO2neutraler",
        "0-1 1-0",
        "x CO<sub>2</sub>neutraler",
    ),
    "parts with letters are around all that has no part of its own": (
        "the <b>big</b>gest x",
        "der größte x",
        "0-0 1-1 2-2",
        "der <b>größte</b> x",
    ),
    "words that became a sign only": ("a <b>b</b> c .", "A C .", "0-0 1-2 2-1", "A <b>C</b> ."),
    "the first letter of a word": ("<i>E</i>s war x", "Once it y", "0-0 1-1 2-2", "<i>O</i>nce it y"),
    "links that are guessed": ("m<sup>2</sup> x", "m2", "", "m<sup>2</sup>"),
}


@pytest.mark.parametrize(
    ("html", "target", "pairs", "expected"),
    [pytest.param(*case, id=rule) for rule, case in (ELEMENTS | MARKS_WITHIN_WORDS).items()],
)
def test_elements_go_around_what_their_words_and_marks_around_what_their_characters_became(
    html: str, target: str, pairs: str, expected: str
) -> None:
    assert translate(html, target, pairs) == expected


@pytest.mark.parametrize(
    ("xml", "target", "pairs", "expected"),
    [
        ('See <x id="1"/> now', "Jetzt sehen", "0-1 1-0", 'Jetzt sehen <x id="1"/>'),
        ("See <x>a&amp;b</x> now", "Siehe jetzt", "0-0 1-1", "Siehe <x>a&amp;b</x> jetzt"),
        ("<x/> see now", "Jetzt sehen", "0-1 1-0", "<x/> Jetzt sehen"),
        ("see now <x/>", "Jetzt sehen", "0-1 1-0", "Jetzt sehen <x/>"),
        ("go (<x/>) now", "Jetzt () geh", "0-3 1-1 2-2 3-0", "Jetzt (<x/>) geh"),
        ("to <x/>s now", "jetzt zu s", "0-1 1-2 2-0", "jetzt zu <x/>s"),
        ("a<!-- c --> b", "B A", "0-1 1-0", "B A<!-- c -->"),
        ("a <?p?>b c", "B A C", "0-1 1-0 2-2", "<?p?>B A C"),
        ("go <x/><y/> now", "jetzt los", "0-1 1-0", "jetzt los <x/><y/>"),
        ("go <x/> now", "jetzt los", "1-0", "<x/> jetzt los"),
        ("go <x/> now", "", "", "<x/>"),
        ("click <x/>, to go", "gehen klick", "0-1 3-0", "<x/> gehen klick"),
        ("on <x/>, to go", "auf gehen", "0-0 3-1", "auf <x/> gehen"),
        ("say: (<x/>) now", "jetzt sag", "0-1 4-0", "jetzt sag <x/>"),
        ("say -<x/>- now", "sag -- jetzt", "0-0 1-1 2-2 3-3", "sag -<x/>- jetzt"),
    ],
)
def test_elements_between_words_go_with_their_neighbour(
    xml: str, target: str, pairs: str, expected: str
) -> None:
    assert translate(xml, target, pairs, XML) == expected


def test_an_element_with_nothing_but_an_image_is_like_the_image() -> None:
    parts = parse("<p><b><img src='a'></b>Hund da <a><img src='b'></a></p>", HTML).parts

    assert [part.marked.text for part in parts if isinstance(part, ReadText)] == ["Hund da"]


def test_the_example_of_the_page_is_true() -> None:
    page = (ROOT / "docs" / "guides" / "markup.md").read_text(encoding="utf-8")
    source, target = (line.strip() for line in page.splitlines() if line.startswith("    <p>"))
    pairs = "0-0 1-2 2-3 3-4 4-1 5-5"

    assert translate(source, "Lies zuerst die ganze Geschichte.", pairs) == target


Segments = Sequence[tuple[str, str, str]]
SEGMENTED: Mapping[str, tuple[str, str, Segments, str]] = {
    "an element on both sides of a line break is around the translations of both lines": (
        "<p>We saw <b>a dog<br>and cats</b> today</p>",
        "Wir sahen einen Hund\nheute und Katzen",
        [
            ("We saw a dog", "Wir sahen einen Hund", "0-0 1-1 2-2 3-3"),
            ("and cats today", "heute und Katzen", "0-1 1-2 2-0"),
        ],
        "<p>Wir sahen <b>einen Hund<br>heute und Katzen</b></p>",
    ),
    "a bracket before a change cannot become a tag": ("a <3", "a <b", [("3", "b", "")], "a &lt;b"),
    "an ampersand before a change cannot become a reference": (
        "AT&x",
        "AT&amp;",
        [("x", "amp;", "")],
        "AT&amp;amp;",
    ),
    "half a reference before a change is written anew": ("&ampx", "&lt", [("x", "lt", "")], "&amp;lt"),
    "a number's reference before a change is written anew": ("&#65x", "A6", [("x", "6", "")], "A6"),
    "of a reference to two characters the first may change": (
        "&NotEqualTilde;",
        "x\u0338",
        [("\u2242", "x", "")],
        "x\u0338",
    ),
    "of a reference to two characters the second may change": (
        "&NotEqualTilde;",
        "\u2242x",
        [("\u0338", "x", "")],
        "\u2242x",
    ),
    "a segment that did not change is put back as it was beside one that did": (
        "<p><i>A &gt;\n 1<!-- c --></i>. <b>Go</b> now</p>",
        "A > 1. Jetzt geh",
        [("A > 1.", "A > 1.", ""), ("Go now", "Jetzt geh", "0-1 1-0")],
        "<p><i>A &gt;\n 1<!-- c --></i>. Jetzt <b>geh</b></p>",
    ),
    # B is before A now, and D before C: an element that must hold A's full stop and D's place holds no more.
    "an element over two segments begins in one and ends in the other": (
        "a <b>b. c</b> d.",
        "B A. D C.",
        [("a b.", "B A.", "0-1 1-0 2-2"), ("c d.", "D C.", "0-1 1-0 2-2")],
        "B A<b>. </b>D C.",
    ),
    "what touches such an element still touches it": (
        "one <img> <b>two tva three</b>",
        "eins zwei drei",
        [("one two tva", "eins zwei", "0-0 0-1 1-1 2-1"), ("three", "drei", "")],
        "eins <img> <b>zwei drei</b>",
    ),
}


@pytest.mark.parametrize("rule", SEGMENTED)
def test_segments_are_placed_one_by_one_and_what_did_not_change_stays(rule: str) -> None:
    """Without links, those of a segment are unknown."""
    html, target, segments, expected = SEGMENTED[rule]
    marked_up = parse(html, HTML)
    (text,) = marked_up.blocks
    found: list[SegmentTranslation] = []
    source_at = at = 0
    for source, said, pairs in segments:
        source_at, at = text.index(source, source_at), target.index(said, at)
        linked = links_at(source_at, at, source, said, pairs) if pairs else None
        found.append(segment(source_at, source, at, said, linked))

    assert marked_up.rejoin([translation(target, found)]) == expected
