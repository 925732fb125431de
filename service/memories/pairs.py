"""Pairs of a text and its translation, and the comparison of texts."""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dragoman.pipeline.pacing import Pacer
from service.memories.errors import MemoryInvalid
from service.text.checks import check_syntax

MAX_TEXT_CHARACTERS = 10_000
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")
DIGEST_SIZE_BYTES = 16
"""Size of a digest: with 128 bits, a collision among 1e9 texts has a probability below 2e-21."""


@dataclass(frozen=True, slots=True)
class SegmentPair:
    """A text and its translation."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class MemoryMatch:
    """A pair whose source is equal or similar to a text."""

    source: str
    target: str
    score: float
    """Similarity of the sources, up to 1."""


@dataclass(frozen=True, slots=True)
class TextMatches:
    """Matches of a memory for one text."""

    target: str | None
    """Translation of an equal source, or of one that differs only in numbers and placeholders; None if there
    is none, or it lacks placeholders of the text."""
    similar: tuple[MemoryMatch, ...] = ()
    """Pairs with similar sources, the most similar first; none if there is a translation."""
    repaired: MemoryMatch | None = None
    """The stored pair from which the translation was made, where only numbers and placeholders differ."""


def normalise(text: str) -> str:
    """Return a text as memories compare it: in NFC, each run of white space as one space, none around it.

    Case, punctuation, numbers and placeholders stay: texts that differ in one are different.
    """
    return " ".join(unicodedata.normalize("NFC", text).split())


def source_digest(text: str) -> bytes:
    """Return a digest that texts share if they are equal in a memory."""
    normalised = normalise(text).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(normalised, digest_size=DIGEST_SIZE_BYTES).digest()


def fit_target(text: str, pair: SegmentPair) -> str | None:
    """Return the translation of a text that equals a pair's source, with the white space around the text.

    Return None if it lacks placeholders or tags of the text, or has others: a program would break.
    """
    if check_syntax(pair.source, pair.target):
        return None
    start = text[: len(text) - len(text.lstrip())]
    return f"{start}{pair.target.strip()}{text[len(text.rstrip()) :]}"


def fitting_targets(texts: Sequence[str], pairs: Mapping[bytes, SegmentPair]) -> list[str | None]:
    """Return for each text its translation, by pairs with the digests of their sources; None if none fits."""
    found = (pairs.get(source_digest(text)) for text in texts)
    return [None if pair is None else fit_target(text, pair) for text, pair in zip(texts, found, strict=True)]


def checked_pairs(pairs: Iterable[SegmentPair], field: str, max_pairs: int) -> Iterator[SegmentPair]:
    """Yield pairs that can be stored.

    Raises:
        MemoryInvalid: a pair cannot be stored; the error names its position in `field`, from 0.
    """
    pacer = Pacer()
    for position, pair in enumerate(pairs):
        pacer.pause()
        if position >= max_pairs:
            raise MemoryInvalid(field, f"has more than {max_pairs} pairs; split them into several memories")
        for side, text in (("source", pair.source), ("target", pair.target)):
            if (problem := _problem(text)) is not None:
                raise MemoryInvalid(f"{field}[{position}].{side}", problem)
        yield pair


def _problem(text: str) -> str | None:
    if not text.strip():
        return "is empty; send a text"
    if len(text) > MAX_TEXT_CHARACTERS:
        return f"has {len(text)} characters; the limit is {MAX_TEXT_CHARACTERS}"
    if _UNSTORABLE.search(text):
        return "has a NUL or a lone surrogate; remove it"
    return None
