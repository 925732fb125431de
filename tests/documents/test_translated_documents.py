"""Documents through a desk: in parts, in order, in their own form, and charged as a whole."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import InputError, Overloaded
from dragoman.bundle import open_bundle
from dragoman.routing.inspection import bundle_folders
from dragoman.routing.router import Router
from service.accounts.accounts import Accounts
from service.accounts.callers import ANYONE, Caller, caller_with
from service.accounts.database import Database
from service.accounts.errors import QuotaExceeded
from service.accounts.key_store import KeyStore
from service.accounts.keys import KeyWishes, Limits
from service.desk.desk import Desk
from service.desk.inference import Inference
from service.desk.order import Order
from service.desk.sources import Detection
from service.documents import translating
from service.documents.errors import UnusableDocument
from service.documents.translating import PART_CHARACTERS, text_parts, translate_document
from service.front.limits import TextLimits
from tests.routing.doubles import DoubleBundles, write_bundle
from tests.service.conftest import SIZE_BYTES, TIMEOUT_S, DoubleTranslator, router_of

INTO_ENGLISH = Order((), "en")
LIMITS = TextLimits(1000, 100_000)


@dataclass
class Desks:
    """Desks over a double that makes upper case of German."""

    router: Router
    double: DoubleTranslator
    accounts: Accounts

    def translate(
        self,
        content: bytes | str,
        name: str = "a.txt",
        order: Order = INTO_ENGLISH,
        *,
        caller: Caller = ANYONE,
        limits: TextLimits = LIMITS,
    ) -> str:
        desk = Desk(Inference(self.router, TIMEOUT_S, ()), self.accounts, limits, Detection.OFF)
        sent = content.encode() if isinstance(content, str) else content
        return asyncio.run(translate_document(desk, sent, name, order, caller)).decode()

    @property
    def seen(self) -> list[str]:
        return [text for text, _ in self.double.seen]


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'accounts.db'}"


@pytest.fixture
def desks(tmp_path: Path, database_url: str) -> Iterator[Desks]:
    bundle = write_bundle(tmp_path / "tiny", "tiny-de-en")
    double = DoubleTranslator(open_bundle(bundle).manifest)
    with (
        Accounts.open(database_url, requires_key=False) as accounts,
        router_of(double, bundle) as router,
    ):
        yield Desks(router, double, accounts)


@pytest.fixture
def caller_of(database_url: str) -> Callable[[Limits], Caller]:
    def make(limits: Limits) -> Caller:
        database = Database.open(database_url)
        try:
            return caller_with(
                KeyStore(database).create(KeyWishes("test", limits=limits), datetime.now(UTC)).key
            )
        finally:
            database.close()

    return make


def test_a_text_comes_back_in_its_form(desks: Desks) -> None:
    assert desks.translate("Hallo.\r\n\r\n\tWelt!\n") == "HALLO.\r\n\r\n\tWELT!\n"


def test_a_long_text_goes_in_parts_below_the_limits_and_in_its_order(desks: Desks) -> None:
    text = "".join(f"zeile {i}\n" for i in range(500))
    assert desks.translate(text, limits=TextLimits(1, 100)) == text.upper()
    assert len(desks.seen) > 10
    assert max(map(len, desks.seen)) <= 100
    assert "".join(desks.seen) == text
    assert all(part.endswith("\n") for part in desks.seen)


@given(st.text("ab. \r\n!漢", max_size=200), st.integers(1, 50))
def test_parts_concatenate_to_the_text_and_none_is_too_long(text: str, limit: int) -> None:
    parts = list(text_parts(text, limit, "en"))
    assert "".join(parts) == text
    assert parts
    assert max(map(len, parts)) <= limit
    assert len(parts) == 1 or all(parts)


def test_a_line_longer_than_a_part_is_cut_between_sentences() -> None:
    parts = list(text_parts("Das ist gut. Das ist schlecht. Das ist alles.", 35, "de"))
    assert parts == ["Das ist gut. Das ist schlecht. ", "Das ist alles."]


def test_a_sentence_longer_than_a_part_is_cut_between_words() -> None:
    assert list(text_parts("eins zwei drei", 11, "de")) == ["eins zwei ", "drei"]


def test_a_page_comes_back_with_its_markup(desks: Desks) -> None:
    page = '<title>Hallo</title><p class="x">Ein <b>Hund.</b></p><script>var a;</script>\n'
    translated = '<title>HALLO</title><p class="x">EIN <b>HUND.</b></p><script>var a;</script>\n'
    assert desks.translate(page, "a.html") == translated


def test_the_paragraphs_of_a_long_page_go_in_parts_and_in_their_order(desks: Desks) -> None:
    page = "".join(f"<p>absatz {i}</p>" for i in range(300))
    assert desks.translate(page, "a.html", limits=TextLimits(7, 100)) == page.replace("absatz", "ABSATZ")
    assert sorted(desks.seen) == sorted(f"absatz {i}" for i in range(300))


def test_a_paragraph_over_the_limit_is_refused(desks: Desks) -> None:
    with pytest.raises(UnusableDocument, match=r"'a\.html': a paragraph has 101 characters, more than 100"):
        desks.translate(f"<p>{'a' * 101}</p>", "a.html", limits=TextLimits(7, 100))


@pytest.mark.parametrize(("content", "name"), [("", "a.txt"), ("\n \n", "a.txt"), ("<p></p>", "a.html")])
def test_a_document_without_text_comes_back_as_it_is(desks: Desks, content: str, name: str) -> None:
    assert desks.translate(content, name) == content


@pytest.mark.parametrize("name", ["a.txt", "a.html"])
def test_a_pair_that_is_not_served_is_refused_whatever_is_in_the_document(desks: Desks, name: str) -> None:
    with pytest.raises(InputError, match="served"):
        desks.translate("", name, Order((), "fr"))


def test_a_text_that_cannot_be_translated_is_named_as_the_documents(desks: Desks) -> None:
    with pytest.raises(UnusableDocument, match=r"'a\.txt': is not usable"):
        desks.translate("unusable")


def test_a_document_is_charged_once_for_all_its_characters(
    desks: Desks, caller_of: Callable[[Limits], Caller]
) -> None:
    caller = caller_of(Limits())
    desks.translate("<p>Größe</p>" * 50, "a.html", caller=caller, limits=TextLimits(3, 20))
    usage = desks.accounts.usage(caller)
    assert (usage.characters, usage.requests) == (12 * 50, 1)


def test_a_document_that_fails_in_a_later_part_is_not_charged(
    desks: Desks, caller_of: Callable[[Limits], Caller]
) -> None:
    caller = caller_of(Limits())
    with pytest.raises(UnusableDocument):
        desks.translate("gut\n" * 30 + "unusable", caller=caller, limits=TextLimits(1, 20))
    assert desks.accounts.usage(caller).characters == 0


def test_a_document_over_the_quota_is_not_begun(desks: Desks, caller_of: Callable[[Limits], Caller]) -> None:
    caller = caller_of(Limits(characters_per_month=99))
    with pytest.raises(QuotaExceeded):
        desks.translate("gut\n" * 25, caller=caller, limits=TextLimits(1, 20))
    assert desks.seen == []


def test_a_part_waits_for_room(desks: Desks, monkeypatch: pytest.MonkeyPatch) -> None:
    refusals = iter([True, True])
    submit = desks.double.submit

    def submit_third_time(*args: object, **options: object) -> object:
        if next(refusals, False):
            raise Overloaded(num_waiting=8, queue_size=9, num_sources=2)
        return submit(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(desks.double, "submit", submit_third_time)
    monkeypatch.setattr(translating, "OVERLOADED_PAUSE_S", 0.0)
    assert desks.translate("hallo") == "HALLO"


@pytest.fixture
def detecting(tmp_path: Path) -> Iterator[Desk]:
    """Detects languages: de -> en and fr -> en."""
    write_bundle(tmp_path / "models" / "a", "german")
    write_bundle(tmp_path / "models" / "b", "french", ["fr"], ["en"])
    router = Router(lambda: bundle_folders(tmp_path / "models"), DoubleBundles().open, lambda _: SIZE_BYTES)
    with router, Accounts.open(None, requires_key=False) as accounts:
        yield Desk(Inference(router, TIMEOUT_S, ()), accounts, LIMITS, Detection.ON)


GERMAN = "Das Wetter ist heute sehr schön, und wir gehen in den Garten.\n"
FRENCH = "Il fait très beau aujourd'hui et nous allons dans le jardin.\n"
ENGLISH = "The weather is very nice today and we are going to the garden.\n"


@pytest.mark.parametrize(("name", "wrap"), [("a.txt", "{}"), ("a.html", "<p>{}</p>")])
def test_the_language_of_a_document_is_that_of_its_beginning(detecting: Desk, name: str, wrap: str) -> None:
    times = PART_CHARACTERS // len(GERMAN) + 10
    document = "".join(wrap.format(line.strip()) + "\n" for line in [GERMAN] * times + [FRENCH] * 3)
    translated = asyncio.run(translate_document(detecting, document.encode(), name, INTO_ENGLISH, ANYONE))
    assert translated.decode().count("|german") == times + 3
    assert b"|french" not in translated


@pytest.mark.parametrize("content", [ENGLISH * 3, "123\n"])
def test_a_document_in_the_target_language_or_in_none_stays_as_it_is(detecting: Desk, content: str) -> None:
    translated = asyncio.run(translate_document(detecting, content.encode(), "a.txt", INTO_ENGLISH, ANYONE))
    assert translated.decode() == content
