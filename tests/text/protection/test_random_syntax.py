"""Syntax that no list has: names between random signs, and random names of tags around words."""

from itertools import pairwise

from hypothesis import example, given, settings
from hypothesis import strategies as st

from service.text.context import TextContext
from service.text.marked_text import MarkedText
from tests.text.markup.marked import outcome
from tests.text.markup.translations import as_it_is
from tests.text.protection.bad_model import translate_badly

CONTEXT = TextContext("de", "en")
WORDS = st.sampled_from(["Haus", "und", "öffnen", "die", "Hunde", "sehr", "nicht", "Datei", "Wir"])
SENTENCES = st.lists(WORDS, min_size=1, max_size=5).map(" ".join)
NAMES = st.from_regex(r"[a-zA-ZäöüÄÖÜ][a-zA-Z0-9äöüß]{1,12}([._-][a-zA-Z][a-z0-9]{1,8})?", fullmatch=True)
EMPHASIS, SIGILS, OPENING = "*_~=+^|", "$%@#&", "([{<"
MIRROR = str.maketrans("([{<", ")]}>")


def is_of_names(signs: str) -> bool:
    """Whether signs are no emphasis of words, as `{++`, and no brackets of a sentence, as `([`."""
    if signs[0] in OPENING:
        is_emphasis = signs[1] == signs[-1] and signs[1] in EMPHASIS
        return not is_emphasis and (signs[0] in "{<" or signs[1] in SIGILS or signs[0] == signs[1])
    return signs[0] in SIGILS or (signs[0] in EMPHASIS and signs[1] in SIGILS)


DELIMITERS = st.text(EMPHASIS + SIGILS + OPENING, min_size=2, max_size=3).filter(is_of_names)
VALUES = st.from_regex(r'"[a-zäöü0-9 ./,#]{0,12}"|\'[a-z0-9 ,]{0,9}\'|[a-z0-9#]{1,9}', fullmatch=True)
ATTRIBUTES = st.lists(st.tuples(NAMES, VALUES).map(lambda pair: f" {pair[0]}={pair[1]}"), max_size=3).map(
    "".join
)
TAGS = st.tuples(
    NAMES, ATTRIBUTES, st.sampled_from(["<>", "[]", "{}", "()"]), st.sampled_from(["", "#"])
).map(
    lambda tag: (
        f"{tag[2][0]}{tag[3]}{tag[0]}{tag[1]}{tag[2][1]}",
        f"{tag[2][0]}/{tag[3]}{tag[0]}{tag[2][1]}",
    )
)


def translated(text: str) -> str:
    return outcome(MarkedText(text), translate_badly, CONTEXT).marked.text


@settings(max_examples=500)
@given(SENTENCES, SENTENCES, st.lists(st.tuples(DELIMITERS, NAMES), min_size=1, max_size=3))
@example("Haus", "Haus", [("#_", "a0.a0")])
def test_names_between_random_signs_and_their_mirror_come_back(
    before: str, after: str, named: list[tuple[str, str]]
) -> None:
    forms = [f"{signs}{name}{signs[::-1].translate(MIRROR)}" for signs, name in named]
    text = " ".join((before, *forms, after))

    found = outcome(MarkedText(text), lambda shown: as_it_is(shown.upper()), CONTEXT).marked.text
    places = [found.find(form) for form in forms]

    assert all(place >= 0 for place in places), found
    assert len(set(forms)) < len(forms) or all(first < last for first, last in pairwise(places))
    assert all(form in translated(text) for form in forms)


@settings(max_examples=500)
@given(SENTENCES, SENTENCES, SENTENCES, TAGS)
@example("Wir", "sehr", "nicht", ("[b]", "[/b]"))
@example("Wir", "sehr", "nicht", ("{{#b}}", "{{/b}}"))
@example("Wir", "sehr", "nicht", ("{% b %}", "{% endb %}"))
@example("Wir", "sehr", "nicht", ("\\emph{", "}"))
@example("Wir", "sehr", "nicht", ("{++", "++}"))
@example("Wir", "nicht", "die", ("{--", "--}"))
@example("Wir", "sehr", "nicht", ("[", ']({{ a.b }} "t")'))
@example("Wir", "sehr", "nicht", ("[", "](<%= a %>)"))
@example("Wir", "sehr", "nicht", ("[", "](https://a.example/b)"))
def test_tags_of_any_name_go_around_the_words_that_b_goes_around(
    before: str, within: str, after: str, tag: tuple[str, str]
) -> None:
    first, last = tag

    found = translated(f"{before} {first}{within}{last} {after}")

    expected = translated(f"{before} <b>{within}</b> {after}")
    assert found == expected.replace("<b>", first).replace("</b>", last)


@settings(max_examples=300)
@given(SENTENCES, SENTENCES, TAGS)
def test_a_tag_without_its_other_half_comes_back(before: str, after: str, tag: tuple[str, str]) -> None:
    assert tag[1] in translated(f"{before} {tag[1]} {after}")
