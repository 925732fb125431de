"""Segments to token ids and back."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import sentencepiece

from dragoman.errors import BundleError
from dragoman.text.normalization import normalise_segment, normalised_places
from dragoman.text.validation import check_text
from dragoman.types import Span

MAX_VOCABULARY_BYTES = 64 * 2**20
"""Of a vocabulary file; 256,000 pieces of many languages take 5 MiB."""

_SPACE_SIGN = "\u2581"
"""SentencePiece's sign for a space; it leaves the sign in pieces that it does not know."""
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Ids(Protocol):
    """What ids a SentencePiece model's pieces have."""

    size: int
    unk_id: int
    byte_ids: Mapping[int, int]
    """The byte that a piece stands for, by its id."""

    def encode(self, text: str) -> list[int]: ...

    def places(self, text: str) -> list[tuple[int, int]]: ...

    def decode(self, ids: list[int]) -> str: ...

    def decoded_places(self, ids: list[int]) -> tuple[str, list[tuple[int, int]]]: ...

    def piece(self, index: int) -> str: ...


class Tokenizer:
    """SentencePiece as the bundle ships it. Safe to use from several threads.

    Kudo and Richardson, "SentencePiece: A simple and language independent subword tokenizer and detokenizer
    for Neural Text Processing", EMNLP 2018, arXiv:1808.06226.
    """

    def __init__(self, ids: _Ids, *, normalises: bool) -> None:
        self._ids = ids
        self._normalises = normalises
        self.vocab_size = ids.size
        """Ids that there are, those that stand for no text among them."""
        self.unk_id = ids.unk_id
        """Of a piece that the vocabulary does not have."""
        self.byte_ids = ids.byte_ids
        """The byte that a piece stands for, by its id: what has no piece of its own is spelled in these."""
        self._id_of_byte = {byte: index for index, byte in ids.byte_ids.items()}

    @classmethod
    def load(cls, model: Path, vocabulary: Path | None = None, *, normalises: bool = True) -> "Tokenizer":
        """Read a SentencePiece model and the ids of its pieces.

        Args:
            model: the SentencePiece model.
            vocabulary: a JSON list of pieces in order of their ids; an empty string is an id that stands for
                no text, as that of a language does. None: ids are SentencePiece's own.
            normalises: whether a segment is normalised before SentencePiece sees it.

        Raises:
            BundleError: a file is missing or damaged, or the vocabulary has no id for what it does not know.
        """
        processor = _load_processor(model)
        if vocabulary is None:
            return cls(_OwnIds(processor), normalises=normalises)
        return cls(_ListedIds(processor, _load_vocabulary(vocabulary, processor)), normalises=normalises)

    def encode(self, segments: Sequence[str]) -> list[list[int]]:
        """Take each segment apart into ids of pieces, with no end-of-sentence id.

        Text never becomes a control token, whatever it spells: `</s>` in a segment is four characters.

        Raises:
            InputError: a segment has a lone surrogate in it.
        """
        return [self._encode_one(segment) for segment in segments]

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Text of each sequence of ids; control ids become nothing, nor do bytes that make no character.

        Raises:
            ValueError: an id outside the vocabulary.
        """
        return [self._decode_one(list(sequence)) for sequence in ids]

    def count(self, segment: str) -> int:
        """Pieces of a segment; raises as `encode` does."""
        return len(self._encode_one(segment))

    def unknown_share(self, segment: str, ids: Sequence[int]) -> float:
        """Share of a segment's letters that the vocabulary has in no piece, 0 to 1; 0 without any letter.

        Args:
            segment: any text that `encode` reads.
            ids: its own, from `encode`.
        """
        if self.unk_id not in ids and self.byte_ids.keys().isdisjoint(ids):
            return 0.0
        text = normalise_segment(segment) if self._normalises else segment
        unknown = 0
        for index, (start, end) in zip(ids, self._ids.places(text), strict=True):
            if index == self.unk_id or index in self.byte_ids:
                unknown += sum(map(str.isalpha, text[start:end]))
        return unknown / max(1, sum(map(str.isalpha, text)))

    def source_spans(self, segment: str) -> list[Span]:
        """Where each piece of `encode([segment])` stands in the segment, without white space around it.

        A piece that is part of a character has that character's place, or an empty one beside it.
        """
        check_text(segment, None)
        text = normalise_segment(segment) if self._normalises else segment
        places = normalised_places(segment) if self._normalises else range(len(segment) + 1)
        spans = []
        for piece_start, piece_end in self._ids.places(text):
            start = piece_end - len(text[piece_start:piece_end].lstrip())
            end = start + len(text[start:piece_end].rstrip())
            spans.append(Span(places[start], places[end]))
        return spans

    def target_spans(self, ids: Sequence[int]) -> list[Span]:
        """Where each id's text stands in `decode([ids])`, without white space before it."""
        kept = self._whole_characters(self._checked(list(ids)))
        text, places = self._ids.decoded_places([ids[position] for position in kept])
        spans = [Span(0, 0)] * len(ids)
        for position, (start, end) in zip(kept, places, strict=True):
            spans[position] = Span(end - len(text[start:end].lstrip()), end)
        for position in range(1, len(ids)):  # what is left out has an empty place where the others meet
            if spans[position].end < spans[position - 1].end:
                spans[position] = Span(spans[position - 1].end, spans[position - 1].end)
        return spans

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Each id's piece as the vocabulary spells it."""
        return [self._ids.piece(index) for index in ids]

    # One at a time: given a list, SentencePiece starts a thread, which takes ten times as long as a sentence.

    def _encode_one(self, segment: str) -> list[int]:
        check_text(segment, None)
        return self._ids.encode(normalise_segment(segment) if self._normalises else segment)

    def _decode_one(self, ids: list[int]) -> str:
        kept = self._whole_characters(self._checked(ids))
        return self._ids.decode(ids if len(kept) == len(ids) else [ids[position] for position in kept])

    def _checked(self, ids: list[int]) -> list[int]:
        if ids and not 0 <= min(ids) <= max(ids) < self.vocab_size:
            raise ValueError(f"ids {min(ids)} to {max(ids)} in a vocabulary of {self.vocab_size}")
        return ids

    def _whole_characters(self, ids: list[int]) -> Sequence[int]:
        """Positions of the ids that become text: without bytes that make no character in UTF-8."""
        values = self.byte_ids
        if values.keys().isdisjoint(ids):
            return range(len(ids))
        kept: list[int] = []
        start = 0
        while start < len(ids):
            stop = start
            while stop < len(ids) and ids[stop] in values:
                stop += 1
            kept += [start + place for place in _well_formed(bytes(values[one] for one in ids[start:stop]))]
            if stop < len(ids):
                kept.append(stop)
            start = stop + 1
        return kept


class _OwnIds:
    """Pieces have the ids that SentencePiece gives them."""

    def __init__(self, processor: sentencepiece.SentencePieceProcessor) -> None:
        self._processor = processor
        self.size: int = processor.vocab_size()
        self.unk_id: int = processor.unk_id()
        self.byte_ids: Mapping[int, int] = {
            index: _byte_of(processor.id_to_piece(index))
            for index in range(self.size)
            if processor.is_byte(index)
        }

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self._processor.encode(text)
        return ids

    def places(self, text: str) -> list[tuple[int, int]]:
        return _places(self._processor, text)

    def decode(self, ids: list[int]) -> str:
        text: str = self._processor.decode(ids)
        return text

    def decoded_places(self, ids: list[int]) -> tuple[str, list[tuple[int, int]]]:
        return _decoded_places(self._processor, ids)

    def piece(self, index: int) -> str:
        piece: str = self._processor.id_to_piece(index)
        return piece


class _ListedIds:
    """Pieces have the ids of their places in a list, which may have others than SentencePiece knows."""

    def __init__(self, processor: sentencepiece.SentencePieceProcessor, pieces: list[str]) -> None:
        self._processor = processor
        self._pieces = pieces
        self.size = len(pieces)
        unknown = processor.id_to_piece(processor.unk_id())
        self.unk_id = pieces.index(unknown)
        # What text spells like a control piece is not one.
        textless = {"", unknown} | _control_pieces(processor)
        self._id_of = {piece: index for index, piece in enumerate(pieces) if piece not in textless}
        self._silent_ids = frozenset(index for index, piece in enumerate(pieces) if piece in textless)
        self.byte_ids: Mapping[int, int] = {
            index: _byte_of(piece)
            for piece, index in self._id_of.items()
            if processor.is_byte(processor.piece_to_id(piece))
        }

    def encode(self, text: str) -> list[int]:
        pieces: list[str] = self._processor.encode(text, out_type=str)
        return [self._id_of.get(piece, self.unk_id) for piece in pieces]

    def places(self, text: str) -> list[tuple[int, int]]:
        return _places(self._processor, text)

    def decode(self, ids: list[int]) -> str:
        pieces = [self._pieces[index] for index in ids if index not in self._silent_ids]
        text: str = self._processor.decode_pieces(pieces)
        return text.replace(_SPACE_SIGN, " ").strip()

    def decoded_places(self, ids: list[int]) -> tuple[str, list[tuple[int, int]]]:
        said = [index for index in ids if index not in self._silent_ids]
        text, found = _decoded_places(self._processor, [self._pieces[index] for index in said])
        text = text.replace(_SPACE_SIGN, " ")
        stripped = text.strip()
        shift = len(text) - len(text.lstrip())
        places = iter([_moved(place, shift, len(stripped)) for place in found])
        return stripped, [(0, 0) if index in self._silent_ids else next(places) for index in ids]

    def piece(self, index: int) -> str:
        return self._pieces[index]


def _places(processor: sentencepiece.SentencePieceProcessor, text: str) -> list[tuple[int, int]]:
    """From and up to which character of the text each of its pieces goes."""
    places: list[tuple[int, int]] = processor.encode(text, return_type="offset_mapping")["offsets"]
    return places


def _decoded_places(
    processor: sentencepiece.SentencePieceProcessor, ids_or_pieces: list[int] | list[str]
) -> tuple[str, list[tuple[int, int]]]:
    """The text of ids or pieces, and from and up to which of its characters each of them goes."""
    if not ids_or_pieces:
        return "", []
    decoded = processor.decode(ids_or_pieces, return_type="offset_mapping")
    return decoded["text"], decoded["offsets"]


def _moved(place: tuple[int, int], shift: int, length: int) -> tuple[int, int]:
    """A place in a text that begins so many characters later and is so long."""
    start, end = (min(max(0, one - shift), length) for one in place)
    return start, end


def _byte_of(piece: str) -> int:
    """The byte that SentencePiece spells like `<0x41>`."""
    return int(piece[1:-1], 16)


def _well_formed(encoded: bytes) -> Iterator[int]:
    """Positions of the bytes that make characters in UTF-8."""
    position = 0
    for character in encoded.decode(errors="surrogateescape"):
        if _SURROGATE.match(character):  # stands for a byte of its own
            position += 1
            continue
        width = len(character.encode())
        yield from range(position, position + width)
        position += width


def _load_processor(path: Path) -> sentencepiece.SentencePieceProcessor:
    try:
        return sentencepiece.SentencePieceProcessor(model_file=str(path))
    except (RuntimeError, OSError) as error:
        problem = f"{path.name} is not a SentencePiece model: {error}"
        raise BundleError(str(path.parent), (problem,)) from error


def _load_vocabulary(path: Path, processor: sentencepiece.SentencePieceProcessor) -> list[str]:
    try:
        with path.open("rb") as file:
            encoded = file.read(MAX_VOCABULARY_BYTES + 1)
    except OSError as error:
        raise BundleError(str(path.parent), (f"{path.name} cannot be read: {error.strerror}",)) from error
    if len(encoded) > MAX_VOCABULARY_BYTES:
        raise BundleError(str(path.parent), (f"{path.name} has more than {MAX_VOCABULARY_BYTES} bytes",))
    try:
        pieces = json.loads(encoded)
    except (ValueError, RecursionError) as error:
        raise BundleError(str(path.parent), (f"{path.name} is not JSON: {error}",)) from error
    problem = _vocabulary_problem(pieces, processor.id_to_piece(processor.unk_id()))
    if problem is not None:
        raise BundleError(str(path.parent), (f"{path.name} {problem}",))
    return list(pieces)


def _vocabulary_problem(pieces: object, unknown: str) -> str | None:
    """What keeps a list from being a vocabulary."""
    if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
        return "is not a list of strings"
    seen: set[str] = set()
    for piece in pieces:
        if piece in seen:
            return f"has {piece!r} twice"
        if _SURROGATE.search(piece) is not None:
            return f"has {piece!r}, which is not well-formed Unicode"
        if piece:
            seen.add(piece)
    if unknown not in seen:
        return f"does not have {unknown!r}, the piece for all that it does not know"
    return None


def _control_pieces(processor: sentencepiece.SentencePieceProcessor) -> set[str]:
    return {
        processor.id_to_piece(index) for index in range(processor.vocab_size()) if processor.is_control(index)
    }
