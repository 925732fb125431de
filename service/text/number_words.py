"""Words for small numbers, which a translation may have in place of digits: `five o'clock` for `5 Uhr`."""

import re
from collections.abc import Mapping

_CARDINALS: Mapping[str, str] = {
    "de": "zwei drei vier fünf sechs sieben acht neun zehn elf zwölf",
    "en": "two three four five six seven eight nine ten eleven twelve",
    "es": "dos tres cuatro cinco seis siete ocho nueve diez once doce",
    "fr": "deux trois quatre cinq six sept huit neuf dix onze douze",
    "it": "due tre quattro cinque sei sette otto nove dieci undici dodici",
    "nl": "twee drie vier vijf zes zeven acht negen tien elf twaalf",
    "pt": "dois três quatro cinco seis sete oito nove dez onze doze",
}
"""Words for two to twelve. One is left out: in most languages it is an article or a pronoun, too."""
_ORDINALS: Mapping[str, str] = {
    "de": "erst zweit dritt viert fünft sechst siebt acht neunt zehnt elft zwölft",
    "en": "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth",
}
"""Words for first to twelfth; of German ones the stems."""
_ORDINAL_SIGN = {
    "de": re.compile(r"\.\s+(?=[^\W\d_])"),
    "en": re.compile(r"(?:st|nd|rd|th)\b"),
    "es": re.compile(r"\.?[ºª]"),
    "fr": re.compile(r"(?:er|re|e|è?me)\b"),
    "it": re.compile(r"[ºª°]"),
    "nl": re.compile(r"(?:e|de|ste)\b"),
    "pt": re.compile(r"\.?[ºª]"),
}
"""Sign after the digits of an ordinal number."""
_ENDING = re.compile(r"e[mnrs]?$")
_WORD = re.compile(r"[^\W\d_]+")
FIRST = 1
_SUFFIXES = {1: "st", 2: "nd", 3: "rd"}


def count_number_words(text: str, language: str) -> dict[tuple[int, bool], int]:
    """Return how often each small number is there as a word, by number and whether it is an ordinal.

    Args:
        text: any.
        language: two letters; of one that is not listed, no word is known.
    """
    words = _words_of(language)
    counts: dict[tuple[int, bool], int] = {}
    for word in _WORD.findall(text.casefold()) if words else ():
        key = words.get(word) or (words.get(_ENDING.sub("", word)) if language == "de" else None)
        if key is not None:
            counts[key] = counts.get(key, 0) + 1
    return counts


def is_ordinal(text: str, end: int, language: str) -> bool:
    """Return whether digits that end at a position of a text are an ordinal number: `2. Weltkrieg`, `5th`."""
    sign = _ORDINAL_SIGN.get(language)
    return sign is not None and sign.match(text, end) is not None


def ordinal_sign(value: int, language: str) -> str:
    """Return what follows the digits of an ordinal number in a language; a full stop if that is not known."""
    suffix = "th" if value % 100 // 10 == 1 else _SUFFIXES.get(value % 10, "th")
    return suffix if language == "en" else "."


def _words_of(language: str) -> dict[str, tuple[int, bool]]:
    cardinals = {word: (i, False) for i, word in enumerate(_CARDINALS.get(language, "").split(), FIRST + 1)}
    ordinals = {word: (i, True) for i, word in enumerate(_ORDINALS.get(language, "").split(), FIRST)}
    return {**ordinals, **cardinals}
