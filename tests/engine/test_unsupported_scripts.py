# ruff: noqa: RUF001 -- letters of several scripts are meant as they stand
"""A segment in a script that the model does not know stands as it is, and the translation says so."""

import pytest

from dragoman import DecodingOptions, EngineRequest, FinishReason, Translator
from dragoman.pipeline.assembly import joint_finish_reason

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
