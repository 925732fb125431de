"""Which terms a request gets, and that equal requests get the same ones."""

from collections.abc import Iterator

import pytest

from dragoman.errors import InputError
from dragoman.terms import Term
from dragoman.types import Pair
from service.accounts.database import Database
from service.accounts.keys import ANONYMOUS
from service.api.native.requests import TermIn
from service.glossaries.entries import Dictionary
from service.glossaries.errors import GlossaryInvalid, UnknownGlossary
from service.glossaries.glossary_service import GlossaryService
from service.glossaries.json_terms import present_terms, read_request_terms
from service.glossaries.store import GlossaryStore
from service.glossaries.terminology import RequestTerminology, RequestTerms
from tests.service.accounts.conftest import NOON

PAIR = Pair("de", "en")
DOG, HOUND = Term("Hund", ("dog",)), Term("Hund", ("hound",))
NONE = RequestTerms()


@pytest.fixture
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GlossaryService]:
    database = Database.open(f"sqlite:///{tmp_path_factory.mktemp('store') / 'any.db'}")
    yield GlossaryService(GlossaryStore(database))
    database.close()


def add(service: GlossaryService, *terms: Term, pair: Pair = PAIR) -> str:
    return service.store.add(None, "any", [Dictionary(pair, terms)], NOON).id


def find(service: GlossaryService, *glossary_ids: str, own: RequestTerms = NONE) -> RequestTerminology:
    found = service.find_terms(ANONYMOUS, glossary_ids, own)
    assert found is not None
    return found


def test_a_request_without_terms_has_none(service: GlossaryService) -> None:
    assert service.find_terms(ANONYMOUS, [], NONE) is None


def test_equal_own_terms_get_one_object(service: GlossaryService) -> None:
    assert find(service, own=RequestTerms((DOG,))) is find(service, own=RequestTerms((DOG,)))
    assert find(service, own=RequestTerms((DOG,))) is not find(service, own=RequestTerms((HOUND,)))


def test_the_cache_forgets_the_oldest(service: GlossaryService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service._cached, "_max_weight", 2)
    first = find(service, own=RequestTerms((DOG, Term("Katze"))))
    second = find(service, own=RequestTerms((HOUND,)))
    assert find(service, own=RequestTerms((HOUND,))) is second
    assert find(service, own=RequestTerms((DOG, Term("Katze")))) is not first


def test_own_terms_come_before_the_first_glossary_and_that_before_the_next(service: GlossaryService) -> None:
    first, second = add(service, DOG), add(service, HOUND)
    # Of terms with the same source, the engine uses the last.
    assert find(service, first, second).select(PAIR).terms == (HOUND, DOG)
    own = RequestTerms((Term("Hund", ("cur",)),), ("mutt",))
    selected = find(service, first, second, own=own).select(PAIR)
    assert selected.terms[-1] == Term("Hund", ("cur",))
    assert selected.forbidden == ("mutt",)


@pytest.mark.parametrize(("stored", "requested"), [("en", "en-GB"), ("en-GB", "en"), ("EN", "en")])
def test_a_glossary_applies_to_all_regions_of_a_language(
    service: GlossaryService, stored: str, requested: str
) -> None:
    found = find(service, add(service, DOG, pair=Pair("de", stored)))
    assert found.select(Pair("de", requested)).terms == (DOG,)


@pytest.mark.parametrize(("stored", "requested"), [("en-US", "en-GB"), ("zh-Hant", "zh-Hans"), ("fr", "en")])
def test_a_glossary_applies_to_no_other_language(
    service: GlossaryService, stored: str, requested: str
) -> None:
    found = find(service, add(service, DOG, pair=Pair("de", stored)))
    with pytest.raises(InputError, match=f"glossary: has no entries for de -> {requested}; it has de ->"):
        found.select(Pair("de", requested))


def test_entries_of_the_same_region_come_first(service: GlossaryService) -> None:
    dictionaries = [Dictionary(Pair("de", "en"), (DOG,)), Dictionary(Pair("de", "en-GB"), (HOUND,))]
    found = find(service, service.store.add(None, "any", dictionaries, NOON).id)
    assert found.select(Pair("de", "en-GB")).terms == (HOUND,)
    assert found.select(Pair("de", "en-US")).terms == (DOG,)


def test_a_stored_copy_is_read_as_it_was(service: GlossaryService) -> None:
    own = RequestTerms((Term("Dragoman"), Term("Ä", ("a", "b"))), ("mutt",))
    found = find(service, add(service, DOG), add(service, HOUND), own=own)
    copy = RequestTerminology.from_json(found.to_json())
    assert (copy.glossaries, copy.requested, copy.num_terms) == (found.glossaries, found.requested, 5)


def test_another_callers_glossary_is_unknown(service: GlossaryService) -> None:
    with pytest.raises(UnknownGlossary):
        service.find_terms(ANONYMOUS, ["4619abf1-a641-46ba-940f-692afd607933"], NONE)


def test_terms_in_json_are_presented_as_they_were_sent() -> None:
    items: list[dict[str, object]] = [
        {"source": "Hund", "target": "dog"},
        {"source": "Katze", "targets": ["cat", "tomcat"]},
        {"source": "Dragoman"},
    ]
    entries = [TermIn.model_validate(item).entry() for item in items]
    assert present_terms(read_request_terms(entries, ()).terms) == items


@pytest.mark.parametrize(
    ("items", "problem"),
    [
        ([("a", []), (" ", [])], "terms[1]: the source term is empty"),
        ([("a", []), ("a", ["b"])], "terms[1] repeats the source term of terms[0]"),
        ([("a", [str(i) for i in range(17)])], "17 target terms; the limit is 16"),
        ([(str(i), []) for i in range(1001)], "more than 1000 entries; store them as a glossary"),
    ],
)
def test_a_term_that_cannot_be_used_is_named(items: list[tuple[str, list[str]]], problem: str) -> None:
    with pytest.raises(GlossaryInvalid) as refused:
        read_request_terms(items, ())
    assert refused.value.field == "terms"
    assert problem in refused.value.problem


@pytest.mark.parametrize("forbidden", [[""], ["x" * 201], ["x"] * 1001])
def test_forbidden_phrases_that_cannot_be_used_are_rejected(forbidden: list[str]) -> None:
    with pytest.raises(InputError) as refused:
        read_request_terms([], forbidden)
    assert refused.value.field == "forbidden"
