"""Dates in many formats, in German and English. Dates in figures only are copied: `12.03.2024` stays.

Weekdays match their dates.
"""

# ruff: noqa: RUF001 -- dashes as they are printed

from datetime import date, timedelta
from random import Random

from training.variants.formats import Bilingual, bilingual_list

WEEKDAYS = bilingual_list("weekdays")
MONTHS = bilingual_list("months")
_FIRST = date(1900, 1, 1)
_RECENT = date(1990, 1, 1)
_LAST = date(2039, 12, 31)


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
    written = _full if rng.random() < 1 / 2 else _short
    return WEEKDAYS[when.weekday()] + ", " + written(when, rng)


def in_figures(rng: Random) -> Bilingual:
    """Make a date in figures, which is the same in both languages."""
    when = day(rng)
    shape = rng.choice(
        ("%d.%m.%Y", "%d.%m.%Y", "%d.%m.%y", "%Y-%m-%d", "%d/%m/%Y", "%Y-%m-%dT%H:%M", "%d.%m.")
    )
    return Bilingual.alike(when.strftime(shape))


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
