"""Texts that are submitted: their futures, progress, cancellation and time limits; and their pace."""

import itertools
import threading
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from concurrent.futures import wait as wait_for
from contextlib import contextmanager
from typing import Any

import pytest

from dragoman import (
    Deadline,
    DeadlineExceeded,
    DecodingOptions,
    EngineRequest,
    FinishReason,
    InputError,
    Priority,
    SegmentTranslation,
    Translation,
    Translator,
    TranslatorClosed,
)
from dragoman.bundle import open_bundle
from dragoman.errors import TranslationCancelled
from dragoman.loading import open_tokenizers
from dragoman.pipeline import pacing
from dragoman.pipeline.pacing import PAUSE_PER_WORK, WORK_S, Pacer
from dragoman.pipeline.preparation import PreparedText, Preparer
from dragoman.pipeline.segment_input import SegmentInput
from dragoman.reading.reader import Reader
from dragoman.types import Pair
from tests.engine.conftest import FP32, TIMEOUT_S
from tests.paths import TINY

GREEDY = DecodingOptions(beam_size=1)
DOCUMENT = "Guten Morgen! Das ist ein Haus.\n42\nDer Hund schläft. Ja."
SEGMENTS = ["Good morning!", "This is a house.", "42", "The dog is sleeping.", "Yes."]
LONG = DecodingOptions(beam_size=1, min_length=60, max_length=64)
"""Of a sentence: more steps than it takes to give it up."""


@pytest.fixture
def single() -> Iterator[Translator]:
    """One replica and a short queue."""
    with Translator.open(FP32, replicas=1, queue_size=5) as translator:
        yield translator


@pytest.mark.parametrize("text", ["", "  \n ", "42 🙂", "12.345,67 €", "---"])
def test_nothing_to_translate_is_copied_at_once(tiny: Translator, text: str) -> None:
    future = tiny.submit(text)

    assert future.done()
    found = future.result()
    assert (found.text, found.finish_reason, found.score) == (text, FinishReason.COPIED, 0.0)


def test_segments_are_reported_in_order_each_once(tiny: Translator) -> None:
    reported: list[SegmentTranslation] = []

    sources: list[str] = []
    request = EngineRequest(on_segmented=sources.extend, on_segment=reported.append)

    translation = tiny.submit(DOCUMENT, request).result(TIMEOUT_S)

    assert tuple(reported) == translation.segments
    assert [segment.source for segment in reported] == sources
    assert [segment.text for segment in reported] == SEGMENTS
    assert reported[2].finish_reason is FinishReason.COPIED


def test_tokens_are_reported_as_the_segments_text_so_far(tiny: Translator) -> None:
    reported: dict[int, list[str]] = {}

    def tell(segment: int, text: str) -> None:
        reported.setdefault(segment, []).append(text)

    tiny.submit(DOCUMENT, EngineRequest(GREEDY, on_token=tell)).result(TIMEOUT_S)

    assert set(reported) == {0, 1, 3, 4}
    for segment, texts in reported.items():
        assert all(SEGMENTS[segment].startswith(text) for text in texts)
        assert texts == sorted(texts, key=len)
        assert texts[-1] == SEGMENTS[segment]


def test_tokens_are_reported_for_greedy_search_only(tiny: Translator) -> None:
    with pytest.raises(InputError, match="on_token: requires greedy search"):
        tiny.submit("Ja.", EngineRequest(on_token=print))


@pytest.mark.parametrize("callback", ["on_segment", "on_token"])
def test_a_callback_that_raises_fails_its_own_text_alone(tiny: Translator, callback: str) -> None:
    def fail(*_: object) -> None:
        raise LookupError("the caller's own")

    callbacks: dict[str, Any] = {callback: fail}
    faulty = tiny.submit(DOCUMENT, EngineRequest(GREEDY, **callbacks))
    other = tiny.submit("Guten Morgen!", EngineRequest(GREEDY))

    assert isinstance(faulty.exception(TIMEOUT_S), LookupError)
    assert other.result(TIMEOUT_S).text == "Good morning!"


def test_unusable_texts_and_options_beyond_the_model_are_rejected_at_once(tiny: Translator) -> None:
    with pytest.raises(InputError, match="surrogate"):
        tiny.submit("\ud800")
    for field, options in (
        ("max_length", DecodingOptions(max_length=65)),
        ("min_length", DecodingOptions(min_length=65)),
    ):
        with pytest.raises(InputError, match=f"{field}: 65 exceeds this model's limit of 64 tokens"):
            tiny.submit("Ja.", EngineRequest(options))


@contextmanager
def held(translator: Translator) -> Iterator["Future[Translation]"]:
    """Yield a text whose callback holds the only replica, so that what comes meanwhile waits."""
    is_held, release = threading.Event(), threading.Event()

    def hold(_segment: int, _text: str) -> None:
        is_held.set()
        assert release.wait(TIMEOUT_S)

    future = translator.submit("Ja.", EngineRequest(LONG, on_token=hold))
    assert is_held.wait(TIMEOUT_S)
    yield future
    release.set()


def test_a_text_can_be_cancelled_while_it_runs(single: Translator) -> None:
    with held(single) as running:
        assert running.cancel()

    with pytest.raises(CancelledError):
        running.result(TIMEOUT_S)
    assert single.submit("Nein.").result(TIMEOUT_S).text == "No."


def test_a_text_past_its_deadline_fails_with_its_time_limit_and_no_other(single: Translator) -> None:
    with held(single) as running:
        late = single.submit("Ja. Nein.", EngineRequest(deadline=Deadline.after(0.01)))
        patient = single.submit("Nein.", EngineRequest(deadline=Deadline.after(TIMEOUT_S)))
        time.sleep(0.02)

    with pytest.raises(DeadlineExceeded, match=r"did not finish within 0\.01 s"):
        late.result(TIMEOUT_S)
    assert patient.result(TIMEOUT_S).text == "No."
    running.result(TIMEOUT_S)


def test_jobs_give_way_to_interactive_texts(single: Translator) -> None:
    order: list[str] = []
    with held(single) as running:
        job = single.submit("Nein.", EngineRequest(LONG, priority=Priority.JOB))
        interactive = single.submit("Ja.", EngineRequest(GREEDY))
        job.add_done_callback(lambda _: order.append("job"))
        interactive.add_done_callback(lambda _: order.append("interactive"))
    wait_for([running, job, interactive], TIMEOUT_S)

    assert order == ["interactive", "job"]


def test_closing_fails_what_is_under_way() -> None:
    with Translator.open(FP32, replicas=1) as translator, held(translator) as running:
        waiting = translator.submit("Ja.")

    for future in (running, waiting):
        assert isinstance(future.exception(TIMEOUT_S), TranslatorClosed | None)
    assert isinstance(waiting.exception(), TranslatorClosed) or waiting.result().text == "Yes."
    for use in (translator.submit, translator.translate):
        with pytest.raises(TranslatorClosed):
            use("Ja.")


def test_ids_are_searched_for_as_text_is(tiny: Translator, pairs: list[tuple[str, str]]) -> None:
    texts = [source for source, _ in pairs[:8]]
    options = DecodingOptions(beam_size=3, num_hypotheses=2)
    ids = tiny._submitter._engine.preparer.encode(texts, Pair("de", "en"))

    found = tiny.search(ids, options)

    for text, hypotheses in zip(texts, found, strict=True):
        translation = tiny.translate(text, options)
        assert [one.score for one in hypotheses] == [one.score for one in translation.alternatives]
        decoded = tiny._submitter._target_tokenizer.decode([one.ids for one in hypotheses])
        assert decoded == [one.text for one in translation.alternatives]


def test_an_id_out_of_range_fails_its_call_and_no_other(tiny: Translator) -> None:
    good = tiny.submit("Guten Morgen!")

    with pytest.raises(Exception, match=r"indices|out of"):
        tiny.search([[5, 3], [10**6, 3]], GREEDY)

    assert good.result(TIMEOUT_S).text == "Good morning!"
    assert tiny.search([[5, 3]], GREEDY)


def test_stopping_a_list_early_gives_up_the_rest(single: Translator) -> None:
    outcomes = single.translate_many(["Ja."] * 600, EngineRequest(LONG))
    next(outcomes)

    outcomes.close()  # type: ignore[attr-defined] # a generator

    assert single.submit("Nein.").result(TIMEOUT_S).text == "No."
    assert len(single._scheduler._shared.waiting) == 0


def test_a_long_text_of_a_list_is_cancelled_while_it_is_prepared(single: Translator) -> None:
    checks = itertools.count()
    request = EngineRequest(LONG, is_cancelled=lambda: next(checks) == 10)

    with pytest.raises(TranslationCancelled):
        list(single.translate_many(["Ja. " * 50_000], request))

    assert next(checks) == 11  # it was never asked again
    assert len(single._scheduler._shared.waiting) == 0


def test_a_text_of_a_list_is_cancelled_while_it_is_awaited(single: Translator) -> None:
    checks = itertools.count()
    with pytest.raises(TranslationCancelled):
        list(single.translate_many(["Ja."] * 3, EngineRequest(LONG, is_cancelled=lambda: next(checks) == 1)))

    assert single.submit("Nein.").result(TIMEOUT_S).text == "No."


def test_a_list_that_nobody_cancels_is_complete(single: Translator) -> None:
    request = EngineRequest(is_cancelled=lambda: False)
    outcomes = list(single.translate_many(["Nein."] * 3, request))
    assert outcomes == [single.translate("Nein.")] * 3


LINES = "Ja.\n" * (pacing.LARGE_CHARACTERS // 4)


def test_a_pause_is_as_long_as_the_work_of_the_thread_itself_requires(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worked_s, pauses_s = 0.0, list[float]()
    monkeypatch.setattr(time, "thread_time", lambda: worked_s)
    monkeypatch.setattr(time, "sleep", pauses_s.append)
    pacer = Pacer()

    for work_s in (WORK_S / 2, WORK_S / 2, WORK_S / 2, 10 * WORK_S):
        worked_s += work_s
        pacer.pause()

    assert pauses_s == pytest.approx([PAUSE_PER_WORK * WORK_S, PAUSE_PER_WORK * 10.5 * WORK_S])


@pytest.mark.parametrize(("text", "is_paced"), [(LINES, True), (LINES[:-4], False)])
def test_only_large_texts_are_prepared_at_a_pace(
    tiny: Translator, monkeypatch: pytest.MonkeyPatch, text: str, *, is_paced: bool
) -> None:
    monkeypatch.setattr(pacing, "WORK_S", 0.0)
    pauses_s = list[float]()
    monkeypatch.setattr(time, "sleep", pauses_s.append)

    tiny.submit(text, EngineRequest(GREEDY)).result()

    assert bool(pauses_s) is is_paced


BUNDLE = TINY / "bundle-fp32"


def test_the_distinct_segments_of_all_texts_are_encoded_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = open_bundle(BUNDLE)
    tokenizer, _ = open_tokenizers(bundle)
    preparer = Preparer(bundle.manifest.languages, bundle.manifest.limits, Reader(tokenizer))
    encode, calls = tokenizer.encode, list[list[str]]()

    def record(segments: list[str]) -> list[list[int]]:
        calls.append(segments)
        return encode(segments)

    monkeypatch.setattr(tokenizer, "encode", record)

    first, wrong, last = preparer.prepare(["Ja. Nein.", "\ud800", "Nein."], Pair("de", "en"), 4)

    assert calls == [["Ja.", "Nein."]]
    assert isinstance(wrong, InputError)
    assert wrong.item == 5
    assert isinstance(first, PreparedText)
    assert isinstance(last, PreparedText)
    sources = [*first.sources, *last.sources]
    assert all(isinstance(source, SegmentInput) for source in sources)
    assert [source.ids for source in sources if isinstance(source, SegmentInput)] == [
        *preparer.encode(["Ja.", "Nein.", "Nein."], Pair("de", "en"))
    ]
