"""Words that decide the language of a short text.

N-grams of one or two words are too few: they take "Hallo" and "Was?" for English. `words/` has greetings,
and of the words that are 20 times as frequent in one language as in the other the 2,000 most frequent, by
Tatoeba's sentences (CC BY 2.0 FR, tatoeba.org). Words of both, such as "so" and "Hand", are in neither.
"""

from functools import lru_cache
from pathlib import Path

WORDS = Path(__file__).parent / "words"


@lru_cache
def everyday_words(language: str) -> frozenset[str]:
    """Return the words of a language in lower case; none if there is no list of it."""
    path = WORDS / f"{language}.txt"
    return frozenset(path.read_text(encoding="utf-8").split()) if path.is_file() else frozenset()
