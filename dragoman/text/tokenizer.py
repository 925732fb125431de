"""Conversion between segments and token ids."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Protocol, TypeVar

import sentencepiece

from dragoman.cpus import available_cpus
from dragoman.errors import BundleError
from dragoman.text.normalization import normalise_segment, normalised_offsets
from dragoman.text.validation import check_text
from dragoman.types import Span

MAX_VOCABULARY_BYTES = 64 * 2**20
"""Maximum size of a vocabulary file; 256,000 pieces of many languages take 5 MiB."""

MIN_TOGETHER = 8
"""Minimum number of texts that SentencePiece gets together: for a list it starts threads, at least one."""
TEXTS_OF_THREAD = 32
"""Texts for which a further thread pays."""
MAX_THREADS = 4

_SPACE_SIGN = "\u2581"
"""SentencePiece's sign for a space; it leaves the sign in pieces that it does not know."""
Piece = TypeVar("Piece", int, str)
Ids = TypeVar("Ids", bound=Collection[int])
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Ids(Protocol):
    """Mapping between text and the ids of a SentencePiece model's pieces."""

    size: int
    unk_id: int
    byte_ids: Mapping[int, int]
    """Byte value of each byte piece, by id."""

    def encode(self, texts: list[str]) -> list[list[int]]: ...

    def offsets(self, text: str) -> list[tuple[int, int]]: ...

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]: ...

    def decode_with_offsets(self, ids: list[int]) -> tuple[str, list[tuple[int, int]]]: ...

    def piece(self, index: int) -> str: ...

    def cost(self, text: str) -> tuple[int, float]: ...


class Tokenizer:
    """SentencePiece tokenizer of a bundle. Safe to use from several threads.

    Kudo and Richardson, "SentencePiece: A simple and language independent subword tokenizer and detokenizer
    for Neural Text Processing", EMNLP 2018, arXiv:1808.06226.
    """

    def __init__(self, ids: _Ids, *, normalises: bool) -> None:
        self._ids = ids
        self._normalises = normalises
        self.vocab_size = ids.size
        """Number of ids, including those without text."""
        self.unk_id = ids.unk_id
        """Id of pieces that the vocabulary lacks."""
        self.byte_ids = ids.byte_ids
        """Byte value of each byte piece, by id: byte pieces spell what has no piece of its own."""
        self.word_cost = ids.cost
        """Returns the number of a word's pieces, and their summed cost: lower for a more frequent word.

        The cost is the negative log-probability of a unigram model's pieces, and the rank of byte-pair
        encoding's merges.
        """
        self._rare_ids = frozenset((ids.unk_id, *ids.byte_ids))

    @classmethod
    def load(cls, model: Path, vocabulary: Path | None = None, *, normalises: bool = True) -> "Tokenizer":
        """Load a SentencePiece model and the ids of its pieces.

        Args:
            model: the SentencePiece model.
            vocabulary: a JSON list of pieces in the order of their ids; an empty string marks an id without
                text, such as a language's id. None keeps SentencePiece's own ids.
            normalises: whether to normalise each segment before SentencePiece reads it.

        Raises:
            BundleError: a file is missing or damaged, or the vocabulary has no unknown piece.
        """
        processor = _load_processor(model)
        if vocabulary is None:
            return cls(_SentencePieceIds(processor), normalises=normalises)
        return cls(
            _VocabularyFileIds(processor, _load_vocabulary(vocabulary, processor)), normalises=normalises
        )

    def encode(self, segments: Sequence[str]) -> list[list[int]]:
        """Encode each segment to ids, without an end-of-sentence id.

        Text never becomes a control token, whatever it spells: `</s>` in a segment is four characters.

        Raises:
            InputError: a segment has a lone surrogate.
        """
        for segment in segments:
            check_text(segment, None)
        return self._ids.encode([*map(normalise_segment, segments)] if self._normalises else [*segments])

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Decode each sequence of ids; drop control ids, and bytes that do not form a character.

        Raises:
            ValueError: an id is outside the vocabulary.
        """
        rare = self._rare_ids & self._check_ids(set[int]().union(*ids))
        return self._ids.decode(
            [each if rare.isdisjoint(each) else self._whole_characters(each) for each in ids]
        )

    def count(self, segment: str) -> int:
        """Return the number of tokens of a segment; raise the errors of `encode`."""
        [ids] = self.encode([segment])
        return len(ids)

    def unknown_share(self, segment: str, ids: Sequence[int]) -> float:
        """Return the share of a segment's letters that have no piece, 0 to 1; 0 without letters.

        Args:
            segment: any text that `encode` accepts.
            ids: the segment's ids, from `encode`.
        """
        if self._rare_ids.isdisjoint(ids):
            return 0.0
        text = normalise_segment(segment) if self._normalises else segment
        unknown = 0
        for index, (start, end) in zip(ids, self._ids.offsets(text), strict=True):
            if index in self._rare_ids:
                unknown += sum(map(str.isalpha, text[start:end]))
        return unknown / max(1, sum(map(str.isalpha, text)))

    def source_spans(self, segment: str) -> list[Span]:
        """Return the span in the segment of each piece of `encode([segment])`, without white space around it.

        A piece that is part of a character has that character's span, or an empty one next to it.
        """
        check_text(segment, None)
        text = normalise_segment(segment) if self._normalises else segment
        offsets = normalised_offsets(segment) if self._normalises else range(len(segment) + 1)
        spans = []
        for piece_start, piece_end in self._ids.offsets(text):
            start = piece_end - len(text[piece_start:piece_end].lstrip())
            end = start + len(text[start:piece_end].rstrip())
            spans.append(Span(offsets[start], offsets[end]))
        return spans

    def target_spans(self, ids: Sequence[int]) -> list[Span]:
        """Return the span in `decode([ids])` of each id's text, without leading white space."""
        kept = self._whole_character_positions(self._check_ids(ids))
        text, offsets = self._ids.decode_with_offsets([ids[position] for position in kept])
        spans = [Span(0, 0)] * len(ids)
        for position, (start, end) in zip(kept, offsets, strict=True):
            spans[position] = Span(end - len(text[start:end].lstrip()), end)
        for position in range(1, len(ids)):  # dropped ids get an empty span between their neighbours
            if spans[position].end < spans[position - 1].end:
                spans[position] = Span(spans[position - 1].end, spans[position - 1].end)
        return spans

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """Return each id's piece as the vocabulary spells it."""
        return [self._ids.piece(index) for index in ids]

    def text_of(self, index: int) -> str:
        """Return the text that an id adds to a target, with a space where its piece begins a word.

        A byte counts as a character of its own.
        """
        if index in self.byte_ids:
            return "\N{REPLACEMENT CHARACTER}"
        return self._ids.piece(index).replace(_SPACE_SIGN, " ")

    def _whole_characters(self, ids: Sequence[int]) -> list[int]:
        return [ids[position] for position in self._whole_character_positions(ids)]

    def _check_ids(self, ids: Ids) -> Ids:
        if ids and not 0 <= min(ids) <= max(ids) < self.vocab_size:
            raise ValueError(f"ids {min(ids)} to {max(ids)} exceed the vocabulary of {self.vocab_size}")
        return ids

    def _whole_character_positions(self, ids: Sequence[int]) -> Sequence[int]:
        """Return the positions of the ids that become text: all but bytes that form no UTF-8 character."""
        if self._rare_ids.isdisjoint(ids):
            return range(len(ids))
        values = self.byte_ids
        kept: list[int] = []
        for is_byte, run in groupby(range(len(ids)), lambda position: ids[position] in values):
            positions = list(run)
            if is_byte:
                spelled = bytes([values[ids[position]] for position in positions])
                positions = [positions[0] + offset for offset in _well_formed_positions(spelled)]
            kept += positions
        return kept


class _SentencePieceIds:
    """Ids as SentencePiece assigns them."""

    def __init__(self, processor: sentencepiece.SentencePieceProcessor) -> None:
        self._processor = processor
        self.size: int = processor.vocab_size()
        self.unk_id: int = processor.unk_id()
        self.byte_ids: Mapping[int, int] = {
            index: _byte_of(processor.id_to_piece(index))
            for index in range(self.size)
            if processor.is_byte(index)
        }

    def encode(self, texts: list[str]) -> list[list[int]]:
        return _encode(self._processor, texts, int)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return _piece_offsets(self._processor, text)

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        if len(ids) < MIN_TOGETHER:
            return [self._processor.decode(sequence) for sequence in ids]
        texts: list[str] = self._processor.decode(ids, num_threads=1)
        return texts

    def decode_with_offsets(self, ids: list[int]) -> tuple[str, list[tuple[int, int]]]:
        return _decode_with_offsets(self._processor, ids)

    def piece(self, index: int) -> str:
        piece: str = self._processor.id_to_piece(index)
        return piece

    def cost(self, text: str) -> tuple[int, float]:
        return _cost(self._processor, text)


class _VocabularyFileIds:
    """Ids by position in a list, which may have pieces that SentencePiece lacks."""

    def __init__(self, processor: sentencepiece.SentencePieceProcessor, pieces: list[str]) -> None:
        self._processor = processor
        self._pieces = pieces
        self.size = len(pieces)
        unknown = processor.id_to_piece(processor.unk_id())
        self.unk_id = pieces.index(unknown)
        # Text that spells a control piece must not become one.
        textless = {"", unknown} | _control_pieces(processor)
        self._id_of = {piece: index for index, piece in enumerate(pieces) if piece not in textless}
        self._textless_ids = frozenset(index for index, piece in enumerate(pieces) if piece in textless)
        self.byte_ids: Mapping[int, int] = {
            index: _byte_of(piece)
            for piece, index in self._id_of.items()
            if processor.is_byte(processor.piece_to_id(piece))
        }

    def encode(self, texts: list[str]) -> list[list[int]]:
        id_of, unk_id = self._id_of, self.unk_id
        return [
            [id_of.get(piece, unk_id) for piece in pieces] for pieces in _encode(self._processor, texts, str)
        ]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return _piece_offsets(self._processor, text)

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        texts: list[str] = []
        for sequence in ids:
            pieces = [self._pieces[index] for index in sequence if index not in self._textless_ids]
            texts.append(self._processor.decode_pieces(pieces).replace(_SPACE_SIGN, " ").strip())
        return texts

    def decode_with_offsets(self, ids: list[int]) -> tuple[str, list[tuple[int, int]]]:
        text_ids = [index for index in ids if index not in self._textless_ids]
        text, found = _decode_with_offsets(self._processor, [self._pieces[index] for index in text_ids])
        text = text.replace(_SPACE_SIGN, " ")
        stripped = text.strip()
        shift = len(text) - len(text.lstrip())
        offsets = iter([_shift_span(offset, shift, len(stripped)) for offset in found])
        return stripped, [(0, 0) if index in self._textless_ids else next(offsets) for index in ids]

    def piece(self, index: int) -> str:
        return self._pieces[index]

    def cost(self, text: str) -> tuple[int, float]:
        return _cost(self._processor, text)


def _encode(
    processor: sentencepiece.SentencePieceProcessor, texts: list[str], out_type: type[Piece]
) -> list[list[Piece]]:
    """Return the ids or pieces of each text."""
    if len(texts) < MIN_TOGETHER:
        return [processor.encode(text, out_type=out_type) for text in texts]
    threads = min(_most_threads(), 1 + len(texts) // TEXTS_OF_THREAD)
    encoded: list[list[Piece]] = processor.encode(texts, out_type=out_type, num_threads=threads)
    return encoded


@lru_cache(maxsize=1)
def _most_threads() -> int:
    return min(MAX_THREADS, available_cpus())


def _piece_offsets(processor: sentencepiece.SentencePieceProcessor, text: str) -> list[tuple[int, int]]:
    """Return the span of each piece of the text, in characters."""
    offsets: list[tuple[int, int]] = processor.encode(text, return_type="offset_mapping")["offsets"]
    return offsets


def _cost(processor: sentencepiece.SentencePieceProcessor, text: str) -> tuple[int, float]:
    """Return the number of pieces of a text, and their summed negative scores."""
    ids: list[int] = processor.encode(text)
    return len(ids), -sum(map(processor.get_score, ids))


def _decode_with_offsets(
    processor: sentencepiece.SentencePieceProcessor, ids_or_pieces: list[int] | list[str]
) -> tuple[str, list[tuple[int, int]]]:
    """Decode ids or pieces; return the text and the span in it of each id or piece, in characters."""
    if not ids_or_pieces:
        return "", []
    decoded = processor.decode(ids_or_pieces, return_type="offset_mapping")
    return decoded["text"], decoded["offsets"]


def _shift_span(offset: tuple[int, int], shift: int, length: int) -> tuple[int, int]:
    """Shift a span to the left, clipped to a text of this length."""
    start, end = (min(max(0, one - shift), length) for one in offset)
    return start, end


def _byte_of(piece: str) -> int:
    """Return the value of a byte piece, which SentencePiece spells like `<0x41>`."""
    return int(piece[1:-1], 16)


def _well_formed_positions(encoded: bytes) -> Iterator[int]:
    """Yield the positions of bytes that form UTF-8 characters."""
    position = 0
    for character in encoded.decode(errors="surrogateescape"):
        if _SURROGATE.match(character):  # each surrogate escapes one byte
            position += 1
            continue
        width = len(character.encode())
        yield from range(position, position + width)
        position += width


def _load_processor(path: Path) -> sentencepiece.SentencePieceProcessor:
    try:
        processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
        processor.id_to_piece(list(range(processor.vocab_size())))  # SentencePiece itself checks no encoding
    except (RuntimeError, OSError, UnicodeDecodeError) as error:
        problem = f"{path.name} is not a SentencePiece model: {error}"
        raise BundleError(str(path.parent), (problem,)) from error
    return processor


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
    """Return why a list is not a valid vocabulary, or None."""
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
        return f"does not have {unknown!r}, the piece for unknown text"
    return None


def _control_pieces(processor: sentencepiece.SentencePieceProcessor) -> set[str]:
    return {
        processor.id_to_piece(index) for index in range(processor.vocab_size()) if processor.is_control(index)
    }
