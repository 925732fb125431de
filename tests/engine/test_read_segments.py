"""Words in capitals and in Swiss spelling are translated as others, and the former get capitals."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragoman import DecodingOptions, EngineRequest, Translation, Translator
from dragoman.routing.router import Router
from dragoman.terms import Term, Terminology
from dragoman.text.capitals import to_capitals
from dragoman.text.swiss import offsets_in_swiss, to_swiss
from dragoman.types import Link, Pair, Span
from tests.engine.conftest import TIMEOUT_S
from tests.paths import MODELS

OPTIONS = DecodingOptions(beam_size=3, num_hypotheses=3, return_alignment=True)
SEGMENT = "DER HUND SCHLÄFT IM GARTEN."
PLAIN = "Der Hund schläft im Garten."


def in_capitals(translation: Translation) -> list[str]:
    return [to_capitals(one.text, "en") for one in translation.alternatives]


def linked_words(segment: str, text: str, links: tuple[Link, ...] | None) -> list[tuple[str, str]]:
    assert links
    return [(segment[source.start : source.end], text[span.start : span.end]) for source, span in links]


def test_the_translations_of_a_segment_in_capitals_are_those_of_the_sentence(de_en: Translator) -> None:
    found = de_en.translate(SEGMENT, OPTIONS)
    plain = de_en.translate(PLAIN, OPTIONS)

    assert [one.text for one in found.alternatives] == in_capitals(plain)
    assert found.score == plain.score
    assert found.segments[0].source == SEGMENT


def test_the_links_of_a_segment_in_capitals_name_its_words(en_de: Translator) -> None:
    found, plain = (
        en_de.translate(segment, OPTIONS).segments[0]
        for segment in ("I DO NOT LIKE THE STREET IN THE TOWN.", "I do not like the street in the town.")
    )

    assert "ß" in plain.text  # which is one letter more in capitals
    expected = linked_words(plain.source, plain.text, plain.links)
    assert linked_words(found.source, found.text, found.links) == [
        (source.upper(), target.upper()) for source, target in expected
    ]


def test_the_links_of_a_german_ss_that_is_read_as_sharp_s_name_its_words(de_en: Translator) -> None:
    segment = "WIR MÜSSEN DRAUSSEN BLEIBEN"

    found = de_en.translate(segment, OPTIONS).segments[0]

    assert found.source_span == Span(0, len(segment))
    assert {("DRAUSSEN", "OUTSIDE"), ("BLEIBEN", "STAY")} < set(
        linked_words(segment, found.text, found.links)
    )


def test_swiss_spelling_is_translated_as_german(de_en: Translator) -> None:
    segment = "Das ist eine grosse Strasse in der Schweiz."
    found = de_en.translate(segment, OPTIONS)

    assert found.text == de_en.translate(segment.replace("ss", "ß"), OPTIONS).text
    assert ("Schweiz", "Switzerland") in linked_words(segment, found.text, found.segments[0].links)
    assert "Strauss" in de_en.translate("Herr Strauss kommt morgen.").text


def test_terms_are_found_in_a_segment_whose_ss_is_read_as_sharp_s(de_en: Translator) -> None:
    options = DecodingOptions(terminology=Terminology((Term("Betrieb", ("service",)),)))

    assert "SERVICE" in de_en.translate("AUSSER BETRIEB", options).text.split()


def test_other_segments_of_the_text_keep_their_case(de_en: Translator) -> None:
    found = de_en.translate(f"{SEGMENT} Der Hund frisst den Apfel.")

    alone = [de_en.translate(each).text for each in (SEGMENT, "Der Hund frisst den Apfel.")]
    assert [segment.text for segment in found.segments] == alone


def test_the_text_so_far_of_a_segment_in_capitals_is_in_capitals(de_en: Translator) -> None:
    beginnings: list[str] = []
    request = EngineRequest(DecodingOptions(beam_size=1))
    request = replace(request, on_token=lambda _, text: beginnings.append(text))

    whole = de_en.submit(SEGMENT, request).result(TIMEOUT_S).text

    assert beginnings
    assert all(whole.startswith(text) for text in beginnings)


@pytest.mark.parametrize("prefix", ["The dog", "THE"])
def test_a_given_beginning_stays_as_it_is(de_en: Translator, prefix: str) -> None:
    assert de_en.translate(SEGMENT, DecodingOptions(target_prefix=prefix)).text.startswith(prefix)


def test_the_translation_of_a_word_in_capitals_gets_them(de_en: Translator) -> None:
    found = de_en.translate("Der HUND frisst den APFEL.")
    plain = de_en.translate("Der Hund frisst den Apfel.")

    assert {"dog", "apple."} < set(plain.text.split())
    assert found.text == plain.text.replace("dog", "DOG").replace("apple", "APPLE")
    assert found.score == plain.score
    assert found.segments[0].links is None


def test_the_translation_of_a_term_in_capitals_is_as_given(de_en: Translator) -> None:
    options = DecodingOptions(terminology=Terminology((Term("sehr", ("quite",)),)))

    words = de_en.translate("Der Hund läuft SEHR schnell.", options).text.split()

    assert "quite" in words


@pytest.mark.parametrize("name", ["LIFE", "SIGTERM"])
def test_a_name_stays_as_it_is_written_if_the_model_finds_that_more_probable(
    en_de: Translator, name: str
) -> None:
    segment = f"Parliament supports the {name} programme."
    found = en_de.translate(segment, OPTIONS)

    assert (name, name) in linked_words(segment, found.text, found.segments[0].links)


def test_the_links_of_a_word_in_capitals_name_the_translation(en_de: Translator) -> None:
    segment = "The STREET is long."
    found = en_de.translate(segment, OPTIONS).segments[0]

    assert ("STREET", "STRASSE") in linked_words(segment, found.text, found.links)
    assert ("long", "lang") in linked_words(segment, found.text, found.links)


def test_tokens_come_with_a_word_in_capitals_as_without(de_en: Translator) -> None:
    options = replace(OPTIONS, return_tokens=True)
    found = de_en.translate("Der HUND frisst den APFEL.", options)

    plain = de_en.translate("Der Hund frisst den Apfel.", options)
    assert found.segments[0].tokens == plain.segments[0].tokens


@pytest.mark.parametrize(
    ("segment", "text", "words"),
    [
        ('"Vielleicht" ist ein Wort.', '"Maybe" is a word.', ("Vielleicht", "Maybe")),
        ('"VIELLEICHT" IST EIN WORT.', '"MAYBE" IS A WORD.', ("VIELLEICHT", "MAYBE")),
    ],
)
def test_a_word_after_a_quotation_mark_is_translated_as_any_other(
    de_en: Translator, segment: str, text: str, words: tuple[str, str]
) -> None:
    beginnings: list[str] = []
    options = DecodingOptions(beam_size=1, return_alignment=True)
    request = EngineRequest(options, on_token=lambda _, text: beginnings.append(text))

    found = de_en.submit(segment, request).result(TIMEOUT_S)

    assert found.text == text
    assert words in linked_words(segment, found.text, found.segments[0].links)
    assert text[:6] in {beginning[:6] for beginning in beginnings}
    assert not any(beginning.startswith('" ') for beginning in beginnings)


def test_terms_are_annotated_in_quotation_marks(de_en: Translator) -> None:
    options = DecodingOptions(terminology=Terminology((Term("Vielleicht", ("Possibly",)),)))

    assert '"Possibly' in de_en.translate('Er sagte "Vielleicht".', options).text


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
