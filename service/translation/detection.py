"""Detection of a text's language among those that are served. Nothing leaves the machine.

The detector is lingua (https://github.com/pemistahl/lingua-rs): n-grams of one to five characters and a few
rules. It knows 75 languages; a served one that it does not know is never detected.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from lingua import IsoCode639_1, Language, LanguageDetector, LanguageDetectorBuilder

from dragoman.text.segmentation import has_letters
from dragoman.text.validation import check_text
from service.translation.everyday_words import everyday_words
from service.translation.request import UNDETERMINED, DetectedSource

MAX_LOOKED_AT = 2000
"""Characters from the beginning of a text: more would not change the answer, and cost time."""
MAX_FIRST_LOOKED_AT = 200
"""Characters that are looked at for a language that is not served, before all of those."""
MAX_DETAILED = 20
"""Languages up to which n-grams of all lengths are looked at. Those of all 75 languages take 900 MB and 7 s
to read, where trigrams take 70 MB and 0.4 s but are wrong more often: docs/explanation/decisions/text.md.
"""
MAX_DETECTORS = 64
"""Sets of languages of which a detector is kept."""
MACROLANGUAGES = {"no": "nb"}
"""Codes that models use, and the ones that the detector has for them."""
MAX_SHORT_WORDS = 3
"""Words up to which a text is short: then everyday words decide before n-grams do."""
EVERYDAY_CONFIDENCE = 0.99
MIN_UNSERVED_CHARACTERS = 20
"""From where a text may be in a language that is not served, or in another one than its caller names."""
MIN_UNSERVED_CONFIDENCE, MIN_DETAILED_CONFIDENCE = 0.97, 0.85
"""From where a text is in a language that is not served: by trigrams, and by n-grams of all lengths."""
MIN_OTHER_RATIO = 19.0
"""Ratio by which another served language must be likelier than the named source."""
COMMON = ("de", "en", "fr", "es", "it", "pt", "nl", "pl", "sv", "da", "nb", "cs", "tr", "ro", "hu", "fi")
"""Languages that texts are often in, whether or not they are served. Their trigrams take 27 MB."""
WORD = re.compile(r"[^\W\d_]+")
NOTHING = DetectedSource(UNDETERMINED, 0.0)


def detect(text: str, among: Sequence[str]) -> list[DetectedSource]:
    """Return the languages that a text may be in, the most likely first.

    Args:
        text: any.
        among: BCP-47 codes. Of several of one language (`pt-BR`, `pt-PT`) the first is meant.

    Returns:
        Those with a confidence above 0, which add up to 1; `und` alone if there is no letter in the text, or
        nothing in it that any of these languages would have, or it is in a common language besides these.

    Raises:
        InputError: the text has a lone surrogate, which the detector cannot read.
    """
    check_text(text, None)
    is_unserved = len(among) > 1 and unserved_language(text, among) is not None
    return [NOTHING] if is_unserved else detect_served(text, among)


def detect_served(text: str, among: Sequence[str]) -> list[DetectedSource]:
    """Return the same for a text that `unserved_language` finds in no other language."""
    if not has_letters(text):
        return [NOTHING]
    if len(among) == 1:
        return [DetectedSource(among[0], 1.0)]
    codes = _by_language(among)
    if len(codes) < 2:  # noqa: PLR2004 -- the detector compares two at least
        return [NOTHING]
    values = _detector(frozenset(codes)).compute_language_confidence_values(text[:MAX_LOOKED_AT])
    found = [DetectedSource(codes[value.language], value.value) for value in values if value.value > 0]
    everyday = _everyday_language(text, codes)
    return (found if everyday is None else _with_best(found, everyday)) or [NOTHING]


def unserved_language(text: str, among: Sequence[str]) -> DetectedSource | None:
    """Return the common language that a text is in for certain, if none of `among` has it."""
    codes = _by_language(among)
    if len(text) < MIN_UNSERVED_CHARACTERS or len(codes) > MAX_DETAILED:
        return None
    others = {*_by_language(COMMON)} - {*codes}
    if not others:
        return None
    detector = _detector(frozenset(codes) | others, has_all_lengths=False)
    if detector.compute_language_confidence_values(text[:MAX_FIRST_LOOKED_AT])[0].language not in others:
        return None
    best = detector.compute_language_confidence_values(text[:MAX_LOOKED_AT])[0]
    if best.language not in others or best.value < MIN_UNSERVED_CONFIDENCE:
        return None
    detector = _detector(frozenset(codes) | {best.language})  # with n-grams of all lengths: wrong less often
    confidence = detector.compute_language_confidence(text[:MAX_LOOKED_AT], best.language)
    return DetectedSource(_code(best.language), confidence) if confidence >= MIN_DETAILED_CONFIDENCE else None


def other_language(text: str, source: str, served: Sequence[str]) -> DetectedSource | None:
    """Return the language that a text is in for certain, if that is not the source that its caller names."""
    if is_short(text) or len(text) < MIN_UNSERVED_CHARACTERS or not detectable([source]):
        return None
    among = [source, *served]
    unserved = unserved_language(text, among)
    if unserved is not None:
        return unserved
    found = {one.language: one for one in detect(text, among)}
    best, *_ = found.values()
    named = found.get(source, NOTHING)
    return best if best.confidence > MIN_OTHER_RATIO * named.confidence else None


def language_name(code: str) -> str:
    """Return the English name of a language that can be detected."""
    return _languages()[_base(code)].name.title()


def is_short(text: str) -> bool:
    """Return whether a text has so few words that n-grams say little about it."""
    return len(WORD.findall(text[:MAX_LOOKED_AT])) <= MAX_SHORT_WORDS


def _everyday_language(text: str, codes: Mapping[Language, str]) -> str | None:
    """Return the only language whose everyday words a short text consists of."""
    words = set(map(str.lower, WORD.findall(text[:MAX_LOOKED_AT])))
    if not words or not is_short(text):
        return None
    found = [code for code in codes.values() if words <= everyday_words(_base(code))]
    return found[0] if len(found) == 1 else None


def _with_best(found: Sequence[DetectedSource], code: str) -> list[DetectedSource]:
    """Return the languages with one that is certain before the others."""
    others = [each for each in found if each.language != code]
    total = sum(each.confidence for each in others) or 1.0
    rest = (1 - EVERYDAY_CONFIDENCE) / total
    return [
        DetectedSource(code, EVERYDAY_CONFIDENCE),
        *(DetectedSource(each.language, each.confidence * rest) for each in others),
    ]


def detectable(codes: Iterable[str]) -> list[str]:
    """Those that can be detected."""
    return list(_by_language(tuple(codes)).values())


def _by_language(codes: Sequence[str]) -> dict[Language, str]:
    found: dict[Language, str] = {}
    for code in codes:
        language = _languages().get(_base(code))
        if language is not None:
            found.setdefault(language, code)
    return found


def _base(code: str) -> str:
    base = code.split("-", maxsplit=1)[0].lower()
    return MACROLANGUAGES.get(base, base)


@lru_cache(1)
def _languages() -> dict[str, Language]:
    return {_code(language): language for language in Language.all()}


def _code(language: Language) -> str:
    return str(language.iso_code_639_1).rpartition(".")[2].lower()


@lru_cache(MAX_DETECTORS)
def _detector(languages: frozenset[Language], *, has_all_lengths: bool = True) -> LanguageDetector:
    codes: list[IsoCode639_1] = sorted((language.iso_code_639_1 for language in languages), key=str)
    builder = LanguageDetectorBuilder.from_iso_codes_639_1(*codes)
    if len(languages) > MAX_DETAILED or not has_all_lengths:
        builder = builder.with_low_accuracy_mode()
    return builder.build()
