"""The dictionaries of a glossary in a request, one for each language pair."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from dragoman.types import Pair
from service.glossaries.entries import Dictionary
from service.http.errors import field_error

DICTIONARIES = "dictionaries"
Sent = TypeVar("Sent")


def read_dictionaries(sent: Iterable[Sent], read: Callable[[Sent, str], Dictionary]) -> list[Dictionary]:
    """Return what `read` returns for each dictionary and what precedes the names of its fields in errors.

    Raises:
        ApiError: two have the same pair.
    """
    found = dict[Pair, Dictionary]()
    for position, each in enumerate(sent):
        name = f"{DICTIONARIES}[{position}]"
        dictionary = read(each, f"{name}.")
        if dictionary.pair in found:
            raise field_error(name, f"repeats the pair {dictionary.pair}; send its entries in one")
        found[dictionary.pair] = dictionary
    return list(found.values())
