"""German noun phrases and pronouns in all genders, cases and both numbers, with their English translation."""

import re
from dataclasses import dataclass

from training.variants.formats import Bilingual

_VOWELS = re.compile("[aeiouäöüy]+", re.IGNORECASE)
_SIBILANTS = ("s", "ß", "x", "z", "sch", "st")
_CASES = {"er": "nominative", "en": "accusative", "em": "dative", "es": "genitive"}
"""Case of a determiner by its ending in the masculine singular."""
_STRONG = {
    "nominative": {"m": "er", "f": "e", "n": "es", "p": "e"},
    "accusative": {"m": "en", "f": "e", "n": "es", "p": "e"},
    "dative": {"m": "em", "f": "er", "n": "em", "p": "en"},
    "genitive": {"m": "es", "f": "er", "n": "es", "p": "er"},
}
_DEFINITE = {
    "nominative": {"m": "der", "f": "die", "n": "das", "p": "die"},
    "accusative": {"m": "den", "f": "die", "n": "das", "p": "die"},
    "dative": {"m": "dem", "f": "der", "n": "dem", "p": "den"},
    "genitive": {"m": "des", "f": "der", "n": "des", "p": "der"},
}
_CONTRACTED = {
    "im": {"m": "im", "f": "in der", "n": "im", "p": "in den"},
    "am": {"m": "am", "f": "an der", "n": "am", "p": "an den"},
    "zum": {"m": "zum", "f": "zur", "n": "zum", "p": "zu den"},
}
_LIKE_EIN = frozenset({"ein", "kein", "mein", "dein", "sein", "ihr", "unser"})
_WITHOUT_ENDING = frozenset({("m", "nominative"), ("n", "nominative"), ("n", "accusative")})
"""Genders and cases of ein, kein, mein without an ending, after which an adjective has the strong one."""
_PRONOUNS = {
    "er": {"m": "er", "f": "sie", "n": "es", "p": "sie"},
    "ihn": {"m": "ihn", "f": "sie", "n": "es", "p": "sie"},
    "ihm": {"m": "ihm", "f": "ihr", "n": "ihm", "p": "ihnen"},
}
_ENGLISH_PRONOUNS = {
    "he": {"m": "he", "f": "she", "n": "it", "p": "they"},
    "him": {"m": "him", "f": "her", "n": "it", "p": "them"},
}
_ENGLISH_PLURALS = {"this": "these", "that": "those"}


@dataclass(frozen=True, slots=True)
class Noun:
    """A German noun with its translation; `plural` is None for a noun without plural."""

    german: str
    gender: str
    plural: str | None
    english: str
    english_plural: str
    groups: tuple[str, ...]
    is_weak: bool = False
    is_always_plural: bool = False
    """Whether the translation has no singular: `scissors`."""

    @property
    def is_countable(self) -> bool:
        return self.plural is not None and self.gender != "p"


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun in one number, with an adjective."""

    noun: Noun
    is_plural: bool
    adjective: Bilingual

    @property
    def gender(self) -> str:
        return "p" if self.is_plural else self.noun.gender

    @property
    def is_plural_in_english(self) -> bool:
        return self.noun.is_always_plural or (self.is_plural and self.noun.is_countable)

    def in_german(self, slot: str) -> str:
        """Return the noun phrase or pronoun of a slot."""
        first, *rest = slot.split(" ")
        if not rest:
            return _like(first, _PRONOUNS[first.lower()][self.gender])
        case = _case_of(first.lower())
        determiner, ending = self._determiner(first.lower(), case)
        words = [determiner] if determiner else []
        for word in rest[:-1]:
            # A fixed adjective is written with the weak ending of its masculine form.
            base = self.adjective.german if word == "A" else word.removesuffix(_weak_ending("m", case))
            words.append(_stem(base) + ending)
        return _like(first, " ".join([*words, self._german_noun(case)]))

    def in_english(self, slot: str) -> str:
        """Return the noun phrase or pronoun of a slot."""
        first, *rest = slot.split(" ")
        gender = "p" if self.is_plural_in_english else self.noun.gender
        if first.lower() in _ENGLISH_PRONOUNS:
            return _like(first, _ENGLISH_PRONOUNS[first.lower()][gender])
        noun = self.noun.english_plural if self.is_plural_in_english else self.noun.english
        words = [self.adjective.english if word == "A" else word for word in rest[:-1]]
        phrase = " ".join([*words, noun])
        determiner = first.lower()
        if not rest:
            return noun
        if determiner == "a":
            return _like(first, self._indefinite(phrase))
        if self.is_plural_in_english:
            determiner = _ENGLISH_PLURALS.get(determiner, determiner)
        return _like(first, f"{determiner} {phrase}")

    def _indefinite(self, phrase: str) -> str:
        if self.noun.is_always_plural and self.noun.is_countable and not self.is_plural:
            return f"a pair of {phrase}"
        if self.is_plural_in_english or not self.noun.is_countable:
            return phrase
        return f"an {phrase}" if re.match("(?!u(?:ni|se))[aeiouAEI]", phrase) else f"a {phrase}"

    def _german_noun(self, case: str) -> str:
        noun = self.noun
        if self.is_plural:
            plural = noun.plural or noun.german
            return plural + "n" if case == "dative" and plural[-1] not in "ns" else plural
        if noun.is_weak and case != "nominative":
            return noun.plural or noun.german
        if case == "genitive" and noun.gender in "mn":
            is_long = len(_VOWELS.findall(noun.german)) == 1 or noun.german.endswith(_SIBILANTS)
            return noun.german + ("es" if is_long else "s")
        return noun.german

    def _determiner(self, first: str, case: str) -> tuple[str, str]:
        """Return a masculine determiner's form for this phrase, and the ending of an adjective after it."""
        gender = self.gender
        stem = _stem_of(first)
        weak, strong = _weak_ending(gender, case), _STRONG[case][gender]
        if first == "-" or (stem == "ein" and (gender == "p" or not self.noun.is_countable)):
            return "", "en" if strong == "es" and case == "genitive" else strong
        if first in _CONTRACTED:
            return _CONTRACTED[first][gender], weak
        if stem == "d":
            return _DEFINITE[case][gender], weak
        if stem in _LIKE_EIN and (gender, case) in _WITHOUT_ENDING:
            return stem, strong
        return stem + strong, weak


def _stem_of(determiner: str) -> str:
    """Return a masculine determiner without its ending: `d`, `dies`, `ein`."""
    return determiner if determiner in _LIKE_EIN else re.sub("e[rnms]$", "", determiner)


def _case_of(determiner: str) -> str:
    """Return the case that a masculine determiner has; nominative and accusative are alike without one."""
    if determiner in _CONTRACTED:
        return "dative"
    return "nominative" if determiner in {*_LIKE_EIN, "-"} else _CASES[determiner[-2:]]


def _weak_ending(gender: str, case: str) -> str:
    """Return the ending of an adjective after a determiner that shows gender and case."""
    is_short = case == "nominative" or (case == "accusative" and gender in "fn")
    return "e" if is_short and gender != "p" else "en"


def _stem(adjective: str) -> str:
    """Return an adjective as it is before an ending: `teur`, `müd`."""
    return re.sub("euer$", "eur", adjective).removesuffix("e")


def _like(pattern: str, text: str) -> str:
    return text[:1].upper() + text[1:] if pattern[:1].isupper() else text


def english_plural_of(noun: str) -> str:
    """Return the regular plural of an English noun."""
    if re.search("[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    if noun.endswith(("s", "x", "ch", "sh", "potato", "tomato", "mosquito")):
        return f"{noun}es"
    return f"{noun}s"
