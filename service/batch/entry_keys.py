"""Keys of entries: entries with the same key have the same translation."""

import hashlib
import json
from dataclasses import fields
from functools import lru_cache

from dragoman.types import Pair
from service.formats.entries import Entry
from service.markup.options import MarkupOptions

KEY_SIZE_BYTES = 16
"""Size of a key: with 128 bits, a collision among 1e9 texts has a probability below 2e-21."""


def entry_key(entry: Entry, pair: Pair) -> bytes:
    """Return a digest of all that an entry's translation depends on, except the job's bundles and options.

    Args:
        entry: the entry; its place is ignored.
        pair: source and target language.

    Returns:
        `KEY_SIZE_BYTES` bytes (BLAKE2b).
    """
    digest = hashlib.blake2b(_context(entry.markup, pair), digest_size=KEY_SIZE_BYTES)
    digest.update(entry.text.encode("utf-8", "surrogatepass"))
    return digest.digest()


@lru_cache(maxsize=64)
def _context(markup: MarkupOptions | None, pair: Pair) -> bytes:
    options_json = (
        None
        if markup is None
        else {field.name: _plain(getattr(markup, field.name)) for field in fields(markup)}
    )
    # JSON escapes line feeds, so the one at its end separates it from any text that follows.
    return json.dumps([*pair, options_json], sort_keys=True).encode() + b"\n"


def _plain(value: object) -> object:
    return sorted(value) if isinstance(value, frozenset) else value
