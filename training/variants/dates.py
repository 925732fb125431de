"""Dates in many formats, in German and English. Dates in figures only are copied: `12.03.2024` stays.

Weekdays match their dates.
"""

# ruff: noqa: RUF001 -- dashes as they are printed

from datetime import date, timedelta
from random import Random

from training.variants.drawing import Maker, Weighted, pick
from training.variants.formats import Bilingual, bilingual_list

WEEKDAYS = bilingual_list("weekdays")
MONTHS = bilingual_list("months")
_FIRST = date(1900, 1, 1)
_RECENT = date(1990, 1, 1)
_LAST = date(2039, 12, 31)
_SEASONS = (
    Bilingual("Frühling", "spring"),
    Bilingual("Sommer", "summer"),
    Bilingual("Herbst", "autumn"),
    Bilingual("Winter", "winter"),
)


def any_date(rng: Random) -> Bilingual:
    """Make a date, a part of one or a range of dates."""
    return pick(rng, _SHAPES)(rng)


def day(rng: Random) -> date:
    """Draw a day up to 2039: from 1990 on with a probability of 3/4, else from 1900 on."""
    first = _RECENT if rng.random() < 3 / 4 else _FIRST
    return first + timedelta(days=rng.randrange((_LAST - first).days + 1))


def day_and_month(rng: Random) -> Bilingual:
    """Make a date without a year."""
    return _short(day(rng), rng)


def full_date(rng: Random) -> Bilingual:
    """Make a date with its year. One in five English dates has the month first, as Americans write it."""
    return _full(day(rng), rng)


def weekday_and_date(rng: Random) -> Bilingual:
    when = day(rng)
    weekday = WEEKDAYS[when.weekday()]
    rest = _full(when, rng) if rng.random() < 1 / 2 else _short(when, rng)
    return Bilingual(f"{weekday.german}, {rest.german}", f"{weekday.english}, {rest.english}")


def month_and_year(rng: Random) -> Bilingual:
    when = day(rng)
    month = MONTHS[when.month - 1]
    return Bilingual(f"{month.german} {when.year}", f"{month.english} {when.year}")


def in_figures(rng: Random) -> Bilingual:
    """Make a date in figures, which is the same in both languages."""
    when = day(rng)
    shape = rng.choice(
        ("%d.%m.%Y", "%d.%m.%Y", "%d.%m.%y", "%Y-%m-%d", "%d/%m/%Y", "%Y-%m-%dT%H:%M", "%d.%m.")
    )
    return Bilingual.alike(when.strftime(shape))


def name_alone(rng: Random) -> Bilingual:
    return rng.choice((*WEEKDAYS, *MONTHS))


def phrase(rng: Random) -> Bilingual:
    """Make a phrase with a weekday, a month, a year or a date."""
    weekday, month, season = rng.choice(WEEKDAYS), rng.choice(MONTHS), rng.choice(_SEASONS)
    when, year = _full(day(rng), rng), day(rng).year
    return rng.choice(
        (
            Bilingual(f"am {weekday.german}", f"on {weekday.english}"),
            Bilingual(f"jeden {weekday.german}", f"every {weekday.english}"),
            Bilingual(f"nächsten {weekday.german}", f"next {weekday.english}"),
            Bilingual(f"letzten {weekday.german}", f"last {weekday.english}"),
            Bilingual(f"im {month.german}", f"in {month.english}"),
            Bilingual(f"im {month.german} {year}", f"in {month.english} {year}"),
            Bilingual(f"seit {month.german} {year}", f"since {month.english} {year}"),
            Bilingual(f"seit {year}", f"since {year}"),
            Bilingual(f"am {when.german}", f"on {when.english}"),
            Bilingual(f"bis zum {when.german}", f"until {when.english}"),
            Bilingual(f"im {season.german} {year}", f"in the {season.english} of {year}"),
            Bilingual(f"in den {year // 10 * 10}er Jahren", f"in the {year // 10 * 10}s"),
        )
    )


def span(rng: Random) -> Bilingual:
    """Make a range of days in a month, or of years."""
    when = day(rng)
    if rng.random() < 1 / 3:
        years = f"{when.year}–{when.year + rng.randint(1, 30)}"
        return Bilingual.alike(years)
    first, month = rng.randint(1, 20), MONTHS[when.month - 1]
    last = first + rng.randint(1, 8)
    return Bilingual(f"{first}. bis {last}. {month.german}", f"{first} to {last} {month.english}")


def _full(when: date, rng: Random) -> Bilingual:
    month = MONTHS[when.month - 1]
    american = f"{month.english} {when.day}, {when.year}"
    british = f"{when.day} {month.english} {when.year}"
    english = american if rng.random() < 1 / 5 else british
    return Bilingual(f"{when.day}. {month.german} {when.year}", english)


def _short(when: date, rng: Random) -> Bilingual:
    month = MONTHS[when.month - 1]
    is_american = rng.random() < 1 / 5
    english = f"{month.english} {when.day}" if is_american else f"{when.day} {month.english}"
    return Bilingual(f"{when.day}. {month.german}", english)


_SHAPES: Weighted[Maker[Bilingual]] = (
    (4, full_date),
    (2, day_and_month),
    (2, weekday_and_date),
    (2, month_and_year),
    (3, in_figures),
    (2, name_alone),
    (3, phrase),
    (1, span),
)
