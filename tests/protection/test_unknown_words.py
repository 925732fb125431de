"""Words that a model cannot read are kept unless a term translates them."""

from collections.abc import Iterator

import pytest

from dragoman import Router
from dragoman.terms import Term, Terminology
from service.text.unknown_words import UnknownWords
from tests.service.conftest import TINY_BUNDLE

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
