"""The dictionaries of a glossary in a request, one for each language pair."""

from collections.abc import Iterable

from dragoman.types import Pair
from service.glossaries.entries import Dictionary
from service.http.errors import field_error

DICTIONARIES = "dictionaries"


def check_distinct(dictionaries: Iterable[Dictionary]) -> list[Dictionary]:
    """Return dictionaries. Raises an ApiError if two have the same pair."""
    found = dict[Pair, Dictionary]()
    for position, dictionary in enumerate(dictionaries):
        if dictionary.pair in found:
            problem = f"repeats the pair {dictionary.pair}; send its entries in one"
            raise field_error(f"{DICTIONARIES}[{position}]", problem)
        found[dictionary.pair] = dictionary
    return list(found.values())


def prefix_of(position: int) -> str:
    """Return what precedes the names of a dictionary's fields in errors."""
    return f"{DICTIONARIES}[{position}]."
