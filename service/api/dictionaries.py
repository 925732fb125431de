"""The dictionaries of a glossary in a request, one for each language pair."""

from collections.abc import Callable

from dragoman.types import Pair
from service.glossaries.entries import Dictionary
from service.http.errors import field_error
from service.http.fields import Fields

DICTIONARIES = "dictionaries"


def read_dictionaries(fields: Fields, read: Callable[[Fields], Dictionary]) -> list[Dictionary]:
    """Return the dictionaries in a list of JSON.

    Args:
        fields: the request's fields, with the list.
        read: reads one dictionary.

    Raises:
        ApiError: an item is no object, or two have the same pair; and what `read` raises.
    """
    found = dict[Pair, Dictionary]()
    for item in fields.objects(DICTIONARIES):
        dictionary = read(item)
        if dictionary.pair in found:
            problem = f"repeats the pair {dictionary.pair}; send its entries in one"
            raise field_error(item.prefix.removesuffix("."), problem)
        found[dictionary.pair] = dictionary
    return list(found.values())
