"""Texts through one bundle or two."""

import gc
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from pathlib import Path

import pytest

from dragoman.bundle import open_bundle, read_bundle
from dragoman.decoding.options import DecodingOptions
from dragoman.errors import BundleError, DeadlineExceeded, InputError, TranslatorClosed, UnsupportedPair
from dragoman.routing.errors import NoRoom
from dragoman.routing.inspection import bundle_folders
from dragoman.routing.journey import Journey, PairTranslator, Wishes
from dragoman.routing.router import PREPARING_THREADS, Router, RouterOptions
from dragoman.routing.routes import Offer, find_route
from dragoman.routing.shelf import Shelf
from dragoman.types import FinishReason, Pair, Priority
from tests.routing.doubles import TIMEOUT_S, DoubleBundles, DoubleTranslator, until, write_bundle

SIZE_BYTES = 10
SCORES = {"de-en": -0.5, "en-fr": -0.25}


@pytest.fixture
def models(tmp_path: Path) -> Path:
    write_bundle(tmp_path / "models" / "de-en", "de-en")
    write_bundle(tmp_path / "models" / "en-fr", "en-fr", ["en"], ["fr"])
    return tmp_path / "models"


@pytest.fixture
def bundles() -> DoubleBundles:
    return DoubleBundles(SCORES)


@pytest.fixture
def options() -> RouterOptions:
    return RouterOptions()


@pytest.fixture
def router(models: Path, bundles: DoubleBundles, options: RouterOptions) -> Iterator[Router]:
    with Router(lambda: bundle_folders(models), bundles.open, lambda _: SIZE_BYTES, options) as router:
        yield router
        bundles.may_open.set()
        for double in bundles.opened:
            double.released.set()


@pytest.fixture
def first(router: Router, bundles: DoubleBundles) -> DoubleTranslator:
    """Of the pivot; open already."""
    router.preload(["de-en"])
    return bundles.named("de-en")


@pytest.fixture
def second(router: Router, bundles: DoubleBundles) -> DoubleTranslator:
    """Of the pivot; open already."""
    router.preload(["en-fr"])
    return bundles.named("en-fr")


only_one_fits = pytest.mark.parametrize("options", [RouterOptions(budget_bytes=SIZE_BYTES)])


def test_one_step_gives_what_the_bundle_gives(router: Router) -> None:
    routed = router.translate("Hallo", "de", "en")

    assert routed.translation.text == "Hallo|de-en"
    assert routed.translation.score == -0.5
    assert routed.pair == ("de", "en")
    assert [(step.model, step.pair, step.score) for step in routed.steps] == [("de-en", ("de", "en"), -0.5)]


def test_a_pivot_gives_both_steps_and_the_sum_of_their_scores(router: Router) -> None:
    routed = router.translate("Hallo", "de", "fr")

    assert routed.translation.text == "Hallo|de-en|en-fr"
    assert routed.translation.score == -0.75
    assert routed.pair == ("de", "fr")
    assert [(step.model, step.pair, step.score) for step in routed.steps] == [
        ("de-en", ("de", "en"), -0.5),
        ("en-fr", ("en", "fr"), -0.25),
    ]


def test_each_bundle_is_told_its_own_pair(
    router: Router, first: DoubleTranslator, second: DoubleTranslator
) -> None:
    router.translate("Hallo", "de-DE", "fr")

    assert first.pairs == [Pair("de", "en")]
    assert second.pairs == [Pair("en", "fr")]


def test_lines_stay_where_they_are(router: Router) -> None:
    text = "\nHallo\n\nWelt\n"

    assert router.translate(text, "de", "fr").translation.text == "\nHallo|de-en|en-fr\n\nWelt|de-en|en-fr\n"


def test_alternatives_are_the_last_steps_with_scores_of_the_whole(router: Router) -> None:
    options = DecodingOptions(num_hypotheses=2)

    alternatives = router.translate("Hallo", "de", "fr", options).translation.alternatives

    assert [(other.text, other.score) for other in alternatives] == [
        ("Hallo|de-en|en-fr", -0.75),
        ("Hallo|de-en|en-fr!", -1.75),
    ]


def test_scores_not_asked_for_are_nobodys(router: Router) -> None:
    options = DecodingOptions(return_scores=False, num_hypotheses=2)

    routed = router.translate("Hallo", "de", "fr", options)

    assert routed.translation.score is None
    assert [step.score for step in routed.steps] == [None, None]
    assert [other.score for other in routed.translation.alternatives] == [None, None]


def test_wishes_about_length_and_number_are_the_last_steps(
    router: Router, first: DoubleTranslator, second: DoubleTranslator
) -> None:
    options = DecodingOptions(beam_size=3, num_hypotheses=2, min_length=2, max_length=9, length_penalty=0.5)

    router.translate("Hallo", "de", "fr", options)

    assert first.seen == [("Hallo", DecodingOptions(beam_size=3, length_penalty=0.5))]
    assert second.seen == [("Hallo|de-en", options)]


@pytest.mark.parametrize(
    ("text", "reason"),
    [("Hallo", FinishReason.STOP), ("cut", FinishReason.LENGTH), ("copy", FinishReason.COPIED)],
)
def test_the_finish_reason_is_that_of_both(router: Router, text: str, reason: FinishReason) -> None:
    assert router.translate(text, "de", "fr").translation.finish_reason is reason


@pytest.mark.parametrize("reason", [FinishReason.LENGTH, FinishReason.STOP])
def test_a_first_step_that_was_cut_cuts_the_whole(
    router: Router, first: DoubleTranslator, monkeypatch: pytest.MonkeyPatch, reason: FinishReason
) -> None:
    monkeypatch.setattr("tests.routing.doubles.REASONS", {"Hallo|": FinishReason.STOP, "Hallo": reason})
    assert first.seen == []

    assert router.translate("Hallo", "de", "fr").translation.finish_reason is reason


def test_the_first_text_is_prepared_at_once_and_the_second_beside(
    router: Router, first: DoubleTranslator, second: DoubleTranslator
) -> None:
    """A thread of the engine, which tells of the end of the first step, has no time for it."""
    router.translate("Hallo", "de", "fr")

    assert first.submitted_on == [threading.current_thread().name]
    (thread,) = second.submitted_on
    assert thread.startswith("dragoman-route")


def test_submitting_does_not_wait_for_a_bundle_to_open(router: Router, bundles: DoubleBundles) -> None:
    bundles.may_open.clear()

    coming = [router.submit("Hallo", "de", "en") for _ in range(2 * PREPARING_THREADS)]

    assert not any(future.done() for future in coming)
    bundles.may_open.set()
    assert {future.result(TIMEOUT_S).translation.text for future in coming} == {"Hallo|de-en"}


def test_waiting_for_one_bundle_holds_up_no_other(
    router: Router, first: DoubleTranslator, bundles: DoubleBundles
) -> None:
    bundles.may_open.clear()
    waiting = [router.submit("Hallo", "en", "fr") for _ in range(2 * PREPARING_THREADS)]

    assert router.translate("Hallo", "de", "en").translation.text == "Hallo|de-en"
    assert not any(future.done() for future in waiting)
    assert first.seen


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
    def refuse(*_: object, **__: object) -> None:
        raise InputError("text", "is not usable")

    monkeypatch.setattr(second, "submit", refuse)

    with pytest.raises(InputError, match=r"^text: its translation into en cannot go on: is not usable$"):
        router.translate("Hallo", "de", "fr")


def test_a_failure_of_the_engine_is_the_futures(router: Router, first: DoubleTranslator) -> None:
    with pytest.raises(RuntimeError, match="cannot handle explode"):
        router.translate("explode", "de", "fr")
    assert first.seen


def test_a_pair_that_is_not_served_is_refused_at_once(router: Router) -> None:
    with pytest.raises(UnsupportedPair, match=r"served: de -> en, en -> fr$"):
        router.submit("Hallo", "fr", "de")


def test_a_deadline_covers_all_steps(
    router: Router, first: DoubleTranslator, second: DoubleTranslator
) -> None:
    router.submit("Hallo", "de", "fr", timeout_s=50).result(TIMEOUT_S)

    (before,), (after,) = first.timeouts_s, second.timeouts_s
    assert before is not None
    assert after is not None
    assert after < before <= 50


def test_a_deadline_that_passes_is_told_as_it_was_asked_for(router: Router, first: DoubleTranslator) -> None:
    with pytest.raises(DeadlineExceeded, match="not done within 50 s"):
        router.submit("late", "de", "fr", timeout_s=50).result(TIMEOUT_S)

    with pytest.raises(DeadlineExceeded, match="not done within 0 s"):
        router.submit("Hallo", "de", "fr", timeout_s=0)
    assert len(first.seen) == 1


def test_a_deadline_that_passes_between_the_steps_begins_no_other(
    router: Router, first: DoubleTranslator, second: DoubleTranslator
) -> None:
    coming = router.submit("wait", "de", "fr", timeout_s=0.05)
    until(first.is_waiting.is_set)
    threading.Event().wait(0.06)
    first.released.set()

    with pytest.raises(DeadlineExceeded, match=r"not done within 0\.05 s"):
        coming.result(TIMEOUT_S)
    assert second.seen == []


def test_a_deadline_passes_while_a_bundle_is_opened(router: Router, bundles: DoubleBundles) -> None:
    bundles.may_open.clear()

    with pytest.raises(DeadlineExceeded, match=r"not done within 0\.05 s"):
        router.submit("Hallo", "de", "en", timeout_s=0.05).result(TIMEOUT_S)


def test_cancelling_cancels_the_step_that_runs(
    router: Router, first: DoubleTranslator, second: DoubleTranslator
) -> None:
    for pair, runs in (("de", "fr"), first), (("en", "fr"), second):
        coming = router.submit("wait", *pair)
        until(runs.is_waiting.is_set)

        assert coming.cancel()

        assert runs.cancelled == ["wait"]
    assert second.seen == [("wait", DecodingOptions())]


def test_cancelling_the_second_step_cancels_it(
    router: Router, second: DoubleTranslator, first: DoubleTranslator
) -> None:
    first.released.set()
    coming = router.submit("wait", "de", "fr")
    until(second.is_waiting.is_set)

    assert coming.cancel()

    assert second.cancelled == ["wait|de-en"]
    assert first.cancelled == []


@only_one_fits
def test_cancelling_who_waits_for_room_makes_nobody_leave(
    router: Router, first: DoubleTranslator, bundles: DoubleBundles
) -> None:
    in_use = router.submit("wait", "de", "en")
    waiting = router.submit("Hallo", "en", "fr")

    assert waiting.cancel()

    first.released.set()
    assert in_use.result(TIMEOUT_S).translation.text == "wait|de-en"
    router.translate("Hallo", "de", "en")
    assert bundles.names == ["de-en"]
    with pytest.raises(CancelledError):
        waiting.result(0)


@only_one_fits
def test_a_pivot_needs_room_for_one_bundle_at_a_time(router: Router, bundles: DoubleBundles) -> None:
    coming = [router.submit(f"Hallo {number}", "de", "fr") for number in range(20)]

    assert [future.result(TIMEOUT_S).translation.text for future in coming] == [
        f"Hallo {number}|de-en|en-fr" for number in range(20)
    ]
    assert len(bundles.open_names) == 1


@only_one_fits
def test_a_text_that_is_refused_does_not_keep_its_bundle_in_use(
    router: Router, first: DoubleTranslator
) -> None:
    with pytest.raises(InputError):
        router.submit("unusable", "de", "en")

    assert router.translate("Hallo", "en", "fr").translation.text == "Hallo|en-fr"
    assert first.is_closed


def test_a_text_given_up_before_its_bundle_was_open_is_not_begun(
    models: Path, bundles: DoubleBundles
) -> None:
    bundle = read_bundle(models / "de-en")
    shelf = Shelf[PairTranslator](bundles.open, lambda _: SIZE_BYTES, None)
    shelf.stock({"de-en": bundle})
    route = find_route([Offer("de-en", "de-en", bundle.manifest.languages)], "de", "en")
    later: list[Callable[[], None]] = []
    wishes = Wishes.beginning_now(DecodingOptions(), Priority.INTERACTIVE, None)
    journey = Journey(route, wishes, shelf, later.append)
    journey.begin("Hallo")
    until(lambda: bool(later))

    assert journey.future.cancel()
    later.pop()()

    assert bundles.named("de-en").seen == []
    shelf.stock({})
    until(lambda: bundles.open_names == [])
    shelf.close()


@only_one_fits
def test_no_room_in_time_is_an_error(router: Router, first: DoubleTranslator) -> None:
    in_use = router.submit("wait", "de", "en")

    with pytest.raises(NoRoom):
        router.submit("Hallo", "en", "fr", timeout_s=0.05).result(TIMEOUT_S)

    first.released.set()
    in_use.result(TIMEOUT_S)


@pytest.mark.parametrize("options", [RouterOptions(budget_bytes=SIZE_BYTES - 1)])
def test_a_bundle_over_the_budget_is_refused(router: Router) -> None:
    with pytest.raises(BundleError, match="takes about 10 bytes of memory, the budget is 9"):
        router.submit("Hallo", "de", "en")


def test_a_translation_keeps_no_bundle_in_memory(models: Path) -> None:
    """A caller may hold futures for long, and closed bundles must not hang on them."""
    opened: list[weakref.ref[DoubleTranslator]] = []

    def open_double(path: Path) -> DoubleTranslator:
        double = DoubleTranslator(open_bundle(path).manifest)
        opened.append(weakref.ref(double))
        return double

    options = RouterOptions(budget_bytes=SIZE_BYTES)
    with Router(lambda: bundle_folders(models), open_double, lambda _: SIZE_BYTES, options) as router:
        kept = [router.submit("Hallo", "de", "fr") for _ in range(3)]
        for future in kept:
            future.result(TIMEOUT_S)
    gc.collect()

    assert len(opened) >= 2
    assert [reference() for reference in opened] == [None] * len(opened)


def test_closing_fails_what_is_under_way(router: Router, first: DoubleTranslator) -> None:
    first.minds_closing = False
    coming = router.submit("wait", "de", "fr")
    until(first.is_waiting.is_set)

    router.close()

    with pytest.raises(TranslatorClosed):
        coming.result(0)
    with pytest.raises(TranslatorClosed):
        router.submit("Hallo", "de", "en")
    assert first.is_closed


def test_closing_fails_who_waits_for_a_bundle(router: Router, bundles: DoubleBundles) -> None:
    bundles.may_open.clear()
    coming = router.submit("Hallo", "de", "en")
    threading.Timer(0.02, bundles.may_open.set).start()

    router.close()

    with pytest.raises(TranslatorClosed):
        coming.result(0)
    assert bundles.open_names == []


def test_closing_fails_what_waits_for_a_thread(router: Router) -> None:
    """Work that was never begun resolves no future by itself."""
    is_closing = threading.Event()

    def block() -> None:
        is_closing.wait(TIMEOUT_S)

    for _ in range(PREPARING_THREADS):
        router._run_beside(block)
    coming = router.submit("Hallo", "de", "en")
    until(lambda: bool(router._beside._work_queue.qsize()))
    threading.Timer(0.02, is_closing.set).start()

    router.close()

    with pytest.raises(TranslatorClosed):
        coming.result(0)


def test_many_texts_come_in_order_with_errors_in_their_places(router: Router) -> None:
    for pair, suffix in (("de", "en"), "|de-en"), (("de", "fr"), "|de-en|en-fr"):
        texts = ["a", "unusable", "b", "c", "d", "unusable"]

        outcomes = list(router.translate_many(texts, *pair, read_ahead=2))

        assert [
            (outcome.item, outcome.problem) if isinstance(outcome, InputError) else outcome.translation.text
            for outcome in outcomes
        ] == [
            "a" + suffix,
            (1, "is not usable"),
            "b" + suffix,
            "c" + suffix,
            "d" + suffix,
            (5, "is not usable"),
        ]


def test_many_texts_through_a_pivot_are_what_single_ones_are(router: Router) -> None:
    options = DecodingOptions(num_hypotheses=2, max_length=50)
    texts = [f"eins {number}\nzwei" for number in range(5)]

    many = list(router.translate_many(texts, "de", "fr", options, read_ahead=3))

    assert many == [router.translate(text, "de", "fr", options) for text in texts]


def test_an_error_in_the_second_step_of_many_names_it(
    router: Router, second: DoubleTranslator, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = second.translate_many

    def refuse(*arguments: object, **named: object) -> Iterator[object]:
        for item, outcome in enumerate(plain(*arguments, **named)):  # type: ignore[arg-type]
            yield InputError("text", "is bad", item) if item == 1 else outcome

    monkeypatch.setattr(second, "translate_many", refuse)

    outcomes = list(router.translate_many(["unusable", "a", "b", "c"], "de", "fr", read_ahead=10))

    errors = [outcome for outcome in outcomes if isinstance(outcome, InputError)]
    assert [str(error) for error in errors] == [
        "text[0]: is not usable",
        "text[2]: its translation into en cannot go on: is bad",
    ]


@only_one_fits
def test_many_texts_through_a_pivot_need_room_for_one_bundle_at_a_time(
    router: Router, bundles: DoubleBundles
) -> None:
    outcomes = list(router.translate_many("abcd", "de", "fr", read_ahead=2))

    assert len(outcomes) == 4
    assert bundles.names == ["de-en", "en-fr", "de-en", "en-fr"]


def test_no_more_is_read_than_is_asked_for(router: Router) -> None:
    def endless() -> Iterator[str]:
        while True:
            yield "ja"

    for target in ("en", "fr"):
        outcomes = router.translate_many(endless(), "de", target)
        assert not isinstance(next(outcomes), InputError)
