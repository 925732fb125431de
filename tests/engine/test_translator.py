"""The engine as its callers meet it: any text in, text or a typed error out, wrong types named."""

import inspect
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import is_dataclass
from operator import length_hint
from pathlib import Path
from shutil import copytree
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dragoman
from dragoman import (
    BundleError,
    DecodingOptions,
    EngineRequest,
    FinishReason,
    InputError,
    Router,
    Translation,
    Translator,
)
from dragoman.translator import READ_AHEAD_TEXTS
from dragoman.types import Pair
from tests.engine.conftest import FP32

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


@pytest.mark.parametrize(
    ("text", "least_segments"),
    [("Donaudampfschifffahrt" * 4762, 100), ("Der Hund schläft, " * 60 + "und das Haus ist groß.", 6)],
    ids=["100,000 characters without a space", "a long sentence"],
)
def test_a_long_text_is_split_into_segments_that_fit_and_not_cut(
    tiny: Translator, text: str, least_segments: int
) -> None:
    translation = tiny.translate(text, DecodingOptions(beam_size=1, max_length=2))

    sources = [segment.source for segment in translation.segments]
    assert "".join(sources).replace(" ", "") == text.replace(" ", "")
    assert len(sources) >= least_segments
    limit = tiny.manifest.limits.max_source_tokens
    assert all(2 <= segment.num_source_tokens <= limit for segment in translation.segments)


def test_reaching_the_length_limit_is_reported_and_scores_are_optional(tiny: Translator) -> None:
    options = DecodingOptions(beam_size=1, max_length=2, return_scores=False)
    translation = tiny.translate("Das Kind spielt im Garten. Ja.", options)

    assert translation.finish_reason is FinishReason.LENGTH
    found = [(segment.finish_reason, segment.num_target_tokens) for segment in translation.segments]
    assert found == [(FinishReason.LENGTH, 2)] * 2
    assert [translation.score, *(segment.score for segment in translation.segments)] == [None] * 3


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
    texts = iter(["Ja.", "Nein.", "Ja."])

    outcomes = tiny.translate_many(texts, EngineRequest(GREEDY), read_ahead=1)

    num_left = [(isinstance(outcome, Translation), length_hint(texts)) for outcome in outcomes]
    assert num_left == [(True, 2), (True, 1), (True, 0)]


def test_errors_among_many_name_their_position_in_the_whole(tiny: Translator) -> None:
    texts = ["Ja."] * (READ_AHEAD_TEXTS + 4)
    texts[READ_AHEAD_TEXTS + 2] = "\udfff"

    outcomes = tiny.translate_many(texts, EngineRequest(GREEDY))

    errors = [outcome.item for outcome in outcomes if isinstance(outcome, InputError)]
    assert errors == [READ_AHEAD_TEXTS + 2]


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


def test_a_damaged_bundle_does_not_open(tmp_path: Path) -> None:
    copytree(FP32, tmp_path, dirs_exist_ok=True)
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


class _Wrong:
    """Has no type that any function expects."""

    __hash__ = None  # type: ignore[assignment]


def parts_of(hint: Any) -> Iterator[Any]:
    """Yield an annotation and those in it, but not those of a callback."""
    yield hint
    for part in get_args(hint) if get_origin(hint) is not Callable else ():
        yield from parts_of(part)


def public_functions() -> dict[str, Callable[..., object]]:
    """Return the methods of the public classes that do work, and the classes that their callers create."""
    found: dict[str, Callable[..., object]] = {
        f"{owner.__name__}.{name}": member
        for owner in (Translator, Router, dragoman.Deadline)
        for name, member in inspect.getmembers(owner, inspect.isroutine)
        if not name.startswith("_") and name not in {"close", "renew"}
    }
    waiting = list(found.values())
    made = {part for each in waiting for part in parts_of(get_type_hints(each).get("return"))}
    while waiting:
        hints = get_type_hints(waiting.pop())
        for hint in (hint for name, hint in hints.items() if name != "return"):
            for part in parts_of(hint):
                if is_dataclass(part) and part not in made and isinstance(part, type):
                    made.add(part)
                    found[part.__name__] = part.__init__
                    waiting.append(part.__init__)
    return found


FUNCTIONS = public_functions()
PARAMETERS = [
    (title, name)
    for title, function in FUNCTIONS.items()
    for name, hint in get_type_hints(function).items()
    if name != "return" and not name.startswith("_")
]


def test_functions_and_what_they_take_are_found() -> None:
    assert {"Translator.translate_many", "Router.follow", "DecodingOptions", "Sampling", "Term"} < set(
        FUNCTIONS
    )


@pytest.mark.parametrize(("title", "name"), PARAMETERS)
def test_an_argument_of_another_type_is_named(title: str, name: str) -> None:
    function = FUNCTIONS[title]
    parts = list(parts_of(get_type_hints(function)[name]))
    origins = [get_origin(part) for part in parts]
    wrong: list[object] = [_Wrong()]
    wrong += [kind([_Wrong()]) for kind in (list, tuple) if kind in origins]
    if str in parts and Iterable in origins:
        wrong.append("a string, which has strings as well")

    for value in wrong:
        others = {"self": None} if "self" in inspect.signature(function).parameters else {}
        with pytest.raises(TypeError, match=rf"^{re.escape(name)}(\[0\])*: .* is not "):
            function(**others, **{name: value})


def test_lists_and_single_texts_take_options_in_one_way(tiny: Translator) -> None:
    text, options = "Guten Morgen!", DecodingOptions(beam_size=2, num_hypotheses=2)
    expected = tiny.translate(text, options)

    for requested in (options, EngineRequest(options)):
        assert list(tiny.translate_many([text], requested)) == [expected]
        assert tiny.submit(text, requested).result() == expected
    with Router.open({"tiny": FP32}) as router:
        for given in (options, EngineRequest(options)):
            assert router.submit(text, request=given).result().translation == expected
            (routed,) = router.translate_many([text], request=given)
            assert not isinstance(routed, dragoman.InputError)
            assert routed.translation == expected


def test_a_text_of_a_stream_that_is_no_string_is_named(tiny: Translator) -> None:
    texts: Any = iter(["Ja.", None])

    with pytest.raises(TypeError, match=r"texts\[1\]: NoneType None is not str"):
        list(tiny.translate_many(texts))


def test_the_message_says_what_was_expected(tiny: Translator) -> None:
    wrong: Any = 4

    with pytest.raises(TypeError, match=r"pair: tuple \('de', 'en'\) is not dragoman.types.Pair \| None"):
        EngineRequest(pair=("de", "en"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"text\[1\]: int 4 is not str"):
        tiny.translate(["Ja.", wrong], DecodingOptions(), pair=Pair("de", "en"))
