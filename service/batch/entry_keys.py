"""What makes two entries the same to a translator."""

import hashlib
import json
from dataclasses import fields
from functools import lru_cache

from dragoman.types import Pair
from service.formats.entries import Entry
from service.markup.options import MarkupOptions

KEY_SIZE_BYTES = 16
"""Of 128 bits, so that among a thousand million texts the chance of any two alike is below 2e-21."""


def entry_key(entry: Entry, pair: Pair) -> bytes:
    """A digest of all that an entry's translation depends on, bundles and options of the job aside.

    Args:
        entry: its place does not count.
        pair: languages that it is translated from and to.

    Returns:
        `KEY_SIZE_BYTES` bytes (BLAKE2b).
    """
    digest = hashlib.blake2b(_context(entry.markup, pair), digest_size=KEY_SIZE_BYTES)
    digest.update(entry.text.encode("utf-8", "surrogatepass"))
    return digest.digest()


@lru_cache(maxsize=64)
def _context(markup: MarkupOptions | None, pair: Pair) -> bytes:
    told = (
        None
        if markup is None
        else {field.name: _plain(getattr(markup, field.name)) for field in fields(markup)}
    )
    # JSON escapes line feeds, so that the one at its end tells it from any text that follows.
    return json.dumps([*pair, told], sort_keys=True).encode() + b"\n"


def _plain(value: object) -> object:
    return sorted(value) if isinstance(value, frozenset) else value
