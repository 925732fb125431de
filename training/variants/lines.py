"""The generated corpus: numbers, dates, things to copy, words and short lines, in German and English."""

from collections.abc import Iterator
from random import Random

from training.corpus import TextPair
from training.variants import dates
from training.variants.abbreviated import word_at_end
from training.variants.drawing import Maker, Weighted, pick, stream
from training.variants.formats import (
    Bilingual,
    any_number,
    bilingual_list,
    clock,
    counted,
    measure,
    number_word,
    percentage,
    price,
    time,
)
from training.variants.frames import INTERFACE, fill_slots, fill_template
from training.variants.verbatim import ALONE

PHRASES = bilingual_list("phrases")
"""Spoken phrases; an exclamation mark or a full stop may follow."""

DATE_PHRASES = bilingual_list("date_phrases")


def generated_pairs(count: int, seed: int, source_language: str) -> Iterator[TextPair]:
    """Yield `count` pairs, not all distinct; the reverse direction has the same pairs with swapped sides."""
    rng = stream(seed, "generated")
    for _ in range(count):
        yield pick(rng, _KINDS)(rng).to_pair(source_language)


def thing_alone(rng: Random) -> Bilingual:
    """Make a line of one thing to copy, or two."""
    first = pick(rng, ALONE)(rng)
    if rng.random() < 1 / 6:
        first += rng.choice((" ", ", ", " / ", ": ")) + pick(rng, ALONE)(rng)
    return Bilingual.alike(first)


def word_alone(rng: Random) -> Bilingual:
    """Draw a label or phrase from the word lists; some get a final punctuation mark."""
    if rng.random() < 1 / 2:
        return rng.choice(PHRASES) + rng.choice(("", "", "!", "."))
    line, mark = rng.choice(INTERFACE), rng.choice(("", "", "", ":"))
    return line + mark if line.german[-1].isalpha() else line


def any_date(rng: Random) -> Bilingual:
    """Make a date, a part of one or a range of dates."""
    return pick(rng, _DATES)(rng)


_DATES: Weighted[Maker[Bilingual]] = (
    (4, dates.full_date),
    (2, dates.day_and_month),
    (2, dates.weekday_and_date),
    (2, lambda rng: rng.choice(dates.MONTHS) + f" {dates.day(rng).year}"),
    (3, dates.in_figures),
    (2, lambda rng: rng.choice((*dates.WEEKDAYS, *dates.MONTHS))),
    (3, lambda rng: fill_slots(rng.choice(DATE_PHRASES), rng)),
    (1, dates.span),
)
_KINDS: Weighted[Maker[Bilingual]] = (
    (9, fill_template),
    (3, thing_alone),
    (2, word_alone),
    (1, word_at_end),
    (2, any_date),
    (1, any_number),
    (1, counted),
    (1, measure),
    (0.5, percentage),
    (1, price),
    (0.5, time),
    (0.5, clock),
    (0.5, number_word),
)
