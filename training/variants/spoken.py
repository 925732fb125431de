"""Numbers and times of a source in words, as they are spoken; the target keeps its digits."""

# ruff: noqa: PLR2004 -- hours, minutes and years mean themselves
# ruff: noqa: RUF001 -- a minus sign

import re
from collections.abc import Callable
from random import Random

from training.config import ENGLISH, GERMAN
from training.corpus import TextPair
from training.variants.drawing import words
from training.variants.formats import SMALL_NUMBERS, UNITS, Bilingual, in_words, whole
from training.variants.tokens import is_code

NOON = 12
SHARE_BRITISH_HALF = 0.25
"""Share of half hours that British speakers call `half seven`."""
_YEARS = range(1100, 2100)

_NUMBER = r"""
    (?<![\w.,:/%$€£#+~^&*=<({{-])(?<![$€£°]\ )(?<!\d\ )
    (?P<sign>[-−])?(?P<digits>\d{{1,3}}[.,]\d{{3}}|\d{{1,6}})(?P<ordinal>{ordinal})?+
    (?![\w%°€$£:/)}}+*=-]|[.,]\d|\ [%°€$£\d]|\ ?(?:{units})\b)
"""
_NUMBERS = {
    language: re.compile(_NUMBER.format(ordinal=ordinal, units="|".join(UNITS)), re.VERBOSE)
    for language, ordinal in ((GERMAN, r"\.(?=\ [^\W\d_])"), (ENGLISH, "st|nd|rd|th"))
}
_WRITTEN = re.compile(r"(?<=\d)(?:[.,:](?=\d)|st\b|nd\b|rd\b|th\b)")
"""Parts of numbers that look like code."""
MIN_WORDS = 3
_MONTH = re.compile(
    "^(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)|(?:uary|March|April|May|June|July|August|ber) $"
)
_BEFORE_YEAR = frozenset(words("in seit since jahr jahre year until bis ab im von from by of summer sommer"))
_BEFORE_WEAK_ORDINAL = frozenset(words("am im zum vom beim dem den des"))
_GERMAN_ORDINALS = {1: "erste", 3: "dritte", 7: "siebte", 8: "achte"}
_ENGLISH_ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
} | {
    "nine": "ninth",
    "twelve": "twelfth",
}
_TIME = {
    GERMAN: re.compile(r"(?<![\w.,:-])(?P<hour>[01]?\d|2[0-3])[:.](?P<minute>[0-5]\d) Uhr\b"),
    ENGLISH: re.compile(r"(?<![\w.,:-])(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)(?![\d:]| ?[ap]\.?m)"),
}
_DAY_PARTS = (
    (5, "nachts", "in the morning"),
    (12, "morgens", "in the morning"),
    (18, "nachmittags", "in the afternoon"),
    (22, "abends", "in the evening"),
    (24, "nachts", "at night"),
)
"""The first hour after each part of the day, and its names."""


def number_words(pair: TextPair, rng: Random, language: str) -> str | None:
    """Write a number of the source in words if the target has it in digits, once."""
    if language not in _NUMBERS or is_code(_WRITTEN.sub("", pair.source)):
        return None
    if len(pair.source.split()) < MIN_WORDS:
        return None
    found = [
        (match.span(), text)
        for match in _NUMBERS[language].finditer(pair.source)
        if (text := _spoken(match, pair, rng, language)) is not None
    ]
    if not found:
        return None
    (begin, end), text = rng.choice(found)
    return _put(text, pair.source, begin, end)


def spoken_times(pair: TextPair, rng: Random, language: str) -> str | None:
    """Write a time of the source as it is spoken, or with a.m. and p.m., if the target has it in digits."""
    pattern = _TIME.get(language)
    matches = [] if pattern is None else list(pattern.finditer(pair.source))
    if len(matches) != 1 or not _has_time(pair.target, matches[0]):
        return None
    (match,) = matches
    speak = _german_time if language == GERMAN else _english_time
    text = speak(int(match["hour"]), int(match["minute"]), rng)
    return _put(text, pair.source, *match.span())


def _put(text: str, source: str, begin: int, end: int) -> str:
    """Replace part of a source, with a capital where a sentence begins and one full stop where it ends."""
    if begin == 0 or re.search("[.!?] $", source[:begin]):
        text = text[0].upper() + text[1:]
    if text.endswith(".") and source.startswith(".", end):
        end += 1
    return source[:begin] + text + source[end:]


def _spoken(match: re.Match[str], pair: TextPair, rng: Random, language: str) -> str | None:
    """Return a number in words; None if it might be something else than a number."""
    value = int(re.sub("[.,]", "", match["digits"]))
    separator = re.sub(r"\d", "", match["digits"])
    if value == 1 or separator not in {"", "." if language == GERMAN else ","}:
        return None
    if not _has_number(pair.target, value, is_negative=match["sign"] is not None):
        return None
    before = pair.source[: match.start()]
    last_word = before.split()[-1].lower() if before else ""
    if match["ordinal"]:
        return (_german_ordinal if language == GERMAN else _english_ordinal)(value, last_word, rng)
    is_beside_month = bool(_MONTH.search(pair.source[match.end() + 1 :]) or _MONTH.search(before))
    if value in _YEARS and not separator and not match["sign"]:
        following = pair.source[match.end() : match.end() + 2]
        if last_word in _BEFORE_YEAR or is_beside_month or (language == GERMAN and following[1:].islower()):
            return _year(value, rng, language)
        is_beside_month = not following[1:].isalpha()
    if is_beside_month:
        return None
    spoken = in_words(value, rng)
    return ("minus " if match["sign"] else "") + (spoken.german if language == GERMAN else spoken.english)


def _has_number(text: str, value: int, *, is_negative: bool) -> bool:
    sign = "(?:[-−]|minus )" if is_negative else r"(?<![\w.,:/-])"
    forms = {str(value), whole(value).german, whole(value).english}
    pattern = sign + f"(?:{'|'.join(map(re.escape, forms))})" + r"(?:st|nd|rd|th)?(?![\w:/]|[.,]\d)"
    return len(re.findall(pattern, text)) == 1


def _german_ordinal(value: int, before: str, rng: Random) -> str | None:
    """Return an ordinal number after a word that shows its ending."""
    if before not in _BEFORE_WEAK_ORDINAL and before != "das":
        return None
    rest = value % 100
    if rest in _GERMAN_ORDINALS:
        ordinal = (
            in_words(value, rng).german.removesuffix(SMALL_NUMBERS[rest].german) + _GERMAN_ORDINALS[rest]
        )
    else:
        ordinal = in_words(value, rng).german + ("te" if 0 < rest < len(SMALL_NUMBERS) else "ste")
    return ordinal if before == "das" else f"{ordinal}n"


def _english_ordinal(value: int, _before: str, rng: Random) -> str:
    start, last = re.fullmatch("(.*?)([a-z]+)", in_words(value, rng).english).groups()  # type: ignore[union-attr]
    ordinal = _ENGLISH_ORDINALS.get(last, f"{re.sub('y$', 'ie', last)}th")
    return start + ordinal


def _year(value: int, rng: Random, language: str) -> str:
    century, rest = divmod(value, 100)
    if century == 20 and (rest < 10 or language == GERMAN):
        spoken = in_words(value, rng)
        return spoken.german if language == GERMAN else spoken.english
    hundreds, ones = in_words(century, rng), in_words(rest, rng)
    if language == GERMAN:
        return f"{hundreds.german}hundert{ones.german if rest else ''}"
    if rest == 0:
        return f"{hundreds.english} hundred"
    return f"{hundreds.english} {'oh ' if rest < 10 else ''}{ones.english}"


def _has_time(text: str, match: re.Match[str]) -> bool:
    pattern = rf"(?<![\d:])0?{int(match['hour'])}[:.]{match['minute']}(?![\d:])"
    return len(re.findall(pattern, text)) == 1


def _german_time(hour: int, minute: int, rng: Random) -> str:
    hours = [_hour(hour + step, lambda number: number.german) for step in (0, 1)]
    full = "ein" if hours[0] == "eins" else hours[0]
    spoken = {
        0: f"{full} Uhr",
        5: f"fünf nach {hours[0]}",
        10: f"zehn nach {hours[0]}",
        15: f"{rng.choice(('Viertel', 'Viertel', 'viertel'))} nach {hours[0]}",
        20: f"zwanzig nach {hours[0]}",
        25: f"fünf vor halb {hours[1]}",
        30: f"halb {hours[1]}",
        35: f"fünf nach halb {hours[1]}",
        40: f"zwanzig vor {hours[1]}",
        45: rng.choice((f"Viertel vor {hours[1]}", f"viertel vor {hours[1]}", f"dreiviertel {hours[1]}")),
        50: f"zehn vor {hours[1]}",
        55: f"fünf vor {hours[1]}",
    }.get(minute, f"{full} Uhr {in_words(minute, rng).german}")
    return _with_day_part(spoken, hour, rng, language=GERMAN)


def _english_time(hour: int, minute: int, rng: Random) -> str:
    if rng.random() < 1 / 2:
        half = rng.choice((("am", "pm"), ("a.m.", "p.m."), ("AM", "PM")))[hour >= NOON]
        minutes = "" if minute == 0 and rng.random() < 2 / 3 else f":{minute:02d}"
        return f"{(hour - 1) % NOON + 1}{minutes}{rng.choice((' ', ' ', ''))}{half}"
    first, following = (_hour(hour + step, lambda number: number.english) for step in (0, 1))
    past, to = (in_words(minutes, rng).english for minutes in (minute, 60 - minute))
    half = "half" if rng.random() < SHARE_BRITISH_HALF else "half past"
    quarter = rng.choice(("quarter", "a quarter"))
    named = {0: f"{first} o'clock", 15: f"{quarter} past {first}", 30: f"{half} {first}"}
    named[45] = f"{quarter} to {following}"
    if minute in named:
        spoken = named[minute]
    elif minute % 5 == 0:
        spoken = f"{past} past {first}" if minute < 30 else f"{to} to {following}"
    else:
        spoken = f"{first} {'oh ' if minute < 10 else ''}{past}"
    return _with_day_part(spoken, hour, rng, language=ENGLISH)


def _hour(hour: int, of_language: Callable[[Bilingual], str]) -> str:
    return of_language(SMALL_NUMBERS[(hour - 1) % NOON + 1])


def _with_day_part(spoken: str, hour: int, rng: Random, *, language: str) -> str:
    """Add the part of the day: always from noon on, where the hour alone is another one."""
    german, english = next((german, english) for end, german, english in _DAY_PARTS if hour < end)
    is_needed = hour > NOON or hour == 0
    if not is_needed and rng.random() < 2 / 3:
        return spoken
    if hour == NOON:
        return spoken
    return f"{spoken} {german if language == GERMAN else english}"
