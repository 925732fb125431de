"""Plural categories of languages, from Unicode's CLDR as Babel has it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from babel import Locale, UnknownLocaleError
from babel.messages.plurals import get_plural
from babel.plural import PluralRule

OTHER = "other"
CATEGORIES = ("zero", "one", "two", "few", "many", OTHER)
"""All categories, in the order of CLDR."""
_SAMPLES = (*range(2, 200), 1000, 10_000, 1_000_000, 0, 1)
"""Numbers that are tried as examples of a category, the plainest first: 1 and 0 may be words."""


@dataclass(frozen=True, slots=True)
class PluralRules:
    """Rules of one language for cardinal or ordinal numbers."""

    samples: Mapping[str, int]
    """For each category that integers have, in the order of CLDR: a number that has it."""
    category: Callable[[int], str]
    """Returns the category of a number."""


@lru_cache(256)
def plural_rules(language: str, *, is_ordinal: bool = False) -> PluralRules:
    """Return the rules of a language by its BCP-47 code; of one that CLDR lacks, a single category."""
    locale = _locale(language)
    rule = PluralRule({})
    if locale is not None:
        rule = locale.ordinal_form if is_ordinal else locale.plural_form
    samples: dict[str, int] = {}
    for number in _SAMPLES:
        samples.setdefault(rule(number), number)
    samples.setdefault(OTHER, 2)  # ICU requires it
    return PluralRules({name: samples[name] for name in CATEGORIES if name in samples}, rule)


@lru_cache(256)
def gettext_plural_forms(language: str) -> str | None:
    """Return the value of a catalogue's `Plural-Forms` field; None for a language that Babel lacks."""
    locale = _locale(language)
    if locale is None:
        return None
    number, expression = get_plural(locale)
    return f"nplurals={number}; plural={expression};"


def _locale(language: str) -> Locale | None:
    try:
        return Locale.parse(language, sep="-")
    except (UnknownLocaleError, ValueError):
        return None
