"""Given targets go to the bundle that serves their pair."""

import pytest

from dragoman import Deadline, EngineRequest
from dragoman.errors import InputError, MemoryBudgetExceeded
from dragoman.routing.router import Router, RouterOptions
from tests.routing.conftest import SIZE_BYTES
from tests.routing.doubles import TIMEOUT_S, DoubleTranslator, until

only_one_fits = pytest.mark.parametrize("options", [RouterOptions(budget_bytes=SIZE_BYTES)])


def test_a_target_is_read_by_the_bundle_of_its_pair(router: Router, second: DoubleTranslator) -> None:
    scored = router.score(
        router.route("en", "fr"), "yes", "mais oui", EngineRequest(deadline=Deadline.after(9))
    ).result(TIMEOUT_S)

    assert (scored.source, scored.text) == ("yes", "mais oui")
    assert second.pairs == [("en", "fr")]
    assert second.requests[0].deadline.timeout_s == 9


def test_what_goes_through_a_third_language_has_no_score(router: Router) -> None:
    with pytest.raises(
        InputError, match="target: scoring needs a model that translates de -> fr directly, not through en"
    ):
        router.score(router.route("de", "fr"), "ja", "oui")


def test_what_cannot_be_read_fails_alone(router: Router) -> None:
    route = router.route("de", "en")

    assert isinstance(router.score(route, "ja", "unusable").exception(TIMEOUT_S), InputError)
    assert router.score(route, "ja", "yes").result(TIMEOUT_S).score == -1.0


@only_one_fits
def test_a_bundle_is_waited_for_and_given_back(router: Router, first: DoubleTranslator) -> None:
    in_use = router.submit("wait", "de", "en")
    until(first.is_waiting.is_set)
    coming = router.score(router.route("en", "fr"), "yes", "oui")
    late = router.score(router.route("en", "fr"), "yes", "oui", EngineRequest(deadline=Deadline.after(0.05)))

    assert isinstance(late.exception(TIMEOUT_S), MemoryBudgetExceeded)
    assert not coming.done()
    first.released.set()

    assert coming.result(TIMEOUT_S).text == "oui"
    assert in_use.result(TIMEOUT_S).translation.text == "wait|de-en"


@only_one_fits
def test_given_up_while_it_waits_it_asks_no_bundle(router: Router, first: DoubleTranslator) -> None:
    router.submit("wait", "de", "en")
    until(first.is_waiting.is_set)
    coming = router.score(router.route("en", "fr"), "yes", "oui")

    assert coming.cancel()
    first.released.set()

    assert router.score(router.route("en", "fr"), "no", "non").result(TIMEOUT_S).text == "non"
