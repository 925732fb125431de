"""Whoever watches a text is told of the last step, and of nothing before it."""

from dragoman import EngineRequest
from dragoman.routing.router import Router
from dragoman.types import SegmentTranslation
from tests.routing.doubles import TIMEOUT_S


def test_the_last_steps_segments_and_tokens_are_told_and_no_others(router: Router) -> None:
    segments: list[SegmentTranslation] = []
    tokens: list[tuple[int, str]] = []
    request = EngineRequest(
        on_segment=segments.append, on_token=lambda number, text: tokens.append((number, text))
    )

    routed = router.follow(router.route("de", "fr"), "Hallo du\nda", request).result(TIMEOUT_S)

    assert [segment.text for segment in segments] == [segment.text for segment in routed.translation.segments]
    assert [segment.source for segment in segments] == ["Hallo du|de-en", "da|de-en"]
    assert tokens == [(0, "Hallo"), (0, "Hallo du|de-en|en-fr"), (1, "da|de-en|en-fr")]


def test_what_a_watcher_raises_fails_its_text_alone(router: Router) -> None:
    def fail(_segment: SegmentTranslation) -> None:
        raise LookupError("no")

    watched = router.follow(router.route("de", "en"), "Hallo", EngineRequest(on_segment=fail))

    assert isinstance(watched.exception(TIMEOUT_S), LookupError)
    assert router.translate("Hallo", "de", "en").translation.text == "Hallo|de-en"
