"""Templates of short lines: buttons, notices, lines of letters and messages.

A word between ⟨ and ⟩ is a slot; both sides get the same filling. Slots whose filling is copied stand where
no inflection depends on them.
"""

import re
from random import Random

from training.variants import dates
from training.variants.drawing import Maker, Weighted, pick
from training.variants.formats import (
    Bilingual,
    any_number,
    below_zero,
    bilingual_list,
    clock,
    counted,
    large_count,
    moment,
    ordinal,
    percentage,
    price,
    small_price,
    time,
)
from training.variants.names import (
    first_name,
    full_name,
    last_name,
    product,
    street,
    street_address,
    town_in_both,
)
from training.variants.verbatim import (
    KINDS,
    around,
    brace_placeholder,
    identifier,
    made_up_word,
    mention,
    percent_placeholder,
    variable,
)

INTERFACE = bilingual_list("interface")
"""Buttons, labels and headings."""
TEMPLATES = bilingual_list("templates")
SEASONS = bilingual_list("seasons")

_SLOT = re.compile("⟨([a-z_]+)⟩")
_PLACEHOLDERS: Weighted[Maker[str]] = ((5, brace_placeholder), (3, percent_placeholder), (1, variable))


def fill_template(rng: Random) -> Bilingual:
    """Fill the slots of a random template; the n-th slot of a kind gets the same thing on both sides."""
    return fill_slots(rng.choice(TEMPLATES), rng)


def fill_slots(frame: Bilingual, rng: Random) -> Bilingual:
    """Fill the slots of a template."""
    german, english = frame.german, frame.english
    for slot in _SLOT.findall(frame.german):
        filling = SLOTS[slot](rng)
        german = german.replace(f"⟨{slot}⟩", filling.german, 1)
        english = english.replace(f"⟨{slot}⟩", filling.english, 1)
    return Bilingual(german, english)


def person(rng: Random) -> Bilingual:
    """Make a first name, a placeholder or a mention."""
    kinds: Weighted[Maker[str]] = (
        (4, first_name),
        (1, lambda rng: made_up_word(rng).capitalize()),
        (3, _placeholder),
        (1, mention),
    )
    return Bilingual.alike(pick(rng, kinds)(rng))


def _addressee(rng: Random) -> str:
    kinds: Weighted[Maker[str]] = ((3, last_name), (1, _placeholder))
    return pick(rng, kinds)(rng)


def _placeholder(rng: Random) -> str:
    return pick(rng, _PLACEHOLDERS)(rng)


def _marked(rng: Random) -> str:
    keys = ("OK", "Enter", "F1", "F5", "Tab", "Esc", "Alt", identifier(rng))
    return around(rng.choice(keys), rng)


def _alike(maker: Maker[str]) -> Maker[Bilingual]:
    return lambda rng: Bilingual.alike(maker(rng))


_AMOUNTS = (any_number, below_zero, counted, large_count, ordinal, percentage, price, small_price)
_TIMES = (clock, moment, time)
_DATES = (dates.day_and_month, dates.full_date, dates.in_figures, dates.weekday_and_date)
_NAMES = (first_name, full_name, product, street, street_address)
SLOTS: dict[str, Maker[Bilingual]] = {
    **{maker.__name__: maker for maker in (*_AMOUNTS, *_TIMES, *_DATES, town_in_both)},
    **{maker.__name__: _alike(maker) for maker in _NAMES},
    **{name: _alike(maker) for name, maker in KINDS.items()},
    "person": person,
    "lastname": _alike(_addressee),
    "placeholder": _alike(_placeholder),
    "marked": _alike(_marked),
    "number": _alike(lambda rng: str(rng.randint(1, 999))),
    "few": _alike(lambda rng: str(rng.randint(2, 90))),
    "year": _alike(lambda rng: str(dates.day(rng).year)),
    "decade": _alike(lambda rng: str(dates.day(rng).year // 10 * 10)),
    "weekday": lambda rng: rng.choice(dates.WEEKDAYS),
    "month": lambda rng: rng.choice(dates.MONTHS),
    "season": lambda rng: rng.choice(SEASONS),
    "button": lambda rng: rng.choice(INTERFACE),
}
"""Makers of fillings by the name of their slot, most of which are called as the function is."""
