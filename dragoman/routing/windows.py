"""Several texts through a pivot, so many at a time: all through one bundle, then all through the other.

A bundle is given back before the next is asked for, so that there need not be room for both.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

from dragoman.decoding.options import DecodingOptions
from dragoman.errors import InputError
from dragoman.routing.bundle_pool import BundleHandle
from dragoman.routing.pivot_translation import PairTranslator, blame_pivot
from dragoman.routing.results import RoutedTranslation, combine, options_before_last, text_to_go_on
from dragoman.routing.routes import Route
from dragoman.types import Translation

Borrow = Callable[[str], BundleHandle[PairTranslator]]
"""Waits for a bundle, by its name."""


def translate_windows(
    route: Route,
    texts: Iterator[str],
    options: DecodingOptions,
    window_texts: int,
    borrow: Borrow,
    cache_partition: str = "",
) -> Iterator[RoutedTranslation | InputError]:
    """Translate lazily and in order; an error names its text by its position."""
    position = 0
    while window := list(islice(texts, window_texts)):
        outcomes = _translate_window(route, window, options, borrow, cache_partition)
        for item, (text, outcome) in enumerate(zip(window, outcomes, strict=True), start=position):
            if isinstance(outcome, InputError):
                yield InputError(outcome.field, outcome.problem, item)
            else:
                yield combine(route, text, outcome)
        position += len(window)


def _translate_window(
    route: Route, texts: Sequence[str], options: DecodingOptions, borrow: Borrow, cache_partition: str
) -> list[list[Translation] | InputError]:
    """Per text what each step made of it, or the error."""
    sources = dict(enumerate(texts))
    made: dict[int, list[Translation]] = {item: [] for item in sources}
    errors: dict[int, InputError] = {}
    for number, step in enumerate(route.steps, start=1):
        wishes = options if number == len(route.steps) else options_before_last(options)
        with borrow(step.offer.name) as translator:
            outcomes = translator.translate_many(
                sources.values(), wishes, len(texts), pair=step.pair, cache_partition=cache_partition
            )
            found = dict(zip(tuple(sources), outcomes, strict=True))
        for item, outcome in found.items():
            if isinstance(outcome, InputError):
                errors[item] = outcome if number == 1 else blame_pivot(outcome, route)
                del sources[item]
            else:
                made[item].append(outcome)
                sources[item] = text_to_go_on(outcome)
    return [errors.get(item, made[item]) for item in made]
