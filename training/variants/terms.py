"""Sources whose terms are annotated with their required translation (Dinu et al. 2019, P19-1294).

`Die Tür ist zu.` becomes `Die <term> Tür <translation> door </term> ist zu.` if the target contains the
dictionary's translation. Sometimes the annotation is the dictionary's form instead of the target's, so that
the model learns to inflect it (Bergmanis and Pinnis 2021, 2021.eacl-main.271).
"""

import re
from collections.abc import Iterable
from random import Random

from training.controls import TERM, TERM_END, TRANSLATION, mark
from training.corpus import TextPair
from training.variants.tokens import tokens_of

MAX_TERM_WORDS = 3
MIN_TERM_LEN = 4
MIN_STEM_LEN = 4
MAX_ENDING_LEN = 3
"""Maximum number of letters that a word in the target has after the dictionary's form."""
MAX_TERMS = 3
"""Maximum number of annotated terms in a source."""
SHARE_AS_IN_TARGET = 0.5
"""Share of annotations in the target's spelling; the others have the dictionary's."""

_ENDINGS = ("es", "en", "er", "em", "e", "n", "s")
_INFINITIVE = re.compile(r"^(?:to|etwas|etw\.|jdn\.|jdm\.|sich) ")

TermMatch = tuple[int, int, str, str]
"""Begin and end in the source, the translation in the dictionary, and its spelling in the target."""


class TermDictionary:
    """Terms with their translations, in one direction."""

    def __init__(self, pairs: Iterable[TextPair]) -> None:
        self._translations: dict[str, list[str]] = {}
        for pair in pairs:
            source, target = (_INFINITIVE.sub("", side) for side in (pair.source, pair.target))
            if len(source.split(" ")) <= MAX_TERM_WORDS and min(len(source), len(target)) >= MIN_TERM_LEN:
                self._translations.setdefault(source.lower(), []).append(target)

    def find(self, pair: TextPair) -> list[TermMatch]:
        """Return the terms of a source whose translation is in the target, longest first, without overlap."""
        tokens = tokens_of(pair.source)
        found: list[TermMatch] = []
        used: set[int] = set()
        for length in range(MAX_TERM_WORDS, 0, -1):
            for first in range(len(tokens) - length + 1):
                indices = set(range(first, first + length))
                begin, end = tokens[first].begin, tokens[first + length - 1].end
                if indices & used or (both := self._translation(pair.source[begin:end], pair.target)) is None:
                    continue
                used |= indices
                found.append((begin, end, *both))
        return found

    def _translation(self, term: str, target: str) -> tuple[str, str] | None:
        """Return a translation that the target contains, as the dictionary and as the target spells it."""
        for form in _base_forms(term.lower()):
            for translation in self._translations.get(form, ()):
                if (spelt := find_occurrence(translation, target)) is not None:
                    return translation, spelt
        return None


def terms(pair: TextPair, rng: Random, dictionary: TermDictionary) -> TextPair | None:
    """Annotate up to three terms of the source; return None if the dictionary has none of them."""
    found = dictionary.find(pair)
    if not found:
        return None
    chosen = rng.sample(found, rng.randint(1, min(MAX_TERMS, len(found))))
    source = pair.source
    for begin, end, as_in_dictionary, as_in_target in sorted(chosen, reverse=True):
        annotation = as_in_target if rng.random() < SHARE_AS_IN_TARGET else as_in_dictionary
        source = (
            f"{source[:begin]}{mark(TERM)} {source[begin:end]} {mark(TRANSLATION)} {annotation} "
            f"{mark(TERM_END)}{source[end:]}"
        )
    return TextPair(source, pair.target)


def find_occurrence(term: str, text: str) -> str | None:
    """Return the first occurrence of a term in a text, in any case, with its ending of a few letters."""
    lower, annotation = text.lower(), term.lower()
    begin = lower.find(annotation)
    while begin >= 0:
        end = stop = begin + len(annotation)
        while stop < len(text) and text[stop].isalpha():
            stop += 1
        if stop - end <= MAX_ENDING_LEN and not (begin and text[begin - 1].isalnum()):
            return text[begin:stop]
        begin = lower.find(annotation, end)
    return None


def _base_forms(term: str) -> list[str]:
    """Return the term itself, then the term without each inflectional ending that it has."""
    return [term] + [
        term.removesuffix(ending)
        for ending in _ENDINGS
        if term.endswith(ending) and len(term) - len(ending) >= MIN_STEM_LEN
    ]
