"""Names of people, towns, streets and products, which a translation copies. Many of them are words, too."""

import string
from random import Random

from training.variants.drawing import Maker, Weighted, pick, sectioned_list, words
from training.variants.formats import Bilingual, bilingual_list

_BY_KIND = {kind: tuple(", ".join(lines).split(", ")) for kind, lines in sectioned_list("names").items()}
FIRST_NAMES, LAST_NAMES, TOWNS = (_BY_KIND[kind] for kind in ("first names", "last names", "towns"))
EXONYMS = bilingual_list("exonyms")
"""Towns with another name in the other language."""
SHARE_OF_EXONYMS = 0.15
_BRANDS = _BY_KIND["brands"]
_NOUNS = [line.split(" ", maxsplit=3) for lines in sectioned_list("nouns").values() for line in lines]
WORDS_AS_NAMES = tuple(
    word for _, noun, _, translation in _NOUNS for word in (noun, translation.title()) if word.isalpha()
)
"""Nouns of both languages: after a title, any word with a capital is a name."""

_STARTS = words(
    "Ahorn Alten Bären Berg Birken Blumen Brunnen Buchen Eichen Eisen Erlen Falken Feld Fuchs Garten"
)
_STARTS += words(
    "Hasel Hirsch Hohen Kirch Klein Königs Linden Mühlen Neuen Nieder Ober Rosen Schön Silber Sonnen"
)
_STARTS += words("Stein Tannen Ulmen Vogel Wald Weiden Wein Wiesen Winter Wolfs Zeller")
_GERMAN_FAMILY = words(
    "auer bach bauer baum berg berger feld hammer hofer huber mann mayer meier müller stein"
)
_GERMAN_TOWN = words(
    "au bach berg brück burg dorf feld furt hagen hausen heim hofen kirchen ried stadt stedt"
)
_GERMAN_TOWN += words("tal walde")
_GERMAN_STREET = words("allee gasse platz ring steig straße straße straße weg weg")
_ENGLISH_STARTS = words(
    "Ash Black Brad Broad Burn Clay Cold East Green Hart Kirk Lang Mar Nor Oak Old Red Ridge"
)
_ENGLISH_STARTS += words("Shel South Stan Stone Stow Swin Thorn Wal Water West Whit Win Wood")
_ENGLISH_TOWN = words(
    "bourne bridge bury by combe dale field ford ham ley mere mouth stead thorpe ton well wick"
)
_ENGLISH_FAMILY = words("bury ford man ridge son ston ton well wood worth")
_ENGLISH_STREET = words("Avenue Close Court Drive Lane Road Road Square Street Street Way")


def first_name(rng: Random) -> str:
    return rng.choice(FIRST_NAMES)


def last_name(rng: Random) -> str:
    """Draw a family name or a word, make one of two parts, or join two."""
    kinds: Weighted[Maker[str]] = (
        (8, lambda rng: rng.choice(LAST_NAMES)),
        (4, lambda rng: rng.choice(WORDS_AS_NAMES)),
        (2, lambda rng: rng.choice(_STARTS) + rng.choice(_GERMAN_FAMILY)),
        (1, lambda rng: rng.choice(_ENGLISH_STARTS) + rng.choice(_ENGLISH_FAMILY)),
        (1, lambda rng: f"{rng.choice(LAST_NAMES)}-{rng.choice(LAST_NAMES)}"),
    )
    return pick(rng, kinds)(rng)


def full_name(rng: Random) -> str:
    return f"{first_name(rng)} {last_name(rng)}"


def town(rng: Random) -> str:
    """Draw a town whose name is the same in both languages, or make one."""
    kinds: Weighted[Maker[str]] = (
        (6, lambda rng: rng.choice(TOWNS)),
        (2, lambda rng: rng.choice(_STARTS) + rng.choice(_GERMAN_TOWN)),
        (1, lambda rng: rng.choice(_ENGLISH_STARTS) + rng.choice(_ENGLISH_TOWN)),
    )
    return pick(rng, kinds)(rng)


def town_in_both(rng: Random) -> Bilingual:
    """Draw a town, sometimes one with another name in the other language."""
    return rng.choice(EXONYMS) if rng.random() < SHARE_OF_EXONYMS else Bilingual.alike(town(rng))


def street(rng: Random) -> str:
    """Make a street, German or English."""
    if rng.random() < 1 / 3:
        return f"{rng.choice((*LAST_NAMES, *TOWNS))} {rng.choice(_ENGLISH_STREET)}"
    ending = rng.choice(_GERMAN_STREET)
    if rng.random() < 1 / 3:
        return f"{full_name(rng).replace(' ', '-')}-{ending.capitalize()}"
    return rng.choice(_STARTS) + ending


def street_address(rng: Random) -> str:
    """Make a street with a number, where its language has it."""
    name, number = street(rng), str(rng.randint(1, 199))
    is_german = name.lower().endswith(_GERMAN_STREET)
    return f"{name} {number}" if is_german else f"{number} {name}"


def product(rng: Random) -> str:
    """Draw a brand, half of them with a model."""
    brand = rng.choice(_BRANDS)
    letters = "".join(rng.choices(string.ascii_uppercase, k=rng.choice((0, 0, 1, 2))))
    model = f" {letters}{rng.choice((rng.randint(1, 20), 10 * rng.randint(2, 999)))}"
    return brand + (model if rng.random() < 1 / 2 else "")


def any_name(rng: Random) -> str:
    return pick(rng, _NAMES)(rng)


_NAMES: Weighted[Maker[str]] = (
    (5, first_name),
    (5, last_name),
    (4, full_name),
    (3, town),
    (1, street),
    (1, product),
)
