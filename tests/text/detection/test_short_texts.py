"""Short texts and texts in a language that is not served, on a server of de-en and en-de."""

from pathlib import Path

import pytest

from dragoman import InputError
from dragoman.routing.routes import Routes
from service.translation.detection import detect
from service.translation.source_language import resolve_source
from tests.engine.routing.doubles import DoubleBundles, write_bundle
from tests.service.conftest import router_over

SERVED = ["de", "en"]
MIN_RIGHT = 0.97
FOREIGN = {
    "French": "La chatte dort dans le jardin aujourd'hui.",
    "Italian": "Il gatto dorme in giardino oggi.",
    "Dutch": "De kat slaapt vandaag in de tuin.",
}


@pytest.fixture(scope="module")
def routes(tmp_path_factory: pytest.TempPathFactory) -> Routes:
    folder = tmp_path_factory.mktemp("models")
    write_bundle(folder / "de-en", "de-en", ["de"], ["en"])
    write_bundle(folder / "en-de", "en-de", ["en"], ["de"])
    with router_over(folder, DoubleBundles()) as router:
        return router.routes


def read_words(name: str) -> list[str]:
    """Everyday words and greetings, one a line.

    `held_out_*` was written before the product's list, `unseen_*` later, without a look at it.
    """
    return (Path(__file__).parent / f"{name}.txt").read_text("utf-8").splitlines()


@pytest.mark.parametrize("language", SERVED)
@pytest.mark.parametrize("kind", ["everyday", "held_out"])
def test_everyday_words_are_detected(kind: str, language: str) -> None:
    words = read_words(f"{kind}_{language}")
    assert len(words) >= 200
    right = [word for word in words if detect(word, SERVED)[0].language == language]
    assert len(right) / len(words) >= MIN_RIGHT


@pytest.mark.parametrize(("language", "target"), [("de", "en"), ("en", "de")])
@pytest.mark.parametrize("kind", ["everyday", "held_out", "unseen"])
def test_everyday_words_are_translated(routes: Routes, kind: str, language: str, target: str) -> None:
    words = read_words(f"{kind}_{language}")
    translated = [word for word in words if resolve_source(word, target, None, routes).language == language]
    assert len(translated) / len(words) >= MIN_RIGHT


def test_a_short_text_is_left_alone_only_where_it_is_certain(routes: Routes) -> None:
    assert resolve_source("Good morning", "en", None, routes).language is None
    assert resolve_source("Hand", "en", None, routes).language == "de"
    for text in ("Hallo", "Moin", "Was?", "Wo?"):
        assert resolve_source(text, "en", None, routes).language == "de"


@pytest.mark.parametrize("language", FOREIGN)
@pytest.mark.parametrize("target", [None, "en"])
def test_a_language_that_is_not_served_is_named(routes: Routes, language: str, target: str | None) -> None:
    assert [each.language for each in detect(FOREIGN[language], SERVED)] == ["und"]
    with pytest.raises(
        InputError, match=f"seems to be {language}, which is not served; served are de, en; `dragoman import"
    ):
        resolve_source(FOREIGN[language], target, None, routes)


def test_a_text_that_begins_in_another_language_is_looked_at_as_a_whole(routes: Routes) -> None:
    beginning, rest = f"{FOREIGN['French']} " * 5, "Die Katze schläft heute im Garten. " * 50

    assert resolve_source(beginning + rest, "en", None, routes).language == "de"
    with pytest.raises(InputError, match="seems to be French"):
        resolve_source(beginning * 10, "en", None, routes)


def test_a_long_text_with_a_lone_surrogate_is_rejected(routes: Routes) -> None:
    with pytest.raises(InputError, match="lone surrogate"):
        resolve_source(f"{FOREIGN['French']} \ud800", "en", None, routes)


@pytest.mark.parametrize(
    "text",
    [
        "The man in the white belt and sunglasses is holding the girl's hand.",
        "Finally, one cannot agree with the opinions of delegate Kohliček.",
        "I think I'm gonna go to sleep.",
        "Wer will heiße Schokolade?",
        "Tabak ist eine Droge.",
    ],
)
def test_a_served_language_is_not_taken_for_another(text: str) -> None:
    assert detect(text, SERVED)[0].language in SERVED
