"""Words that a model cannot read are kept unless a term translates them."""

import re
from collections.abc import Iterator

import pytest

from dragoman import Router
from dragoman.terms import Term, Terminology
from dragoman.types import Translation
from service.text.context import FoundTerm, TextContext, UnknownWords
from service.text.marked_text import MarkedText
from tests.service.conftest import TINY_BUNDLE
from tests.text.markup.marked import outcome
from tests.text.markup.translations import as_it_is

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
