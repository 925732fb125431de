"""Sources with abbreviations for long words, and lines with words that look like abbreviations."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random

from training.corpus import TextPair
from training.variants.drawing import words
from training.variants.formats import Bilingual, bilingual_list

SHARE_OF_SMALL_WORDS = 0.03
"""Share of the occurrences of very frequent words that may be abbreviated."""
SHARE_OF_TWO = 0.3

_PLACES = {
    "before_number": ("", r"(?= \d)"),
    "after_number": (r"(?<=\d )", ""),
    "before_name": ("", r"(?= [A-ZÄÖÜ])"),
    "before_words": ("", r"(?= \w)"),
    "anywhere": ("", ""),
}
"""Text before and after the words of a section of a bundle's abbreviations."""
_SMALL_WORDS = frozenset(words("und oder gegen frau herr with without about because people please"))
_OTHER_LETTERS = {
    "pound": "lb",
    "pounds": "lbs",
    "tablespoon": "tbsp",
    "tablespoons": "tbsp",
    "horsepower": "hp",
}
"""Units of English whose abbreviations begin with another letter."""
_ENDINGS, _FOLLOWING = bilingual_list("endings"), bilingual_list("following")


@dataclass(frozen=True, slots=True)
class _Abbreviations:
    pattern: re.Pattern[str]
    """Its groups have the names of the sections."""
    shorter: Mapping[str, Mapping[str, tuple[str, ...]]]
    """By section and long form in lower case."""


def abbreviated(pair: TextPair, rng: Random, language: str, files: tuple[Path, ...]) -> str | None:
    """Abbreviate one or two long words of the source, as writers of its language do.

    Args:
        pair: any.
        rng: draws the words and their abbreviations.
        language: of the source.
        files: bundles' `reading.toml`, whose tables are read backwards.
    """
    known = _abbreviations(language, files)
    if known is None:
        return None
    found = [
        (match, short)
        for match in known.pattern.finditer(pair.source)
        if (short := _short_form(match, known, rng)) is not None
    ]
    if not found:
        return None
    count = 2 if len(found) > 1 and rng.random() < SHARE_OF_TWO else 1
    source = pair.source
    for match, short in sorted(rng.sample(found, count), key=lambda each: -each[0].start()):
        behind = source[match.end() :]
        behind = behind[1:] if short.endswith(".") and behind.startswith(".") else behind
        source = source[: match.start()] + short + behind
    return source


def _short_form(match: re.Match[str], known: _Abbreviations, rng: Random) -> str | None:
    """Draw an abbreviation with the capital of its long form; None if the capital makes that another word."""
    long = match[0]
    if long.lower() in _SMALL_WORDS and rng.random() >= SHARE_OF_SMALL_WORDS:
        return None
    forms = known.shorter[match.lastgroup or ""][long.lower()]
    alike = [short for short in forms if short[0].isupper() == long[0].isupper()]
    if alike:
        return rng.choice(alike)
    is_first = match.start() == 0 or match.string[match.start() - 2 : match.start()] in {". ", "! ", "? "}
    if long[0].islower():
        return rng.choice(forms)
    return (short := rng.choice(forms))[0].upper() + short[1:] if is_first else None


def word_at_end(rng: Random) -> Bilingual:
    """Make two sentences, of which the first one ends in a word or name that looks like an abbreviation."""
    first, second = rng.choice(_ENDINGS), rng.choice(_FOLLOWING)
    return first + " " + second


@lru_cache(4)
def _abbreviations(language: str, files: tuple[Path, ...]) -> _Abbreviations | None:
    """Read backwards what models of a language read; return None if no abbreviations are there.

    Where a long form begins with another letter, it is no long form but what a model reads best.
    """
    tables = [tomllib.loads(file.read_text("utf-8")) for file in files]
    own = next((table[language] for table in tables if language in table), None)
    if own is None:
        return None
    shorter: dict[str, dict[str, list[str]]] = {}
    for section in _PLACES:
        forms = shorter.setdefault(section, {})
        for short, long in own.get(section, {}).items():
            for form in [long] if isinstance(long, str) else long:
                if form[0].lower() == short[0].lower() and len(form) > len(short):
                    forms.setdefault(form.lower(), []).append(short)
    for unit, short in _OTHER_LETTERS.items():
        shorter["after_number"].setdefault(unit, []).append(short)
    any_of = {
        section: "|".join(map(re.escape, sorted(forms, key=len, reverse=True)))
        for section, forms in shorter.items()
    }
    patterns = [
        rf"(?<![\w-]){before}(?P<{section}>{any_of[section]})(?![\w-]){after}"
        for section, (before, after) in _PLACES.items()
        if shorter[section]
    ]
    return _Abbreviations(
        re.compile("|".join(patterns), re.IGNORECASE),
        {
            section: {long: tuple(short) for long, short in forms.items()}
            for section, forms in shorter.items()
        },
    )
