"""Words in capitals and in Swiss spelling are translated as others, and the former get capitals."""

from dataclasses import replace

import pytest

from dragoman import DecodingOptions, EngineRequest, Translation, Translator
from dragoman.terms import Term, Terminology
from dragoman.text.capitals import to_capitals
from dragoman.types import Link, Span
from tests.engine.conftest import TIMEOUT_S

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
