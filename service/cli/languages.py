"""Languages of a command's text: named by options, the only possible ones, or detected."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import typer

from dragoman import InputError, UnsupportedPair
from dragoman.routing.router import Router
from dragoman.routing.routes import Route, RouteKind
from dragoman.text.segmentation import has_letters
from service.cli.lines import MAX_BEGINNING_CHARACTERS
from service.translation.request import AUTO, UNDETERMINED


@dataclass(frozen=True, slots=True)
class LanguageArguments:
    """Languages as a user names them; None if left open."""

    source: str | None
    target: str | None

    @property
    def is_auto(self) -> bool:
        return self.source is not None and self.source.lower() == AUTO


def find_route(
    names: LanguageArguments, router: Router, detection: str, beginning: Callable[[], str]
) -> Route | None:
    """Return the route for a text; if its source is open, detect it from the first lines.

    What is detected is reported, and so is a pivot, as its translations are worse.

    Args:
        names: the languages; the source is detected if it is `auto`, or is None and several are possible.
        router: has the bundles.
        detection: the setting; `off` detects nothing.
        beginning: returns the first lines of the text.

    Returns:
        None if the text has to stay as it is: it has no letters, or is in the target language.

    Raises:
        UnsupportedPair: names the option at fault.
    """
    with options_at_fault(names, router):
        found: LanguageArguments | None = names
        if names.is_auto or (names.source is None and detection == "on"):
            sources = router.routes.sources_of(names.target)
            is_clear = len(sources) == 1 and not names.is_auto
            clear = LanguageArguments(sources[0], names.target)
            found = clear if is_clear else _detect(names, router, detection, beginning)
        if found is None:
            return None
        route = router.route(found.source, found.target)
    if route.way is RouteKind.PIVOT:
        bundles = ", then ".join(step.offer.name for step in route.steps)
        _report(f"{route.pair} is translated through {route.steps[0].pair.target} ({bundles})")
    return route


def preload(route: Route, router: Router) -> None:
    """Open the bundles of a route now, one after the other: the memory budget may be for one only."""
    for step in route.steps:
        router.preload([step.offer.name])


def _detect(
    names: LanguageArguments, router: Router, detection: str, beginning: Callable[[], str]
) -> LanguageArguments | None:
    """Return the detected languages, and report them; None if the text has to stay as it is."""
    # Imported here: the detector takes a third of the time that a short translation takes.
    from service.translation.source_language import DetectionMode, resolve_source  # noqa: PLC0415

    DetectionMode(detection).is_wanted(AUTO)  # raises if detection is off
    text = beginning()
    resolved = resolve_source(text, names.target, None, router.routes)
    best = resolved.detected
    if best.language != UNDETERMINED:
        _report(f"detected {best.language} (confidence {best.confidence:.2f})")
    if resolved.language is not None:
        return LanguageArguments(resolved.language, resolved.target)
    if best.language == UNDETERMINED and len(text) >= MAX_BEGINNING_CHARACTERS:
        raise InputError("text", "the first lines have no letters, so no language can be detected; name it")
    if has_letters(text):
        _report(f"the text is already in the target language, {resolved.target}; it is written unchanged")
    return None


@contextmanager
def options_at_fault(names: LanguageArguments, router: Router) -> Iterator[None]:
    """Raise errors about languages again with the option at fault, and the bundles that cannot be used."""
    try:
        yield
    except InputError as error:
        option, named = ("target", names.target) if error.field == "target" else ("source", names.source)
        where, problem = f"--{option}", error.problem
        if named is not None and not names.is_auto:
            where += f" {named}"
        if router.problems:
            broken_bundles = ", ".join(router.problems)
            problem += f"; cannot be used: {broken_bundles} (`dragoman models` says why)"
        raise UnsupportedPair(where, problem) from error


def _report(message: str) -> None:
    typer.echo(f"dragoman: {message}", err=True)
