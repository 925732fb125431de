"""Look-up of entries in the journal, one window of entries at a time."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from dragoman.types import Pair
from service.batch.entry_keys import entry_key
from service.batch.journal import Journal
from service.batch.texts import Outcome
from service.formats.entries import Entry

WINDOW_ENTRIES = 256


class EntryLookup(NamedTuple):
    """An entry with its key and its outcome."""

    key: bytes
    entry: Entry
    outcome: Outcome | None
    """None if the journal has no outcome."""


def look_up(journal: Journal, entries: Iterable[Entry], pair: Pair) -> Iterator[list[EntryLookup]]:
    """Yield windows of entries with their outcomes, lazily and in order.

    Raises:
        JournalFailed, JournalDamaged: see `Journal.outcomes`.
    """
    remaining = iter(entries)
    while window := list(islice(remaining, WINDOW_ENTRIES)):
        keys = [entry_key(entry, pair) for entry in window]
        known = journal.outcomes(keys)
        yield [EntryLookup(key, entry, known.get(key)) for key, entry in zip(keys, window, strict=True)]
