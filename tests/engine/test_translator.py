"""The engine as its callers meet it: any text in, text or a typed error out, neighbours unharmed."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import copytree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman import (
    BundleError,
    DecodingOptions,
    EngineRequest,
    FinishReason,
    InputError,
    Translation,
    Translator,
)
from dragoman.translator import READ_AHEAD_TEXTS

TINY = Path(__file__).parents[1] / "tiny"
GREEDY = DecodingOptions(beam_size=1, max_length=12)
ODD_TEXTS = [
    "",
    " ",
    "\n\n\r\n\t",
    "🙂",
    "👩‍👩‍👧‍👦",
    "x" * 5000,
    "ab " * 800,
    "Guten מורגן 早上好 صباح الخير!",
    "\x00\x01\x02 Hallo \x7f",
    "﻿Guten Morgen!",
    "a\u0300\u0301\u0302" * 50,
    "\u202eHallo\u202c",
    "<s></s><unk><pad>",
    "▁▁▁",
    "12.345,67 €",
    "?!" * 500,
]


@pytest.mark.parametrize("text", ODD_TEXTS, ids=lambda text: ascii(text[:12]))
def test_odd_text_gets_a_translation(tiny: Translator, text: str) -> None:
    translation = tiny.translate(text, GREEDY)

    assert isinstance(translation.text, str)
    translation.text.encode("utf8")


@given(st.text(max_size=120))
@settings(max_examples=60)
def test_any_text_gives_text_or_a_typed_error(tiny: Translator, text: str) -> None:
    (outcome,) = tiny.translate([text], GREEDY)

    assert isinstance(outcome, Translation)
    assert outcome.text.strip() or not any(character.isalpha() for character in text)


@given(st.text(st.characters(categories=("Cs", "Lu", "Ll")), min_size=1, max_size=20))
@settings(max_examples=40)
def test_lone_surrogates_are_an_error_that_names_the_item(tiny: Translator, text: str) -> None:
    has_surrogate = any(0xD800 <= ord(character) <= 0xDFFF for character in text)

    before, outcome, after = tiny.translate(["Ja.", text, "Nein."], GREEDY)

    assert isinstance(outcome, InputError) is has_surrogate
    if isinstance(outcome, InputError):
        assert (outcome.field, outcome.item) == ("text", 1)
    assert isinstance(before, Translation)
    assert before.text == "Yes."
    assert isinstance(after, Translation)
    assert after.text == "No."


def test_a_single_bad_text_raises(tiny: Translator) -> None:
    with pytest.raises(InputError, match="surrogate"):
        tiny.translate("Hallo \ud800")


def test_nothing_to_translate_is_copied(tiny: Translator) -> None:
    for text in ("", "  \n ", "🙂", "12.345,67 €", "---"):
        translation = tiny.translate(text)

        assert translation.text == text
        assert translation.finish_reason is FinishReason.COPIED
        assert translation.score == 0.0


def test_a_hundred_thousand_characters_without_a_space_are_split_not_cut(tiny: Translator) -> None:
    options = DecodingOptions(beam_size=1, max_length=2)
    text = "Donaudampfschifffahrt" * 4762

    translation = tiny.translate(text, options)

    assert len(text) > 100_000 - 22
    assert "".join(segment.source for segment in translation.segments) == text
    limit = tiny.manifest.limits.max_source_tokens
    assert max(segment.num_source_tokens for segment in translation.segments) <= limit


def test_a_long_sentence_is_split_into_segments_that_fit(tiny: Translator) -> None:
    text = "Der Hund schläft, " * 60 + "und das Haus ist groß."

    translation = tiny.translate(text, GREEDY)

    assert len(translation.segments) > 5
    limit = tiny.manifest.limits.max_source_tokens
    assert all(2 <= segment.num_source_tokens <= limit for segment in translation.segments)


def test_reaching_the_length_limit_is_said(tiny: Translator) -> None:
    options = DecodingOptions(beam_size=1, max_length=2)

    translation = tiny.translate("Das Kind spielt im Garten. Ja.", options)

    assert translation.finish_reason is FinishReason.LENGTH
    assert [segment.finish_reason for segment in translation.segments] == [
        FinishReason.LENGTH,
        FinishReason.LENGTH,
    ]
    assert all(segment.num_target_tokens == 2 for segment in translation.segments)


def test_min_length_keeps_a_translation_going(tiny: Translator) -> None:
    short = tiny.translate("Ja.", DecodingOptions(beam_size=1))
    longer = tiny.translate("Ja.", DecodingOptions(beam_size=1, min_length=12))

    assert short.segments[0].num_target_tokens < 12 < longer.segments[0].num_target_tokens


def test_scores_can_be_left_out(tiny: Translator) -> None:
    translation = tiny.translate("Ja. Nein.", DecodingOptions(return_scores=False))

    assert translation.score is None
    assert [segment.score for segment in translation.segments] == [None, None]


@pytest.mark.parametrize("field", ["max_length", "min_length"])
def test_options_beyond_the_model_are_refused(tiny: Translator, field: str) -> None:
    with pytest.raises(InputError, match=f"{field}: 65 exceeds this model's limit of 64 tokens"):
        tiny.translate("Ja.", DecodingOptions(max_length=65) if field == "max_length" else _long())


def _long() -> DecodingOptions:
    return DecodingOptions(min_length=65)


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_text_translates_the_same_alone_and_in_company(
    precision: str, beam_size: int, pairs: list[tuple[str, str]]
) -> None:
    translator = Translator.open(TINY / f"bundle-{precision}", replicas=2)
    sources = [source for source, _ in pairs] + ["Das Wetter ist schön. " * 3, "Unbekannte Wörter hier?"]
    options = DecodingOptions(beam_size=beam_size)

    together = translator.translate(sources, options)

    for source, outcome in zip(sources, together, strict=True):
        alone = translator.translate(source, options)
        assert isinstance(outcome, Translation)
        assert outcome == alone


def test_many_texts_come_back_lazily_and_in_order(tiny: Translator) -> None:
    num_read = 0

    def texts() -> Iterator[str]:
        nonlocal num_read
        for number in range(3 * READ_AHEAD_TEXTS):
            num_read += 1
            yield "Ja." if number % 2 else "Nein."

    outcomes = tiny.translate_many(texts(), EngineRequest(GREEDY))
    first = next(outcomes)

    assert num_read == READ_AHEAD_TEXTS
    assert isinstance(first, Translation)
    remaining = [outcome.text for outcome in outcomes if isinstance(outcome, Translation)]
    assert [first.text, *remaining] == ["No.", "Yes."] * (3 * READ_AHEAD_TEXTS // 2)


def test_reading_ahead_by_one_answers_each_text_before_the_next_is_read(tiny: Translator) -> None:
    read: list[str] = []

    def texts() -> Iterator[str]:
        for text in ("Ja.", "Nein.", "Ja."):
            read.append(text)
            yield text

    for number, outcome in enumerate(
        tiny.translate_many(texts(), EngineRequest(GREEDY), read_ahead=1), start=1
    ):
        assert isinstance(outcome, Translation)
        assert len(read) == number


def test_errors_among_many_name_their_position_in_the_whole(tiny: Translator) -> None:
    texts = ["Ja."] * (READ_AHEAD_TEXTS + 4)
    texts[READ_AHEAD_TEXTS + 2] = "\udfff"

    errors = [
        outcome
        for outcome in tiny.translate_many(texts, EngineRequest(GREEDY))
        if isinstance(outcome, InputError)
    ]

    assert [error.item for error in errors] == [READ_AHEAD_TEXTS + 2]


def test_threads_share_a_translator(tiny: Translator, pairs: list[tuple[str, str]]) -> None:
    barrier = threading.Barrier(4)

    def work(offset: int) -> list[str]:
        barrier.wait()
        rotated = pairs[offset:] + pairs[:offset]
        return [tiny.translate(source).text for source, _ in rotated[:12]]

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(work, (0, 7, 19, 33)))

    for offset, found in zip((0, 7, 19, 33), results, strict=True):
        rotated = pairs[offset:] + pairs[:offset]
        assert found == [target for _, target in rotated[:12]]


def test_replicas_change_the_time_and_not_the_answer(tiny: Translator, pairs: list[tuple[str, str]]) -> None:
    sources = [source for source, _ in pairs] * 3
    several = Translator.open(TINY / "bundle-fp32", replicas=3)

    found = [outcome.text for outcome in several.translate(sources) if isinstance(outcome, Translation)]

    assert found == [outcome.text for outcome in tiny.translate(sources) if isinstance(outcome, Translation)]


def test_an_empty_list_is_an_empty_list(tiny: Translator) -> None:
    assert tiny.translate([]) == []
    assert list(tiny.translate_many(iter([]))) == []


def test_a_damaged_bundle_does_not_open(tmp_path: Path) -> None:
    copytree(TINY / "bundle-fp32", tmp_path, dirs_exist_ok=True)
    damaged = bytearray((tmp_path / "decoder.onnx").read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / "decoder.onnx").write_bytes(damaged)
    (tmp_path / "source.spm").unlink()

    with pytest.raises(BundleError) as caught:
        Translator.open(tmp_path)

    assert caught.value.problems == (
        "decoder.onnx is damaged: its sha256 differs from the manifest's",
        "source.spm is missing",
    )
