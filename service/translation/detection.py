"""Which language a text is in, among those that are served. Nothing leaves the machine.

The detector is lingua (https://github.com/pemistahl/lingua-rs): n-grams of one to five characters and a few
rules. It knows 75 languages; a served one that it does not know is never detected.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache

from lingua import IsoCode639_1, Language, LanguageDetector, LanguageDetectorBuilder

from dragoman.text.segmentation import has_letters
from dragoman.text.validation import check_text
from service.translation.request import UNDETERMINED, DetectedSource

MAX_LOOKED_AT = 2000
"""Characters from the beginning of a text: more would not change the answer, and cost time."""
MAX_DETAILED = 20
"""Languages up to which n-grams of all lengths are looked at. Those of all 75 languages take 900 MB and 7 s
to read, where trigrams take 70 MB and 0.4 s but are wrong more often: docs/explanation/decisions/0013.
"""
MAX_DETECTORS = 64
"""Sets of languages of which a detector is kept."""
MACROLANGUAGES = {"no": "nb"}
"""Codes that models use, and the ones that the detector has for them."""
NOTHING = DetectedSource(UNDETERMINED, 0.0)


def detect(text: str, among: Sequence[str]) -> list[DetectedSource]:
    """Return the languages that a text may be in, the most likely first.

    Args:
        text: any.
        among: BCP-47 codes. Of several of one language (`pt-BR`, `pt-PT`) the first is meant.

    Returns:
        Those with a confidence above 0, which add up to 1; `und` alone if there is no letter in the text, or
        nothing in it that any of these languages would have.

    Raises:
        InputError: the text has a lone surrogate, which the detector cannot read.
    """
    check_text(text, None)
    if not has_letters(text):
        return [NOTHING]
    if len(among) == 1:
        return [DetectedSource(among[0], 1.0)]
    codes = _by_language(among)
    if len(codes) < 2:  # noqa: PLR2004 -- the detector compares two at least
        return [NOTHING]
    values = _detector(frozenset(codes)).compute_language_confidence_values(text[:MAX_LOOKED_AT])
    return [DetectedSource(codes[value.language], value.value) for value in values if value.value > 0] or [
        NOTHING
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
    by_code = {language.iso_code_639_1: language for language in Language.all()}
    return {str(code).rpartition(".")[2].lower(): by_code[code] for code in by_code}


@lru_cache(MAX_DETECTORS)
def _detector(languages: frozenset[Language]) -> LanguageDetector:
    codes: list[IsoCode639_1] = sorted((language.iso_code_639_1 for language in languages), key=str)
    builder = LanguageDetectorBuilder.from_iso_codes_639_1(*codes)
    if len(languages) > MAX_DETAILED:
        builder = builder.with_low_accuracy_mode()
    return builder.build()
