"""Stems of words, so that a term is found in any inflection.

Snowball's stemmers (Porter 2001, https://snowballstem.org). A word of a language without one is its own stem.
"""

import threading
from functools import lru_cache

import snowballstemmer

MAX_CACHED_WORDS = 2**16
MAX_CACHED_LETTERS = 64
"""Maximum length of a cached word; longer ones are no words, and would fill the memory."""

_ALGORITHMS = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque", "fa": "persian",
    "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi", "hu": "hungarian", "hy": "armenian",
    "id": "indonesian", "it": "italian", "lt": "lithuanian", "nb": "norwegian", "ne": "nepali",
    "nl": "dutch", "nn": "norwegian", "no": "norwegian", "pl": "polish", "pt": "portuguese",
    "ro": "romanian", "ru": "russian", "sr": "serbian", "st": "sesotho", "sv": "swedish", "ta": "tamil",
    "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
"""Names of the stemmers, by language."""


def stem(word: str, language: str) -> str:
    """Return the stem of a word, in lower case.

    Args:
        word: one word.
        language: a BCP-47 code.
    """
    return (_cached_stem if len(word) <= MAX_CACHED_LETTERS else _stem)(word, language)


def _stem(word: str, language: str) -> str:
    lower = word.lower()
    # A stemmer keeps the word that it works on, so each thread has its own.
    stemmer = _stemmer(language.partition("-")[0], threading.get_ident())
    return lower.casefold() if stemmer is None else str(stemmer.stemWord(lower))


_cached_stem = lru_cache(MAX_CACHED_WORDS)(_stem)


def has_same_stem(language: str, word: str, other: str) -> bool:
    """Return whether two words have the same stem."""
    return stem(word, language) == stem(other, language)


@lru_cache
def _stemmer(language: str, thread: int) -> "snowballstemmer.basestemmer.BaseStemmer | None":
    del thread
    algorithms = set(snowballstemmer.algorithms())
    name = _ALGORITHMS.get(language)
    return snowballstemmer.stemmer(name) if name in algorithms else None
