"""Languages of texts, of which LibreTranslate reports as few as are likely."""

from collections.abc import Sequence

from dragoman.routing.routes import Routes
from service.api.libretranslate.errors import rejected
from service.translation.detection import NOTHING, detect, detectable
from service.translation.request import UNDETERMINED, DetectedSource

MAX_LANGUAGES = 3
"""Maximum number of languages reported for one text."""
MIN_CHARACTERS_OF_SEVERAL = 20
"""Length from which more than one language of a text is reported."""
MIN_CONFIDENCE = 0.1
"""Minimum confidence of all languages of a text but the most likely."""


def detect_together(texts: Sequence[str], among: Sequence[str]) -> list[DetectedSource]:
    """Return the languages of texts as one list, the most likely first.

    A language's confidence is the average over the texts that may be in it, and longer texts count for more
    in the order. `und` alone if no text has a language.
    """
    found: dict[str, list[tuple[float, int]]] = {}
    for text in texts:
        for likely in _likely_languages(text, among):
            found.setdefault(likely.language, []).append((likely.confidence, len(text)))
    weighed = [
        (sum(confidences) / len(confidences), sum(sizes), language)
        for language, of_language in found.items()
        for confidences, sizes in [tuple(zip(*of_language, strict=True))]
    ]
    weighed.sort(key=lambda one: one[0] * one[1], reverse=True)
    return [DetectedSource(language, confidence) for confidence, _, language in weighed] or [NOTHING]


def detect_source(text: str, target: str, routes: Routes) -> str:
    """Return the language of a text among those that are translated into the target.

    Raises:
        ApiError: it cannot be detected.
    """
    found = detect(text, detectable(routes.sources_of(target, None)))[0].language
    if found == UNDETERMINED:
        raise rejected("the language of q cannot be detected; name it as source")
    return found


def _likely_languages(text: str, among: Sequence[str]) -> list[DetectedSource]:
    best, *others = detect(text, among)
    if best.language == UNDETERMINED:
        return []
    if len(text) < MIN_CHARACTERS_OF_SEVERAL:
        return [best]
    return [best, *(other for other in others if other.confidence >= MIN_CONFIDENCE)][:MAX_LANGUAGES]
