"""Find the source language of texts whose caller does not name it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from dragoman import InputError
from dragoman.routing.routes import Routes
from dragoman.text.segmentation import has_letters
from dragoman.text.validation import check_text
from service.translation.detection import detect_served, is_short, language_name, unserved_language
from service.translation.request import AUTO, UNDETERMINED, DetectedSource

CLEARLY = 1.5
"""Ratio by which the target language must be likelier than any other for a text to be left unchanged.
"Hand" is German as well as English; who requests its translation wants one."""
CLEARLY_IF_SHORT = 19.0
"""The same for a text of few words: it is translated unless its language is certain."""


class DetectionMode(Enum):
    """Whether source languages that are not named are detected."""

    ON = "on"
    OFF = "off"
    """The source may be omitted if only one is possible."""

    def is_wanted(self, source: str | None) -> bool:
        """Return whether a text's language, named like this, is detected.

        Raises:
            InputError: it would be, but detection is off on this server.
        """
        is_auto = source is not None and source.lower() == AUTO
        if is_auto and self is DetectionMode.OFF:
            raise InputError("source", "language detection is off; name the language of the text")
        return is_auto or (source is None and self is DetectionMode.ON)


@dataclass(frozen=True, slots=True)
class ResolvedSource:
    """The languages of one text."""

    language: str | None
    """Source language; None if the text is left unchanged."""
    target: str
    detected: DetectedSource


def resolve_source(text: str, target: str | None, model: str | None, routes: Routes) -> ResolvedSource:
    """Detect a text's language among those that something translates into the target, and the target itself.

    Raises:
        UnsupportedPair: nothing translates into the target; or none is named, and there are several for the
            language that was detected.
        InputError: there is no such model, or the text's language is none of these or not served.
    """
    sources = routes.sources_of(target, model)
    if target is None and len(sources) > 1:
        return _find_pair(text, sources, model, routes)
    into = routes.find(None if target is None else sources[0], target, model).served_pair.target
    among = [into, *(code for code in sources if code != into)]
    _check_served(text, among)
    found = detect_served(text, among)
    best, others = found[0], found[1:]
    if best.language == UNDETERMINED:
        return ResolvedSource(_undetermined(text, sources), into, best)
    if best.language != into:
        return ResolvedSource(best.language, into, best)
    clearly = CLEARLY_IF_SHORT if is_short(text) else CLEARLY
    if not others or best.confidence >= clearly * others[0].confidence:
        return ResolvedSource(None, into, best)
    return ResolvedSource(others[0].language, into, others[0])


def _find_pair(text: str, sources: Sequence[str], model: str | None, routes: Routes) -> ResolvedSource:
    """Find source and target if no target is named: the only target of the detected language."""
    _check_served(text, sources)
    best = detect_served(text, sources)[0]
    is_known = best.language != UNDETERMINED
    language = best.language if is_known else _undetermined(text, sources)
    pair = routes.find(sources[0] if language is None else language, None, model).pair
    return ResolvedSource(language, pair.target, best)


def _check_served(text: str, among: Sequence[str]) -> None:
    check_text(text, None)
    unserved = unserved_language(text, among)
    if unserved is not None:
        language = language_name(unserved.language)
        problem = f"seems to be {language}, which is not served; served are {', '.join(sorted(among))}"
        more = f"`dragoman import {unserved.language}-{among[0]}` lists models to add"
        raise InputError("text", f"{problem}; {more}; name another `source` to translate it anyway")


def _undetermined(text: str, sources: Sequence[str]) -> str | None:
    if not has_letters(text):
        return None
    if len(sources) == 1:
        return sources[0]
    raise InputError("text", "its language cannot be detected; name it as `source`")
