"""Translate many texts through a pivot, a window of them at a time: all by one bundle, then all by the other.

A bundle is released before the next is acquired, so that memory for one of them is enough.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from dragoman.errors import InputError
from dragoman.pipeline.engine_request import EngineRequest
from dragoman.routing.bundle_pool import BundleHandle
from dragoman.routing.bundle_runner import PairTranslator
from dragoman.routing.pivot_translation import blame_pivot, request_of_step
from dragoman.routing.results import RoutedTranslation, combine, source_of_next_step
from dragoman.routing.routes import Route
from dragoman.types import Translation

Acquire = Callable[[str], BundleHandle[PairTranslator]]
"""Waits for a bundle, by its name."""


def translate_windows(
    route: Route, texts: Iterator[str], request: EngineRequest, window_texts: int, acquire: Acquire
) -> Iterator[RoutedTranslation | InputError]:
    """Translate lazily and in order; an error names its text by its position."""
    position = 0
    while window := list(islice(texts, window_texts)):
        outcomes = _translate_window(route, window, request, acquire)
        for item, (text, outcome) in enumerate(zip(window, outcomes, strict=True), start=position):
            if isinstance(outcome, InputError):
                yield InputError(outcome.field, outcome.problem, item)
            else:
                yield combine(route, text, outcome)
        position += len(window)


def _translate_window(
    route: Route, texts: Sequence[str], request: EngineRequest, acquire: Acquire
) -> list[list[Translation] | InputError]:
    """Return per text the translation of each step, or the error."""
    sources = dict(enumerate(texts))
    made: dict[int, list[Translation]] = {item: [] for item in sources}
    errors: dict[int, InputError] = {}
    for number, step in enumerate(route.steps):
        with acquire(step.offer.name) as translator:
            outcomes = translator.translate_many(
                sources.values(), request_of_step(request, route, number), len(texts)
            )
            found = dict(zip(tuple(sources), outcomes, strict=True))
        for item, outcome in found.items():
            if isinstance(outcome, InputError):
                errors[item] = blame_pivot(outcome, route) if number else outcome
                del sources[item]
            else:
                made[item].append(outcome)
                sources[item] = source_of_next_step(outcome)
    return [errors.get(item, made[item]) for item in made]
