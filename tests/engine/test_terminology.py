"""Terminology: required translations, words to keep, forbidden phrases, with and without marks for terms."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from dragoman import DecodingOptions, InputError, Translator
from dragoman.bundle import read_bundle
from dragoman.decoding.options import Sampling
from dragoman.pipeline.engine_request import EngineRequest
from dragoman.terms import Term, Terminology
from export.bundle import write_manifest
from tests.paths import MODELS

TERMS = Terminology(
    (
        Term("Tür", ("gate",)),
        Term("Datei", ("document",)),
        Term("Vorstand", ("executive board",)),
        Term("Hund", ("platypus",)),
        Term("Zorblax"),
    )
)
SENTENCES = {
    "Die Türen sind zu.": ["gate"],
    "Bitte löschen Sie die Datei.": ["document"],
    "Der Vorstand sprach mit dem Hund von Zorblax.": ["executive board", "platypus", "Zorblax"],
    "Die Tür und noch eine Tür.": ["gate", "gate"],
    "Die Türen sind offen, aber diese Tür ist zu.": ["gate", "gate"],
}


@pytest.fixture(scope="module", params=["marks", "no marks"])
def to_english(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Translator]:
    """A model that reads terms next to the source, and the same one without the record that it does."""
    bundle = MODELS / "de-en"
    if request.param == "no marks":
        bundle = unmarked_copy(tmp_path_factory.mktemp("models") / "de-en")
    with Translator.open(bundle, replicas=1, segment_cache_size=100) as translator:
        yield translator


def unmarked_copy(folder: Path) -> Path:
    folder.mkdir()
    for path in (MODELS / "de-en").iterdir():
        (folder / path.name).symlink_to(path)
    (folder / "manifest.json").unlink()
    write_manifest(folder, replace(read_bundle(MODELS / "de-en").manifest, controls=None))
    return folder


def with_terms(terminology: Terminology = TERMS, **options: Any) -> DecodingOptions:
    return replace(DecodingOptions(terminology=terminology), **options)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_required_translations_are_in_the_translation(to_english: Translator, beam_size: int) -> None:
    for sentence, required in SENTENCES.items():
        text = to_english.translate(sentence, with_terms(beam_size=beam_size)).text

        for phrase in required:
            assert text.lower().count(phrase.lower()) >= required.count(phrase), text


@pytest.mark.parametrize(
    ("sentence", "terminology"),
    [("Wir gehen heute ins Kino. Kommst du mit?", TERMS), ("Die Tür ist zu.", Terminology())],
    ids=["without terms", "without terminology"],
)
def test_a_text_that_needs_no_terms_is_translated_as_without_terminology(
    to_english: Translator, sentence: str, terminology: Terminology
) -> None:
    assert to_english.translate(sentence, with_terms(terminology)) == to_english.translate(sentence)


def test_a_translation_that_has_its_terms_already_is_not_searched_for_again(to_english: Translator) -> None:
    options = with_terms(Terminology((Term("Hund", ("dog",)),)))

    text = to_english.translate("Der Hund schläft.", options).text

    assert text == to_english.translate("Der Hund schläft.").text


def test_texts_of_a_list_get_what_each_gets_alone(to_english: Translator) -> None:
    together = to_english.translate(list(SENTENCES), with_terms())

    assert together == [to_english.translate(sentence, with_terms()) for sentence in SENTENCES]


def test_every_segment_of_a_text_has_its_terms(to_english: Translator) -> None:
    translation = to_english.translate(" ".join(SENTENCES), with_terms())

    assert len(translation.segments) == len(SENTENCES)
    for segment, required in zip(translation.segments, SENTENCES.values(), strict=True):
        assert all(phrase.lower() in segment.text.lower() for phrase in required)


NOUNS = [
    ("Wärmepumpe", "Wärmepumpen", "heat pump", "heat pumps"),
    ("Gutschein", "Gutscheine", "voucher", "vouchers"),
    ("Pflegekraft", "Pflegekräfte", "nurse", "nurses"),
    ("Regal", "Regale", "shelf", "shelves"),
    ("Batterie", "Batterien", "battery", "batteries"),
]


@pytest.mark.parametrize(("german", "plural", "english", "expected"), NOUNS)
def test_a_plural_of_a_term_is_translated_by_a_plural(
    to_english: Translator, german: str, plural: str, english: str, expected: str
) -> None:
    terms = with_terms(Terminology((Term(german, (english,)),)))
    for frame in ("Die neuen {} sind gut.", "Wir haben drei {} gekauft."):
        text = to_english.translate(frame.format(plural), terms).text

        assert expected in text.lower(), text


def test_a_german_plural_is_one_that_the_model_knows() -> None:
    with Translator.open(MODELS / "en-de", replicas=1) as to_german:
        for german, plural, english, plural_in_english in NOUNS:
            terms = with_terms(Terminology((Term(english, (german,)),)))
            text = to_german.translate(f"The old {plural_in_english} are good.", terms).text

            assert plural in text, text


@pytest.mark.parametrize(
    ("sentence", "term"),
    [("Das ist nicht gut.", "Nichte"), ("Er kann das nicht wollen.", "Wolle"), ("Kann ich gehen?", "Kanne")],
)
def test_a_term_with_the_stem_of_another_word_changes_nothing(
    to_english: Translator, sentence: str, term: str
) -> None:
    found = to_english.translate(sentence, with_terms(Terminology((Term(term, ("platypus",)),))))

    assert found == to_english.translate(sentence)


def test_a_forbidden_phrase_is_in_no_translation(to_english: Translator) -> None:
    assert "house" in to_english.translate("Das Haus ist groß.").text

    found = to_english.translate(
        "Das Haus ist groß.", with_terms(Terminology((), ("House",)), num_hypotheses=4, beam_size=4)
    )

    assert not any("house" in one.text.lower().split() for one in found.alternatives)


def test_word_links_name_the_words_of_the_source(to_english: Translator) -> None:
    source = "Die Tür ist sehr alt."

    found = to_english.translate(source, with_terms(return_alignment=True, return_tokens=True))

    (segment,) = found.segments
    linked = [
        (source[link.source.start : link.source.end], found.text[link.target.start : link.target.end])
        for link in segment.links or ()
    ]
    assert all(word and word in [*source.split(" "), "alt", "."] for word, _ in linked)
    if to_english.manifest.controls is not None:  # else the search may put the term elsewhere
        assert ("Tür", "gate") in linked


def test_several_hypotheses_all_have_the_terms(to_english: Translator) -> None:
    found = to_english.translate("Die Tür ist zu.", with_terms(num_hypotheses=4, beam_size=4))

    assert all("gate" in one.text.lower() for one in found.alternatives)


def test_the_translation_begins_with_the_prefix_and_has_the_terms(to_english: Translator) -> None:
    found = to_english.translate("Die Tür ist zu.", with_terms(target_prefix="This old"))

    assert found.text.startswith("This old")
    assert "gate" in found.text


def test_tokens_are_reported_from_the_first_search_and_the_result_has_the_terms(
    to_english: Translator,
) -> None:
    reported: list[str] = []
    request = EngineRequest(with_terms(beam_size=1), on_token=lambda _, text: reported.append(text))

    found = to_english.submit("Die Tür ist zu.", request).result(60)

    assert reported
    assert "gate" in found.text


@pytest.mark.parametrize(
    "options", [{"sampling": Sampling()}, {"repetition_penalty": 1.2}, {"no_repeat_ngram_size": 3}]
)
def test_terms_exclude_other_methods_of_search(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="terms: not possible with sampling"):
        with_terms(**options)
