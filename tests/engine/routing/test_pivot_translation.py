"""Texts through one bundle or two, and given targets through the one that serves their pair."""

import itertools
import threading
from collections.abc import Iterator

import pytest

from dragoman import Deadline, EngineRequest
from dragoman.decoding.options import DecodingOptions
from dragoman.errors import InputError, MemoryBudgetExceeded, UnsupportedPair
from dragoman.routing.router import PREPARING_THREADS, Router
from dragoman.types import FinishReason, Pair, SegmentTranslation
from tests.engine.routing.conftest import only_one_fits
from tests.engine.routing.doubles import TIMEOUT_S, DoubleBundles, DoubleTranslator, until

FIRST, SECOND = ("de-en", ("de", "en"), -0.5), ("en-fr", ("en", "fr"), -0.25)


@pytest.mark.parametrize(
    ("target", "text", "score", "steps"),
    [
        ("en", "\nHallo|de-en\n\nWelt|de-en\n", -0.5, [FIRST]),
        ("fr", "\nHallo|de-en|en-fr\n\nWelt|de-en|en-fr\n", -0.75, [FIRST, SECOND]),
    ],
)
def test_a_text_goes_through_one_step_or_two_whose_scores_add_up_and_keeps_its_lines(
    router: Router, target: str, text: str, score: float, steps: list[tuple[str, tuple[str, str], float]]
) -> None:
    routed = router.translate("\nHallo\n\nWelt\n", "de", target)

    assert (routed.translation.text, routed.translation.score) == (text, score)
    assert routed.pair == ("de", target)
    assert [(step.model, step.pair, step.score) for step in routed.steps] == steps


def test_each_bundle_gets_its_own_pair(
    router: Router, first: DoubleTranslator, second: DoubleTranslator
) -> None:
    router.translate("Hallo", "de-DE", "fr")
    list(router.translate_many(["a"], "de-AT", "fr"))
    list(router.translate_many(["a"], "en-US", "fr"))

    assert first.pairs == [Pair("de", "en")] * 2
    assert second.pairs == [Pair("en", "fr")] * 3


@pytest.mark.parametrize(
    ("return_scores", "scores"), [(True, [-0.5, -0.25, -0.75, -1.75]), (False, [None] * 4)]
)
def test_alternatives_are_the_last_steps_with_scores_of_the_whole_if_scores_are_requested(
    router: Router, *, return_scores: bool, scores: list[float | None]
) -> None:
    options = DecodingOptions(num_hypotheses=2, return_scores=return_scores)

    routed = router.translate("Hallo", "de", "fr", options)

    alternatives = routed.translation.alternatives
    assert [other.text for other in alternatives] == ["Hallo|de-en|en-fr", "Hallo|de-en|en-fr!"]
    assert [*(step.score for step in routed.steps), *(other.score for other in alternatives)] == scores
    assert routed.translation.score == scores[2]


def test_options_of_length_and_number_apply_to_the_last_step(
    router: Router, first: DoubleTranslator, second: DoubleTranslator
) -> None:
    options = DecodingOptions(beam_size=3, num_hypotheses=2, min_length=2, max_length=9, length_penalty=0.5)

    router.translate("Hallo", "de", "fr", options)

    assert first.seen == [("Hallo", DecodingOptions(beam_size=3, length_penalty=0.5))]
    assert second.seen == [("Hallo|de-en", options)]


@pytest.mark.parametrize(
    ("first", "second", "whole"),
    [("LENGTH", "STOP", "LENGTH"), ("STOP", "LENGTH", "LENGTH"), ("COPIED", "COPIED", "COPIED")],
)
def test_the_finish_reason_is_that_of_both(
    router: Router, monkeypatch: pytest.MonkeyPatch, first: str, second: str, whole: str
) -> None:
    reasons = {"Hallo|": FinishReason[second], "Hallo": FinishReason[first]}
    monkeypatch.setattr("tests.engine.routing.doubles.REASONS", reasons)

    assert router.translate("Hallo", "de", "fr").translation.finish_reason is FinishReason[whole]


def test_the_first_text_is_prepared_at_once_and_the_second_beside(
    router: Router, first: DoubleTranslator, second: DoubleTranslator
) -> None:
    """A thread of the engine, which tells of the end of the first step, has no time for it."""
    router.translate("Hallo", "de", "fr")

    assert first.submitted_on == [threading.current_thread().name]
    (thread,) = second.submitted_on
    assert thread.startswith("dragoman-route")


def test_waiting_for_one_bundle_holds_up_neither_who_submits_nor_another_bundle(
    router: Router, first: DoubleTranslator, bundles: DoubleBundles
) -> None:
    bundles.may_open.clear()
    waiting = [router.submit("Hallo", "en", "fr") for _ in range(2 * PREPARING_THREADS)]

    assert router.translate("Hallo", "de", "en").translation.text == "Hallo|de-en"
    assert first.seen
    assert not any(future.done() for future in waiting)
    bundles.may_open.set()
    assert {future.result(TIMEOUT_S).translation.text for future in waiting} == {"Hallo|en-fr"}


def test_an_error_of_the_first_step_is_raised_or_comes_with_the_future(
    router: Router, bundles: DoubleBundles
) -> None:
    later = router.submit("unusable", "de", "en")
    with pytest.raises(InputError, match=r"^text: is not usable$"):
        later.result(TIMEOUT_S)

    assert bundles.names == ["de-en"]
    with pytest.raises(InputError, match=r"^text: is not usable$"):
        router.submit("unusable", "de", "en")


def test_an_error_of_the_second_step_names_it(
    router: Router, second: DoubleTranslator, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reject(*_: object, **__: object) -> None:
        raise InputError("text", "is not usable")

    monkeypatch.setattr(second, "submit", reject)

    with pytest.raises(
        InputError, match=r"^text: its translation into en cannot be translated further: is not usable$"
    ):
        router.translate("Hallo", "de", "fr")


def test_an_engine_failure_is_set_on_the_future_and_an_unserved_pair_is_rejected_at_once(
    router: Router,
) -> None:
    with pytest.raises(RuntimeError, match="cannot handle explode"):
        router.translate("explode", "de", "fr")
    with pytest.raises(UnsupportedPair, match=r"served: de -> en, en -> fr; `dragoman import "):
        router.submit("Hallo", "fr", "de")


@pytest.mark.parametrize(("target", "suffix"), [("en", "|de-en"), ("fr", "|de-en|en-fr")])
def test_many_texts_come_in_order_with_errors_in_their_places(
    router: Router, target: str, suffix: str
) -> None:
    outcomes = list(router.translate_many(["a", "unusable", "b", "unusable"], "de", target, read_ahead=2))

    assert [
        (outcome.item, outcome.problem) if isinstance(outcome, InputError) else outcome.translation.text
        for outcome in outcomes
    ] == ["a" + suffix, (1, "is not usable"), "b" + suffix, (3, "is not usable")]


def test_many_texts_through_a_pivot_are_what_single_ones_are(router: Router) -> None:
    options = DecodingOptions(num_hypotheses=2, max_length=50)
    texts = [f"eins {number}\nzwei" for number in range(5)]

    many = list(router.translate_many(texts, "de", "fr", EngineRequest(options), read_ahead=3))

    assert many == [router.translate(text, "de", "fr", options) for text in texts]


def test_an_error_in_the_second_step_of_many_names_it(
    router: Router, second: DoubleTranslator, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = second.translate_many

    def reject(*arguments: object, **named: object) -> Iterator[object]:
        for item, outcome in enumerate(plain(*arguments, **named)):  # type: ignore[arg-type]
            yield InputError("text", "is bad", item) if item == 1 else outcome

    monkeypatch.setattr(second, "translate_many", reject)

    outcomes = list(router.translate_many(["unusable", "a", "b", "c"], "de", "fr", read_ahead=10))

    errors = [outcome for outcome in outcomes if isinstance(outcome, InputError)]
    assert [str(error) for error in errors] == [
        "text[0]: is not usable",
        "text[2]: its translation into en cannot be translated further: is bad",
    ]


@only_one_fits
def test_many_texts_through_a_pivot_need_room_for_one_bundle_at_a_time(
    router: Router, bundles: DoubleBundles
) -> None:
    outcomes = list(router.translate_many(list("abcd"), "de", "fr", read_ahead=2))

    assert len(outcomes) == 4
    assert bundles.names == ["de-en", "en-fr", "de-en", "en-fr"]


def test_no_more_is_read_than_is_requested(router: Router) -> None:
    for target in ("en", "fr"):
        outcomes = router.translate_many(itertools.repeat("ja"), "de", target)
        assert not isinstance(next(outcomes), InputError)


def test_the_last_steps_segments_and_tokens_are_reported_and_no_others(router: Router) -> None:
    segments: list[SegmentTranslation] = []
    tokens: list[tuple[int, str]] = []
    request = EngineRequest(
        on_segment=segments.append, on_token=lambda number, text: tokens.append((number, text))
    )

    routed = router.follow(router.route("de", "fr"), "Hallo du\nda", request).result(TIMEOUT_S)

    assert [segment.text for segment in segments] == [segment.text for segment in routed.translation.segments]
    assert [segment.source for segment in segments] == ["Hallo du|de-en", "da|de-en"]
    assert tokens == [(0, "Hallo"), (0, "Hallo du|de-en|en-fr"), (1, "da|de-en|en-fr")]


def test_an_exception_of_a_callback_fails_its_text_alone(router: Router) -> None:
    def fail(_segment: SegmentTranslation) -> None:
        raise LookupError("no")

    watched = router.follow(router.route("de", "en"), "Hallo", EngineRequest(on_segment=fail))

    assert isinstance(watched.exception(TIMEOUT_S), LookupError)
    assert router.translate("Hallo", "de", "en").translation.text == "Hallo|de-en"


def test_a_target_is_read_by_the_bundle_of_its_pair(router: Router, second: DoubleTranslator) -> None:
    scored = router.score(
        router.route("en", "fr"), "yes", "mais oui", EngineRequest(deadline=Deadline.after(9))
    ).result(TIMEOUT_S)

    assert (scored.source, scored.text) == ("yes", "mais oui")
    assert second.pairs == [("en", "fr")]
    assert second.requests[0].deadline.timeout_s == 9


def test_scoring_through_a_third_language_is_rejected(router: Router) -> None:
    with pytest.raises(
        InputError, match="target: scoring needs a model that translates de -> fr directly, not through en"
    ):
        router.score(router.route("de", "fr"), "ja", "oui")


def test_an_unscorable_target_fails_alone(router: Router) -> None:
    route = router.route("de", "en")

    assert isinstance(router.score(route, "ja", "unusable").exception(TIMEOUT_S), InputError)
    assert router.score(route, "ja", "yes").result(TIMEOUT_S).score == -1.0


@only_one_fits
def test_a_bundle_is_waited_for_and_given_back(router: Router, first: DoubleTranslator) -> None:
    in_use = router.submit("wait", "de", "en")
    until(first.is_waiting.is_set)
    route = router.route("en", "fr")
    coming = router.score(route, "yes", "oui")
    late = router.score(route, "yes", "oui", EngineRequest(deadline=Deadline.after(0.05)))

    assert isinstance(late.exception(TIMEOUT_S), MemoryBudgetExceeded)
    assert not coming.done()
    first.released.set()

    assert coming.result(TIMEOUT_S).text == "oui"
    assert in_use.result(TIMEOUT_S).translation.text == "wait|de-en"
