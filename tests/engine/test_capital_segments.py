"""A segment in capitals is translated in sentence case, and its translation gets capitals."""

from dataclasses import replace

import pytest

from dragoman import DecodingOptions, EngineRequest, Translation, Translator
from dragoman.text.capitals import sentence_case, to_capitals
from dragoman.types import Link
from tests.engine.conftest import MODELS, TIMEOUT_S

OPTIONS = DecodingOptions(beam_size=3, num_hypotheses=3, return_alignment=True)
SEGMENT = "DER HUND SCHLÄFT IM GARTEN."


def in_capitals(translation: Translation) -> list[str]:
    return [to_capitals(one.text, "en") for one in translation.alternatives]


def linked_words(segment: str, text: str, links: tuple[Link, ...] | None) -> list[tuple[str, str]]:
    assert links
    return [(segment[source.start : source.end], text[span.start : span.end]) for source, span in links]


def test_its_translations_are_those_of_its_sentence_case_in_capitals(tiny: Translator) -> None:
    found = tiny.translate(SEGMENT, OPTIONS)
    plain = tiny.translate(sentence_case(SEGMENT, "de"), OPTIONS)

    assert [one.text for one in found.alternatives] == in_capitals(plain)
    assert found.score == plain.score
    assert found.segments[0].source == SEGMENT


def test_its_links_name_words_of_the_capitals() -> None:
    segment = "I DO NOT LIKE THE STREET IN THE TOWN."
    with Translator.open(MODELS / "en-de", replicas=1) as translator:
        found = translator.translate(segment, OPTIONS).segments[0]
        plain = translator.translate(sentence_case(segment, "en"), OPTIONS).segments[0]

    assert "ß" in plain.text  # which is one letter more in capitals
    expected = linked_words(plain.source, plain.text, plain.links)
    assert linked_words(found.source, found.text, found.links) == [
        (source.upper(), target.upper()) for source, target in expected
    ]


def test_other_segments_of_its_text_keep_their_case(tiny: Translator, pairs: list[tuple[str, str]]) -> None:
    source, target = pairs[0]

    found = tiny.translate(f"{SEGMENT} {source}")

    assert [segment.text for segment in found.segments] == [tiny.translate(SEGMENT).text, target]


def test_its_text_so_far_is_in_capitals(tiny: Translator) -> None:
    beginnings: list[str] = []
    request = EngineRequest(DecodingOptions(beam_size=1))
    request = replace(request, on_token=lambda _, text: beginnings.append(text))

    whole = tiny.submit(SEGMENT, request).result(TIMEOUT_S).text

    assert beginnings
    assert all(whole.startswith(text) for text in beginnings)


@pytest.mark.parametrize("prefix", ["The dog", "THE"])
def test_a_given_beginning_stays_as_it_is(tiny: Translator, prefix: str) -> None:
    assert tiny.translate(SEGMENT, DecodingOptions(target_prefix=prefix)).text.startswith(prefix)
