"""Properties of a bundle's vocabularies that are needed to build a shortlist."""

import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import sentencepiece

from dragoman.bundle import Bundle
from dragoman.manifest import SpecialIds

WORD_START = "\N{LOWER ONE EIGHTH BLOCK}"
"""SentencePiece's mark of a piece that begins a word."""
SPELLING_CATEGORIES = ("N", "P", "S", "Lu", "Ll", "Lt")
"""Numbers, punctuation, symbols, cased letters; not the scripts with thousands of characters."""

_BYTE = re.compile(r"<0x[0-9A-F]{2}>")


@dataclass(frozen=True, slots=True)
class ShortlistVocabularies:
    """Sizes of the vocabularies, and pieces that need special treatment."""

    source_size: int
    target_size: int
    is_shared: bool
    """Whether an id means the same piece in source and target, so that names can be copied."""
    spelling: tuple[int, ...]
    """Candidates of every source: the end of sentence, the unknown piece, single characters."""
    bytes: tuple[int, ...]
    """Target pieces for one byte of a character outside the vocabulary."""
    never: tuple[int, ...]
    """Pieces that are never candidates: no translation contains them."""


def read_vocabularies(bundle: Bundle) -> ShortlistVocabularies:
    """Read the vocabularies of a bundle that can be opened."""
    manifest = bundle.manifest
    special_ids = manifest.special_ids
    pieces = _pieces(bundle)
    begins = {begin for target in manifest.languages.targets.values() for begin in target.begin}
    return ShortlistVocabularies(
        source_size=manifest.sizes.source_vocab,
        target_size=len(pieces),
        is_shared=manifest.source_tokenizer == manifest.target_tokenizer,
        spelling=spelling_pieces(pieces, special_ids),
        bytes=tuple(number for number, piece in enumerate(pieces) if _BYTE.fullmatch(piece)),
        never=tuple(sorted({special_ids.pad, *begins} - {special_ids.eos})),
    )


def _pieces(bundle: Bundle) -> list[str]:
    """Return the target pieces by id."""
    files = bundle.manifest.target_tokenizer
    if files.vocabulary is not None:
        listed: list[str] = json.loads(bundle.file(files.vocabulary).read_bytes())
        return listed
    processor = sentencepiece.SentencePieceProcessor(model_file=str(bundle.file(files.model)))
    return [processor.id_to_piece(piece) for piece in range(processor.vocab_size())]


def spelling_pieces(pieces: Sequence[str], special_ids: SpecialIds) -> tuple[int, ...]:
    """Return end of sentence, unknown piece, the bare word start, and all digits, signs and cased letters."""
    singles = {number for number, piece in enumerate(pieces) if _is_spelling(piece)}
    return tuple(sorted(singles | {special_ids.eos, special_ids.unk}))


def _is_spelling(piece: str) -> bool:
    character = piece.removeprefix(WORD_START)
    if len(character) != 1:
        return piece == WORD_START
    return unicodedata.category(character).startswith(SPELLING_CATEGORIES)
