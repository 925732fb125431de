"""Sentences with everyday nouns: frames in German and English, whose slots are noun phrases and pronouns.

A line of `word_lists/nouns.txt` is an article (`r`, `e`, `s` for der, die, das; `R` for a weak masculine
noun; `p` for a plural without singular), the noun, its plural and its translation. The plural is an ending,
after `"` with an umlaut, or the whole word; `-` is the same form and `0` no plural. The translation may end
in `+`, if it is always plural, or be followed by `/` and an irregular plural. The heading of a section lists
the groups of frames that fit its nouns.

A slot between < and > of `word_lists/noun_frames.txt` is a noun phrase or pronoun in its masculine singular
form, which says its case: `<einen A N>` is the noun N (or M, another noun of its section) with an adjective
A, `<ihn>` is the pronoun. `[ist|sind]` is the form for singular and plural. `sg:`, `pl:` and `mass:` limit a
frame to nouns in the singular, in the plural, or without plural. `#` is a number.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from random import Random

from training.corpus import TextPair
from training.variants.drawing import stream, word_list
from training.variants.formats import SMALL_NUMBERS, Bilingual
from training.variants.frames import fill_slots

SHARE_PLURAL = 0.35
SHARE_OF_COUNT_IN_DIGITS = 1 / 3

_SLOT = re.compile("<([^>]+)>")
_FORMS = re.compile(r"\[([^|\]]*)\|([^\]]*)\]")
_VOWEL = re.compile("au|a|o|u")
_VOWELS = re.compile("[aeiouäöüy]+", re.IGNORECASE)
_SIBILANTS = ("s", "ß", "x", "z", "sch", "st")
_UMLAUTS = {"au": "äu", "a": "ä", "o": "ö", "u": "ü"}
_GENDERS = {"r": "m", "R": "m", "e": "f", "s": "n", "p": "p"}
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
class Frame:
    limit: str
    """`sg`, `pl`, `mass`, or empty."""
    german: str
    english: str


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


def read_nouns() -> tuple[Noun, ...]:
    """Read the nouns of `word_lists/`."""
    return tuple(
        _noun(line, tuple(heading.split())) for heading, lines in _sections("nouns").items() for line in lines
    )


def _noun(line: str, groups: tuple[str, ...]) -> Noun:
    article, german, plural, english = line.split(" ", maxsplit=3)
    is_always_plural = english.endswith("+")
    singular, _, english_plural = english.removesuffix("+").partition("/")
    german_plural = _plural(german, plural)
    is_weak = article == "R" or (article == "r" and german.endswith("e") and plural == "n")
    return Noun(
        german,
        _GENDERS[article],
        german_plural,
        singular,
        singular if is_always_plural else english_plural or english_plural_of(singular),
        groups,
        is_weak,
        is_always_plural,
    )


def _plural(noun: str, plural: str) -> str | None:
    if plural == "0":
        return None
    if plural[0].isupper():
        return plural
    if plural.startswith('"'):
        *_, last = _VOWEL.finditer(noun.lower())
        umlaut = _UMLAUTS[last.group()]
        umlaut = umlaut.capitalize() if last.start() == 0 else umlaut
        noun = noun[: last.start()] + umlaut + noun[last.end() :]
    return noun + plural.strip('"-')


def english_plural_of(noun: str) -> str:
    """Return the regular plural of an English noun."""
    if re.search("[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    if noun.endswith(("s", "x", "ch", "sh", "potato", "tomato", "mosquito")):
        return f"{noun}es"
    return f"{noun}s"


def _sections(name: str) -> Mapping[str, list[str]]:
    """Read a word list with headings between brackets."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in word_list(name):
        if heading := re.fullmatch(r"\[([a-z ]+)\]", line):
            lines = found.setdefault(heading[1], [])
        else:
            lines.append(line)
    return found


def noun_sentences(readings: int, seed: int, source_language: str) -> Iterator[TextPair]:
    """Yield sentences in which each noun is drawn `readings` times; all nouns come before any comes again."""
    rng = stream(seed, "nouns")
    book = _Frames()
    nouns = list(read_nouns())
    for _ in range(readings):
        rng.shuffle(nouns)
        for noun in nouns:
            yield book.sentence(noun, rng).to_pair(source_language)


class _Frames:
    """The frames, and the adjectives and other nouns that fill their slots."""

    def __init__(self) -> None:
        self._frames = {
            group: [_frame(line) for line in lines] for group, lines in _sections("noun_frames").items()
        }
        self._adjectives = {
            group: [Bilingual(*line.split(" = ")) for line in lines]
            for group, lines in _sections("adjectives").items()
        }
        self._neighbours: dict[tuple[str, ...], list[Noun]] = {}
        for noun in read_nouns():
            self._neighbours.setdefault(noun.groups, []).append(noun)

    def sentence(self, noun: Noun, rng: Random) -> Bilingual:
        """Fill a frame that fits the noun."""
        frames = self._frames[rng.choice(noun.groups)]
        frame = rng.choice([frame for frame in frames if frame.limit in _limits(noun)])
        is_plural = frame.limit == "pl" or (frame.limit == "" and rng.random() < SHARE_PLURAL)
        others = [other for other in self._neighbours[noun.groups] if other.english != noun.english]
        phrases = {
            "N": self._phrase(noun, rng, is_plural=is_plural),
            "M": self._phrase(rng.choice(others), rng, is_plural=is_plural),
        }
        return fill_slots(_inflected(frame, phrases, rng), rng)

    def _phrase(self, noun: Noun, rng: Random, *, is_plural: bool) -> Phrase:
        group = next(group for group in reversed(noun.groups) if group in self._adjectives)
        adjective = rng.choice(self._adjectives[group])
        return Phrase(noun, noun.gender == "p" or (is_plural and noun.is_countable), adjective)


def _limits(noun: Noun) -> frozenset[str]:
    """Return the limits of the frames that fit a noun."""
    if noun.is_countable:
        return frozenset({"", "sg", "pl"})
    return frozenset({"", "mass"})


def _frame(line: str) -> Frame:
    limit, text = re.fullmatch("(?:(sg|pl|mass): )?(.*)", line, re.DOTALL).groups("")  # type: ignore[union-attr]
    return Frame(limit, *text.split(" = "))


def _inflected(frame: Frame, phrases: Mapping[str, Phrase], rng: Random) -> Bilingual:
    """Put nouns, pronouns, the forms that agree with the first noun, and numbers into a frame."""
    first = phrases["N"]
    german = _SLOT.sub(lambda slot: _phrase_of(slot[1], phrases).in_german(slot[1]), frame.german)
    english = _SLOT.sub(lambda slot: _phrase_of(slot[1], phrases).in_english(slot[1]), frame.english)
    german = _FORMS.sub(lambda forms: forms[2 if first.is_plural else 1], german)
    english = _FORMS.sub(lambda forms: forms[2 if first.is_plural_in_english else 1], english)
    count = Bilingual.alike(str(rng.randint(2, 99)))
    if rng.random() > SHARE_OF_COUNT_IN_DIGITS:
        count = rng.choice(SMALL_NUMBERS[2:13])
    pairs = " pairs of" if first.noun.is_always_plural else ""
    german, english = german.replace("#", count.german), english.replace("#", count.english + pairs)
    return Bilingual(german[0].upper() + german[1:], english[0].upper() + english[1:])


def _phrase_of(slot: str, phrases: Mapping[str, Phrase]) -> Phrase:
    return phrases["M" if slot.endswith("M") else "N"]
