"""Vocabularies of a Marian model, and their tokenizers."""

from dataclasses import dataclass
from pathlib import Path

import sentencepiece

from export.marian.entries import read_pieces
from export.original import TARGET_TOKEN, TokenizerSource, find_tokens, open_sentencepiece

END = "</s>"
UNKNOWN = "<unk>"
SENTENCEPIECE_SUFFIX = ".spm"
NO_TEXT = ""
"""Entry of a tokenizer's list for an id that represents no text."""
_CONTROL_BYTES = tuple(f"<0x{byte:02X}>" for byte in range(0x20))


@dataclass(frozen=True, slots=True)
class MarianVocabulary:
    """Pieces by id, and ids with a special meaning."""

    pieces: tuple[str, ...]
    eos_id: int
    unk_id: int
    model: Path
    """SentencePiece model that splits text into the pieces."""
    unknown_piece: str
    """Name of the unknown piece in that model."""

    @property
    def size(self) -> int:
        return len(self.pieces)

    @property
    def target_tokens(self) -> dict[str, int]:
        """Ids of the tokens that request a target language, such as `>>deu<<`, by language."""
        return find_tokens(TARGET_TOKEN, zip(self.pieces, range(self.size), strict=True))

    @property
    def control_byte_ids(self) -> tuple[int, ...]:
        """Ids of the pieces for bytes below the space, which Marian never produces."""
        ids = {piece: index for index, piece in enumerate(self.pieces)}
        return tuple(ids[piece] for piece in _CONTROL_BYTES if piece in ids)

    def tokenizer(self, num_ids: int) -> TokenizerSource:
        """Return the tokenizer of a model with `num_ids` rows; ids after the pieces represent no text."""
        textless = {self.eos_id, *self.target_tokens.values()}
        listed = [NO_TEXT if index in textless else piece for index, piece in enumerate(self.pieces)]
        listed[self.unk_id] = self.unknown_piece
        listed += [NO_TEXT] * (num_ids - self.size)
        return TokenizerSource(self.model, tuple(listed), normalises=False)


def read_vocabulary(path: Path, model: Path | None, problems: list[str]) -> MarianVocabulary | None:
    """Read a vocabulary and its SentencePiece model.

    Args:
        path: a YAML or JSON file of pieces and ids, or a SentencePiece model, which then has its own ids.
        model: the SentencePiece model for a file of pieces.
        problems: problems are added here.

    Returns:
        The vocabulary; None if there are problems.
    """
    is_own = path.suffix == SENTENCEPIECE_SUFFIX
    model_path = path if is_own else model
    processor = None if model_path is None else open_sentencepiece(model_path, problems)
    if is_own:
        return None if processor is None else _sentencepiece_vocabulary(path, processor, problems)
    try:
        pieces = read_pieces(path)
    except ValueError as error:
        problems.append(f"{path.name} {error}")
        return None
    missing = [piece for piece in (END, UNKNOWN) if piece not in pieces]
    if missing:
        problems.append(f"{path.name} does not have {' and '.join(missing)}")
    if missing or processor is None or model is None:
        return None
    unknown = str(processor.id_to_piece(processor.unk_id()))
    return MarianVocabulary(pieces, pieces.index(END), pieces.index(UNKNOWN), model, unknown)


def _sentencepiece_vocabulary(
    path: Path, processor: sentencepiece.SentencePieceProcessor, problems: list[str]
) -> MarianVocabulary | None:
    if processor.eos_id() < 0:
        problems.append(f"{path.name} has no end-of-sentence piece")
        return None
    pieces = tuple(str(processor.id_to_piece(index)) for index in range(processor.vocab_size()))
    unk_id = int(processor.unk_id())
    return MarianVocabulary(pieces, int(processor.eos_id()), unk_id, path, pieces[unk_id])
