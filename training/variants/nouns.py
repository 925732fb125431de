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
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from random import Random

from training.corpus import TextPair
from training.variants.drawing import sectioned_list, stream
from training.variants.formats import SMALL_NUMBERS, Bilingual
from training.variants.frames import fill_slots
from training.variants.noun_phrases import Noun, Phrase, english_plural_of

SHARE_PLURAL = 0.35
SHARE_OF_COUNT_IN_DIGITS = 1 / 3
MIN_PART_LEN = 3

_SLOT = re.compile("<([^>]+)>")
_FORMS = re.compile(r"\[([^|\]]*)\|([^\]]*)\]")
_VOWEL = re.compile("au|a|o|u")
_UMLAUTS = {"au": "äu", "a": "ä", "o": "ö", "u": "ü"}
_GENDERS = {"r": "m", "R": "m", "e": "f", "s": "n", "p": "p"}


@dataclass(frozen=True, slots=True)
class Frame:
    limit: str
    """`sg`, `pl`, `mass`, or empty."""
    german: str
    english: str


def read_nouns() -> tuple[Noun, ...]:
    """Read the nouns of `word_lists/`."""
    return tuple(
        _noun(line, tuple(heading.split()))
        for heading, lines in sectioned_list("nouns").items()
        for line in lines
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


def noun_sentences(
    readings: int, seed: int, source_language: str, dictionary: Iterable[TextPair] = ()
) -> Iterator[TextPair]:
    """Yield sentences in which each noun is drawn `readings` times; all nouns come before any comes again.

    Args:
        readings: number of sentences of each noun.
        seed: decides every sentence.
        source_language: language of the sources, German or English.
        dictionary: terms; those that are compounds of two nouns of the list are further nouns.
    """
    rng = stream(seed, "nouns")
    nouns = list(read_nouns())
    nouns += compounds(nouns, (Bilingual.of_pair(pair, source_language) for pair in dictionary))
    book = _Frames(nouns)
    for _ in range(readings):
        rng.shuffle(nouns)
        for noun in nouns:
            yield book.sentence(noun, rng).to_pair(source_language)


class _Frames:
    """The frames, and the adjectives and other nouns that fill their slots."""

    def __init__(self, nouns: Iterable[Noun]) -> None:
        self._frames = {
            group: [_frame(line) for line in lines] for group, lines in sectioned_list("noun_frames").items()
        }
        self._adjectives = {
            group: [Bilingual(*line.split(" = ")) for line in lines]
            for group, lines in sectioned_list("adjectives").items()
        }
        self._neighbours: dict[tuple[str, ...], list[Noun]] = {}
        for noun in nouns:
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


def compounds(nouns: Iterable[Noun], dictionary: Iterable[Bilingual]) -> list[Noun]:
    """Return the terms, such as `Gartenzaun` and `garden fence`, that consist of two of the nouns.

    A compound has the gender, the plural and the groups of its last part; its translation ends in that of the
    last part. The dictionary must have its plural too, so that it is no rare word.
    """
    known = {noun.german: noun for noun in nouns}
    heads = {noun.german.lower(): noun for noun in known.values() if noun.is_countable}
    starts = {
        start
        for noun in known.values()
        for word in (noun.german.lower(), (noun.plural or noun.german).lower())
        for start in (word, f"{word}s", f"{word}n", word.removesuffix("e"))
    }
    terms: dict[str, list[str]] = {}
    for term in dictionary:
        terms.setdefault(term.german, []).append(term.english)
    found: list[Noun] = []
    for german in terms.keys() - known.keys():
        lower = german.lower()
        splits = (end for end in range(MIN_PART_LEN, len(german) - MIN_PART_LEN + 1) if lower[:end] in starts)
        end = next((end for end in splits if lower[end:] in heads), None)
        if end is None:
            continue
        head = heads[lower[end:]]
        plural = german[:end] + (head.plural or "").lower()
        ending = f" {head.english}"
        english = next((term for term in terms[german] if term.endswith(ending) and _is_plain(term)), None)
        if english is not None and plural in terms:
            start = english.removesuffix(head.english)
            found.append(
                replace(
                    head,
                    german=german,
                    plural=plural,
                    english=english,
                    english_plural=start + head.english_plural,
                )
            )
    return sorted(found, key=lambda noun: noun.german)


def _is_plain(term: str) -> bool:
    """Return whether a term is at most three words of letters."""
    return re.fullmatch(r"[a-zA-Z-]+(?: [a-zA-Z-]+){1,2}", term) is not None


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
