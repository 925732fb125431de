"""Parsing of translation memories from JSON or a form, and their schemas."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from dragoman.types import Pair
from service.formats.entries import FileFormatError
from service.formats.isolation import RecordReader
from service.http.errors import field_error
from service.http.openapi import DocumentedModel, closed_examples, equal_fields
from service.http.validation import Count, File, Records, read_records
from service.memories.pairs import SegmentPair
from service.memories.store import Memory, StoredPair
from service.memories.tmx import TmxPairs

PAGE_LENGTH, MAX_PAGE_LENGTH = 100, 1000
_PAIR_EXAMPLE: JsonDict = {"source": "Guten Morgen.", "target": "Good morning."}
_TMX = (
    '<tmx version="1.4"><header srclang="de"/><body><tu><tuv xml:lang="de"><seg>Hund</seg></tuv>'
    '<tuv xml:lang="en"><seg>dog</seg></tuv></tu></body></tmx>'
)


class PairIn(DocumentedModel):
    """A text and its translation."""

    model_config = ConfigDict(extra="forbid")

    source: str
    target: str


class PairsIn(DocumentedModel):
    """Pairs to add."""

    model_config = closed_examples({"pairs": [_PAIR_EXAMPLE]})

    pairs: Records[PairIn]
    """Pairs; of several with equal sources, the last one counts. A form has a TMX `file` instead."""


class MemoryIn(PairsIn):
    """A translation memory."""

    model_config = closed_examples(
        {"name": "Manual", "source": "de", "target": "en", "pairs": [_PAIR_EXAMPLE]}
    )

    name: str
    """Name for people; several memories may have the same one."""
    source: str
    """Language of the texts, as in `de`."""
    target: str
    """Language of their translations."""


class PairsForm(DocumentedModel):
    """A file with pairs to add."""

    model_config = closed_examples({"file": _TMX})

    file: File
    """TMX; other languages in it are ignored, and units without both languages are counted as skipped."""


class MemoryForm(PairsForm):
    """A translation memory as a file."""

    model_config = closed_examples({"name": "Manual", "source": "de", "target": "en", "file": _TMX})

    name: str
    """Name for people."""
    source: str
    """Language of the texts."""
    target: str
    """Language of their translations."""


class SuggestionIn(DocumentedModel):
    """A better translation of a text."""

    model_config = closed_examples(
        {"text": "Gute Nacht.", "translation": "Good night.", "source": "de", "target": "en"}
    )

    text: str
    """The text that was translated."""
    translation: str
    """The better translation."""
    source: str
    """Language of the text."""
    target: str
    """Language of the translation."""


class MemoryResponse(DocumentedModel):
    """A stored translation memory without its pairs."""

    id: str
    """Id for the field `memory` of translations and jobs."""
    name: str
    source: str
    target: str
    num_pairs: int
    size_bytes: int
    """Bytes of all texts in UTF-8."""
    version: int
    """Increases with each change."""
    created_at: datetime


class ChangedMemoryResponse(MemoryResponse):
    """A memory to which pairs were added."""

    num_skipped: int = 0
    """Units of the TMX file that are no pair: a language is missing, or a code has no content."""


class MemoriesResponse(DocumentedModel):
    """The caller's memories, the oldest first."""

    memories: list[MemoryResponse]


class PairsQuery(DocumentedModel):
    """One page of the pairs."""

    model_config = ConfigDict(extra="forbid")

    limit: Count = Field(PAGE_LENGTH, ge=1, le=MAX_PAGE_LENGTH)
    """Maximum number of pairs on the page."""
    cursor: str = Field("", pattern="^([0-9a-f]{32})?$")
    """`next_cursor` of the page before; omitted for the first page."""


class StoredPairOut(DocumentedModel):
    """A pair of a memory."""

    id: str
    source: str
    target: str


class PairsResponse(DocumentedModel):
    """One page of the pairs of a memory, in the order of their ids."""

    pairs: list[StoredPairOut]
    next_cursor: str | None = None
    """`cursor` of the next page; null if there is none."""


class ReceivedPairs:
    """The pairs of a request, from JSON or from a TMX file. Iterating over them, once, raises ApiError."""

    def __init__(self, sent: PairsIn | PairsForm, pair: Pair, reader: RecordReader) -> None:
        self._sent = sent
        self._tmx = TmxPairs(sent.file.file, pair, reader) if isinstance(sent, PairsForm) else None

    @property
    def num_skipped(self) -> int:
        """Number of units without a pair, after the iteration."""
        return 0 if self._tmx is None else self._tmx.num_skipped

    def __iter__(self) -> Iterator[SegmentPair]:
        """Yield the pairs."""
        if isinstance(self._sent, PairsIn):
            for each in read_records(self._sent.pairs, "pairs"):
                yield SegmentPair(each.source, each.target)
        elif self._tmx is not None:
            try:
                yield from self._tmx
            except FileFormatError as error:
                raise field_error("file", error.problem) from error


def present_memory(memory: Memory) -> dict[str, Any]:
    """Return a memory as its owner sees it."""
    response = MemoryResponse.model_validate(equal_fields(MemoryResponse, memory, memory.pair))
    return response.model_dump(mode="json")


def present_changed(memory: Memory, num_skipped: int) -> dict[str, Any]:
    """Return a memory to which pairs were added."""
    return {**present_memory(memory), "num_skipped": num_skipped}


def present_pairs(found: Sequence[StoredPair], limit: int) -> dict[str, Any]:
    """Return a page of at most `limit` pairs; `found` has one more if there is a next page."""
    shown = found[:limit]
    return {
        "pairs": [{"id": one.id, "source": one.pair.source, "target": one.pair.target} for one in shown],
        "next_cursor": shown[-1].id if len(found) > limit else None,
    }
