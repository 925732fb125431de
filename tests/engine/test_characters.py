# ruff: noqa: RUF001 -- letters of several scripts are meant as they stand
"""What models spell in bytes comes out as characters; an unknown script stays as it is."""

import pytest

from dragoman import DecodingOptions, EngineRequest, FinishReason, Translator
from dragoman.bundle import open_bundle
from dragoman.decoding.options import Sampling
from dragoman.loading import open_shortlist, open_tokenizers
from dragoman.pipeline.assembly import joint_finish_reason
from tests.engine.conftest import TIMEOUT_S
from tests.paths import MODELS

OPTIONS = {
    "greedy": DecodingOptions(beam_size=1),
    "beam": DecodingOptions(),
    "all_tokens": DecodingOptions(use_shortlist=False),
    "greedy_all_tokens": DecodingOptions(beam_size=1, use_shortlist=False),
    "filtered": DecodingOptions(repetition_penalty=1.3, no_repeat_ngram_size=3),
    "sampled": DecodingOptions(num_hypotheses=3, sampling=Sampling(top_k=20, seed=1)),
    "prefix": DecodingOptions(target_prefix="Hey 😀"),
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize(
    "text", ["Hallo 😀😀😀", '😀 "Zitate"', "Das Wort Привет heißt Hallo.", "Ein ❤ für 蛇 und Ω"]
)
def test_no_translation_has_a_replacement_character(
    de_en: Translator, text: str, options: DecodingOptions
) -> None:
    translation = de_en.translate(text, options)

    for alternative in translation.alternatives:
        assert "\ufffd" not in alternative.text
        assert alternative.text


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_character_that_the_limit_cuts_is_left_out(de_en: Translator, beam_size: int) -> None:
    whole = de_en.translate("Hallo 😀😀😀", DecodingOptions(beam_size=beam_size)).text
    assert whole.endswith("😀😀😀")

    for limit in range(3, 17):
        cut = de_en.translate("Hallo 😀😀😀", DecodingOptions(beam_size=beam_size, max_length=limit)).text
        assert set(cut) <= set(whole), cut


def test_tokens_so_far_are_shown_without_half_a_character(de_en: Translator) -> None:
    shown: list[str] = []
    request = EngineRequest(DecodingOptions(beam_size=1), on_token=lambda _, text: shown.append(text))

    de_en.submit("Hallo 😀😀😀", request).result(TIMEOUT_S)

    assert "\ufffd" not in "".join(shown)
    assert any("😀" in text for text in shown)


@pytest.mark.parametrize("name", ["de-en", "en-de"])
def test_every_byte_of_a_source_is_on_its_shortlist(name: str) -> None:
    bundle = open_bundle(MODELS / name)
    shortlist = open_shortlist(bundle)
    assert shortlist is not None

    for index in open_tokenizers(bundle)[0].byte_ids:
        assert index in shortlist.candidates([index])


FOREIGN = [
    "これは日本語の文です。",
    "مرحبا كيف حالك؟",
    "Привет, как дела?",
    "안녕하세요",
    "Γειά σου Κόσμε",
    "Pythonを勉強しています",
]


@pytest.mark.parametrize("text", FOREIGN)
def test_a_text_in_an_unknown_script_stands_unchanged_and_is_named(de_en: Translator, text: str) -> None:
    options = DecodingOptions(return_alignment=True, return_tokens=True, num_hypotheses=2)

    translation = de_en.translate(text, options)

    assert translation.text == text
    assert translation.finish_reason is FinishReason.UNSUPPORTED
    assert (translation.score, translation.confidence) == (0.0, 0.0)
    assert {segment.finish_reason for segment in translation.segments} == {FinishReason.UNSUPPORTED}
    assert {segment.num_target_tokens for segment in translation.segments} == {0}
    assert {alternative.text for alternative in translation.alternatives} == {text}
    assert de_en.submit(text, EngineRequest(options)).result(60) == translation


@pytest.mark.parametrize(
    "text",
    [
        "Das Wort Привет heißt Hallo.",
        "Ich heiße Łukasz und komme aus Řeka.",
        "Die α-Strahlung ist schwach.",
        "Das Zeichen 蛇 heißt Schlange.",
        "Ein Hund 😀😀😀😀😀😀😀😀😀😀",
        "Tiếng Việt có dấu",
    ],
)
def test_words_of_another_script_in_a_sentence_leave_it_to_be_translated(
    de_en: Translator, text: str
) -> None:
    translation = de_en.translate(text)

    assert translation.finish_reason in {FinishReason.STOP, FinishReason.LENGTH}
    assert all(segment.num_target_tokens for segment in translation.segments)


def test_only_the_segments_in_an_unknown_script_stand_unchanged(de_en: Translator) -> None:
    alone = de_en.translate("Ein Hund rennt.", DecodingOptions(target_prefix="One"))

    mixed = de_en.translate("日本語。\n12\nEin Hund rennt.", DecodingOptions(target_prefix="One"))

    assert mixed.text == f"日本語。\n12\n{alone.text}"
    assert mixed.finish_reason is FinishReason.UNSUPPORTED
    assert [segment.finish_reason for segment in mixed.segments] == [
        FinishReason.UNSUPPORTED,
        FinishReason.COPIED,
        FinishReason.STOP,
    ]
    assert mixed.confidence == pytest.approx(alone.confidence)


def test_of_several_parts_the_most_important_finish_reason_is_reported() -> None:
    order = [FinishReason.LENGTH, FinishReason.UNSUPPORTED, FinishReason.STOP, FinishReason.COPIED]

    for place, reason in enumerate(order):
        assert joint_finish_reason(order[place:][::-1]) is reason
    assert joint_finish_reason([]) is FinishReason.COPIED
