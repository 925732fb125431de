"""German dates without a year, which models read best with the month's name: `24.12.` as `24. Dezember`."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from dragoman.types import Span

GERMAN_MONTHS = (
    *("Januar", "Februar", "März", "April", "Mai", "Juni"),
    *("Juli", "August", "September", "Oktober", "November", "Dezember"),
)
ENGLISH_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DATE = r"(?:0?[1-9]|[12]\d|3[01])\.(?:0?[1-9]|1[0-2])\.(?![\w.])"
_DATES = re.compile(
    rf"""
    \b(?i:am|vom|zum|bis|ab|seit|de[rnms]|(?:mon|diens|donners|frei|sams|sonn)tag|mittwoch|sonnabend|mo|di|mi|do|fr|sa|so)
    [.,]{{0,2}}[ ](?:\d\d?\.[ ]?(?:[-\N{{EN DASH}}]|bis|und)[ ]?)?
    ({_DATE})(?:[ ]?(?:[-\N{{EN DASH}}]|bis(?:[ ]zum)?|und|oder|,)[ ]?({_DATE}))?
    """,
    re.VERBOSE,
)
"""One date or two, after a word that stands before dates: versions and chapters look the same."""
_SIGN = re.compile(r"\d\.\d\d?\.")


class Date(NamedTuple):
    """A day of any year."""

    span: Span
    """Without the dot that also ends the text."""
    day: int
    month: int


def find_dates(text: str) -> Iterator[Date]:
    """Yield the dates without a year of a German text, in order."""
    if not _SIGN.search(text):
        return
    for dates in _DATES.finditer(text):
        for group in (1, 2):
            if dates[group]:
                day, month, _ = dates[group].split(".")
                start, end = dates.span(group)
                span = Span(start, end - (end == len(text)))
                yield Date(span, int(day), int(month))  # at most 2 digits
