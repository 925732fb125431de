"""Translations into Swiss German by models for German: ss for ß, and guillemets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import DecodingOptions, Translator
from dragoman.pipeline.engine_request import EngineRequest
from dragoman.routing.router import Router
from dragoman.text.swiss import offsets_in_swiss, to_swiss
from dragoman.types import Pair
from tests.paths import MODELS

TEXT = "The street is big and white. Your dog runs."
GERMAN, SWISS = Pair("en", "de"), Pair("en", "de-CH")


@pytest.mark.parametrize(
    ("german", "swiss"),
    [
        ("Die Straße ist groß.", "Die Strasse ist gross."),
        ("STRA\N{LATIN CAPITAL LETTER SHARP S}E", "STRASSE"),
        ("Er sagt: „Ja.“", "Er sagt: «Ja.»"),
        ("Er sagt: „Ja.”", "Er sagt: «Ja.»"),
        ("“Ja”, sagt er (“Nein”).", "«Ja», sagt er («Nein»)."),
        ("\N{SINGLE LOW-9 QUOTATION MARK}a\N{LEFT SINGLE QUOTATION MARK}", "‹a›"),  # noqa: RUF001 -- a quotation
        ("Hans’ Hut kostet 1.234,50 €", "Hans’ Hut kostet 1.234,50 €"),  # noqa: RUF001 -- an apostrophe
    ],
)
def test_sharp_s_and_quotation_marks_are_written_as_in_switzerland(german: str, swiss: str) -> None:
    assert to_swiss(german) == swiss


@given(st.text("aß„“” ("))
def test_each_offset_of_the_german_text_has_one_of_the_swiss(text: str) -> None:
    offsets = offsets_in_swiss(text)

    assert [to_swiss(text)[:at] for at in offsets] == [to_swiss(text[:end]) for end in range(len(text) + 1)]


def test_the_engine_translates_into_swiss_german_with_words_linked_as_in_german(en_de: Translator) -> None:
    options = DecodingOptions(return_alignment=True)
    german, swiss = (en_de.translate(TEXT, options, pair=pair) for pair in (GERMAN, SWISS))

    assert "ß" in german.text
    assert swiss.text == to_swiss(german.text)
    for one, other in zip(german.segments, swiss.segments, strict=True):
        assert swiss.text[slice(*other.span)] == other.text
        assert [(link.source, to_swiss(german.text[slice(*link.target)])) for link in one.links or ()] == [
            (link.source, swiss.text[slice(*link.target)]) for link in other.links or ()
        ]
        assert one.links


def test_the_beginning_of_an_unfinished_translation_is_swiss_too(en_de: Translator) -> None:
    seen: list[str] = []
    options = DecodingOptions(beam_size=1)
    request = EngineRequest(options, SWISS, on_token=lambda _, text: seen.append(text))

    text = en_de.submit("The street is big.", request).result().text

    assert seen[-1] == text
    assert "ss" in text
    assert not any("ß" in beginning for beginning in seen)


def test_a_route_names_the_variant_and_knows_what_its_model_knows() -> None:
    with Router.open({"en-de": MODELS / "en-de"}) as router:
        route = router.route("en", "DE_ch")

        assert (route.pair, route.served_pair, route.knows_formality) == (SWISS, GERMAN, True)
        assert router.route("en", "de-AT").pair == GERMAN
        assert "ß" not in router.translate("The street is big.", "en", "de-CH").translation.text
