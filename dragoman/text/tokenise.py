"""Segments to token ids and back."""

from collections.abc import Sequence
from pathlib import Path

import sentencepiece

from dragoman.errors import BundleError
from dragoman.text.normalise import normalise_segment
from dragoman.text.validity import check_text


class Tokenizer:
    """SentencePiece as the bundle ships it. Safe to use from several threads.

    Kudo and Richardson, "SentencePiece: A simple and language independent subword tokenizer and detokenizer
    for Neural Text Processing", EMNLP 2018, arXiv:1808.06226.
    """

    def __init__(self, processor: sentencepiece.SentencePieceProcessor) -> None:
        self._processor = processor
        self.vocab_size: int = processor.vocab_size()
        self.pad_id: int = processor.pad_id()
        """-1 where the model has none; `bos_id` likewise."""
        self.unk_id: int = processor.unk_id()
        self.bos_id: int = processor.bos_id()
        self.eos_id: int = processor.eos_id()

    @classmethod
    def load(cls, path: Path) -> "Tokenizer":
        """Read a SentencePiece model.

        Raises:
            BundleError: the file is missing, damaged, or a model without an end-of-sentence piece.
        """
        try:
            processor = sentencepiece.SentencePieceProcessor(model_file=str(path))
        except (RuntimeError, OSError) as error:
            problem = f"{path.name} is not a SentencePiece model: {error}"
            raise BundleError(str(path.parent), (problem,)) from error
        tokenizer = cls(processor)
        if tokenizer.eos_id < 0:
            raise BundleError(str(path.parent), (f"{path.name} has no end-of-sentence piece",))
        return tokenizer

    def encode(self, segments: Sequence[str]) -> list[list[int]]:
        """Normalise each segment and take it apart into token ids, the end-of-sentence id last.

        Raises:
            InputError: a segment has a lone surrogate in it.
        """
        return [self._encode_one(segment) for segment in segments]

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Text of each sequence of ids; bytes that are no UTF-8 become U+FFFD, control ids nothing.

        Raises:
            ValueError: an id outside the vocabulary.
        """
        return [self._decode_one(list(sequence)) for sequence in ids]

    def count(self, segment: str) -> int:
        """Tokens of a segment, the end-of-sentence one included; raises as `encode` does."""
        return len(self._encode_one(segment))

    # One at a time: given a list, SentencePiece starts a thread, which takes ten times as long as a sentence.

    def _encode_one(self, segment: str) -> list[int]:
        check_text(segment, None)
        ids: list[int] = self._processor.encode(normalise_segment(segment), add_eos=True)
        return ids

    def _decode_one(self, ids: list[int]) -> str:
        if ids and not 0 <= min(ids) <= max(ids) < self.vocab_size:
            raise ValueError(f"ids {min(ids)} to {max(ids)} in a vocabulary of {self.vocab_size}")
        text: str = self._processor.decode(ids)
        return text
