"""Numbers, amounts, prices and times as they are written in German and English.

Both sides always have the same number: `14:30 Uhr` is `14:30`, never `2:30 pm`.
"""

import re
import string
from dataclasses import dataclass
from random import Random

from training.config import GERMAN
from training.corpus import TextPair
from training.variants.drawing import Maker, Weighted, pick, word_list, words


@dataclass(frozen=True, slots=True)
class Bilingual:
    """The same text in both languages."""

    german: str
    english: str

    @classmethod
    def alike(cls, text: str) -> "Bilingual":
        return cls(text, text)

    @classmethod
    def of_pair(cls, pair: TextPair, source_language: str) -> "Bilingual":
        """Return the sides of a pair, whose source is German or English."""
        sides = (pair.source, pair.target) if source_language == GERMAN else (pair.target, pair.source)
        return cls(*sides)

    def __add__(self, other: "Bilingual | str") -> "Bilingual":
        """Append a text, or what is the same in both languages."""
        after = Bilingual.alike(other) if isinstance(other, str) else other
        return Bilingual(self.german + after.german, self.english + after.english)

    def to_pair(self, source_language: str) -> TextPair:
        if source_language == GERMAN:
            return TextPair(self.german, self.english)
        return TextPair(self.english, self.german)


def bilingual_list(name: str) -> tuple[Bilingual, ...]:
    """Read a list from `word_lists/`, with lines of `German = English`."""
    return tuple(Bilingual(*line.split(" = ")) for line in word_list(name))


_DECIMALS = (1, 1, 2)
"""Numbers of decimals. Never three: `1.234` is over a thousand in German and just over one in English."""
UNITS = words("km m cm mm kg g mg t l ml km/h °C MB GB TB kB kWh W V Hz GHz m² ha dB px")
HOURS_OF_A_CLOCK = 12
HUNDRED = 100
THOUSAND = 1000
SEPARATED_FROM = 10_000
_COUNTED = bilingual_list("counted")
SMALL_NUMBERS = bilingual_list("numbers")
"""Zero to nineteen."""
_TENS = bilingual_list("tens")
"""Twenty to ninety."""


def whole(value: int) -> Bilingual:
    """Write a whole number with thousands separators."""
    english = f"{value:,}"
    return Bilingual(english.replace(",", "."), english)


def decimal(units: int, places: int) -> Bilingual:
    """Write a decimal number: `units` with its last `places` digits after the decimal sign."""
    english = f"{units // 10**places:,}.{units % 10**places:0{places}d}"
    return Bilingual(english.translate(str.maketrans(",.", ".,")), english)


def any_number(rng: Random) -> Bilingual:
    return pick(rng, _NUMBERS)(rng)


def long_amount(rng: Random) -> Bilingual:
    """Make a number of four to ten digits, often repeated ones, most with separators or decimals."""
    count = rng.randint(3, 9)
    is_repeating = rng.random() < 1 / 2
    rest = repeated_digits(rng, count) if is_repeating else "".join(rng.choices(string.digits, k=count))
    units = int(rng.choice("123456789") + rest)
    number = decimal(units, rng.choice((1, 2, 2))) if rng.random() < 2 / 3 else whole(units)
    if rng.random() < 1 / 3:
        return Bilingual(number.german.replace(".", ""), number.english.replace(",", ""))
    return number


def repeated_digits(rng: Random, count: int) -> str:
    """Make digits of which some follow themselves, such as `3333` or `44700`."""
    digits = ""
    while len(digits) < count:
        digits += rng.choice(string.digits) * rng.choice((1, 2, 2, 3, 3, 4))
    return digits[:count]


def counted(rng: Random) -> Bilingual:
    """Make a number with a plural noun; the number is never one, which needs other forms."""
    number = rng.choice((_small, _small, _separated, _fraction))(rng)
    return number + " " + rng.choice(_COUNTED)


def measure(rng: Random) -> Bilingual:
    """Make a number with the symbol of a unit."""
    number, unit = any_number(rng), rng.choice(UNITS)
    return number + rng.choice((" ", " ", " ", "")) + unit


def percentage(rng: Random) -> Bilingual:
    number = rng.choice((_small, _small, _tens, _fraction))(rng)
    space = rng.choice((" ", " ", ""))
    return Bilingual(f"{number.german}{space}%", f"{number.english}%")


def price(rng: Random) -> Bilingual:
    """Make a price: German puts the sign last, English first, and both put a currency code alike."""
    amount = rng.choice((_cents, _cents, _cents, _separated, _small))(rng)
    sign = rng.choice("€€€$£")
    code = rng.choice(("EUR", "USD", "CHF", "GBP"))
    return pick(
        rng,
        (
            (6, Bilingual(f"{amount.german} {sign}", f"{sign}{amount.english}")),
            (1, amount + f" {code}"),
            (1, Bilingual.alike(f"{code} ") + amount),
        ),
    )


def small_price(rng: Random) -> Bilingual:
    """Make a price below a thousand euros, pounds or dollars, as everyday things have."""
    value, sign = rng.randint(1, rng.choice((9, 99, 999))), rng.choice("€€€$£")
    amount = decimal(100 * value + rng.choice((99, 95, 90, 50, 49)), 2)
    if rng.random() < 1 / 3:
        amount = Bilingual.alike(str(value))
    return Bilingual(f"{amount.german} {sign}", f"{sign}{amount.english}")


def time(rng: Random) -> Bilingual:
    """Make a time on the 24-hour clock, which is the same in both languages."""
    hour, minute = rng.randrange(24), rng.choice((0, 15, 30, 45, rng.randrange(60)))
    return Bilingual.alike(f"{hour:{rng.choice(('02d', 'd'))}}:{minute:02d}{rng.choice(('', '', '', ':00'))}")


def clock(rng: Random) -> Bilingual:
    """Make a full hour: `10 Uhr` is `10 o'clock`, and `15 Uhr` is `15:00`."""
    hour = rng.randint(1, 24)
    english = f"{hour} o'clock" if hour <= HOURS_OF_A_CLOCK else f"{hour}:00"
    return Bilingual(f"{hour} Uhr", english)


def number_word(rng: Random) -> Bilingual:
    """Make a number in words, from `null`, `zero` to `neunundneunzig`, `ninety-nine`."""
    return _below_100(rng.randrange(100))


def in_words(value: int, rng: Random) -> Bilingual:
    """Write a whole number below a million in words, as different speakers do."""
    if value < HUNDRED:
        return _below_100(value)
    german, english, base = (
        ("tausend", "thousand", THOUSAND) if value >= THOUSAND else ("hundert", "hundred", HUNDRED)
    )
    count, rest = divmod(value, base)
    first = in_words(count, rng)
    german_first = re.sub("eins$", "ein", first.german)
    if count == 1 and rng.random() < 1 / 2:
        german_first, first = "", Bilingual("", rng.choice(("a", "one")))
    joint = rng.choice((" and ", " ")) if rest < HUNDRED else rng.choice((" ", ", ", " "))
    last = in_words(rest, rng) if rest else Bilingual("", "")
    return Bilingual(
        f"{german_first}{german}{last.german}",
        f"{first.english} {english}{joint if rest else ''}{re.sub('^a ', 'one ', last.english)}",
    )


def ordinal(rng: Random) -> Bilingual:
    """Make an ordinal number in digits."""
    value = rng.randint(2, rng.choice((12, 31, 99)))
    ending = "th" if value // 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th")
    return Bilingual(f"{value}.", f"{value}{ending}")


def large_count(rng: Random) -> Bilingual:
    """Make a whole number from 2 to 999,999, with separators from 10,000 on and some below."""
    value = rng.randint(2, 10 ** rng.randint(2, 6) - 1)
    return whole(value) if value >= SEPARATED_FROM or rng.random() < 1 / 3 else Bilingual.alike(str(value))


def below_zero(rng: Random) -> Bilingual:
    return Bilingual.alike(f"-{rng.randint(2, 40)}")


def moment(rng: Random) -> Bilingual:
    """Make a time without seconds, mostly with minutes that speakers give a name."""
    hour, minute = rng.randint(0, 23), 5 * rng.randrange(12)
    minute = rng.choice((0, 15, 30, 30, 45, minute, minute, rng.randrange(60)))
    return Bilingual.alike(f"{hour}:{minute:02d}")


def _below_100(value: int) -> Bilingual:
    if value < len(SMALL_NUMBERS):
        return SMALL_NUMBERS[value]
    number, ones = _TENS[value // 10 - 2], value % 10
    if not ones:
        return number
    small = SMALL_NUMBERS[ones]
    first = "ein" if ones == 1 else small.german
    return Bilingual(f"{first}und{number.german}", f"{number.english}-{small.english}")


def _small(rng: Random) -> Bilingual:
    return Bilingual.alike(str(rng.randint(2, 99)))


def _tens(rng: Random) -> Bilingual:
    return Bilingual.alike(str(10 * rng.randint(1, 10)))


def _plain(rng: Random) -> Bilingual:
    """Make a whole number without separators, of up to ten digits."""
    return Bilingual.alike(str(rng.randrange(10 ** rng.choice((1, 2, 3, 4, 4, 5, 6, 8, 10)))))


def _separated(rng: Random) -> Bilingual:
    return whole(rng.randrange(1000, 10 ** rng.choice((4, 5, 6, 7, 9))))


def _fraction(rng: Random) -> Bilingual:
    places = rng.choice(_DECIMALS)
    return decimal(rng.randrange(10 ** (places + rng.choice((1, 1, 2, 3)))), places)


def _cents(rng: Random) -> Bilingual:
    if rng.random() < 1 / 3:
        return decimal(
            100 * rng.randrange(10 ** rng.choice((1, 2, 3, 4))) + rng.choice((99, 95, 90, 50, 0)), 2
        )
    return decimal(rng.randrange(10 ** rng.choice((3, 4, 5, 6, 7))), 2)


def _signed(rng: Random) -> Bilingual:
    return Bilingual.alike(rng.choice("-+-")) + rng.choice((_small, _fraction))(rng)


_NUMBERS: Weighted[Maker[Bilingual]] = (
    (3, _small),
    (3, _plain),
    (3, _separated),
    (3, long_amount),
    (3, _fraction),
    (1, _cents),
    (0.5, _signed),
)
