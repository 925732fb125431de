"""SentencePiece models trained on text of the repository."""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import sentencepiece

from tests.paths import ROOT


def train_sentencepiece(text: Iterable[str], vocab_size: int, **more: Any) -> bytes:
    model = io.BytesIO()
    settings = {"character_coverage": 1.0, "num_threads": 1, "minloglevel": 2, **more}
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(text), model_writer=model, vocab_size=vocab_size, **settings
    )
    return model.getvalue()


def all_pieces(model: Path) -> list[str]:
    """In order of SentencePiece's own ids."""
    processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    return [processor.id_to_piece(index) for index in range(processor.vocab_size())]


def sentences(language: str) -> list[str]:
    """The sentences that come with the export."""
    return (ROOT / "export" / "sentences" / f"{language}.txt").read_text(encoding="utf8").splitlines()


def tiny_pairs(language: str) -> list[str]:
    """One side of the text of the tiny model."""
    pairs = (ROOT / "tests" / "tiny" / "pairs.tsv").read_text(encoding="utf8").splitlines()
    return [pair.split("\t")[("de", "en").index(language)] for pair in pairs]


def real_text(language: str) -> list[str]:
    return [*sentences(language), *tiny_pairs(language)]
