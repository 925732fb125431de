"""SentencePiece models trained on real text, and folders with small models of Marian's."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.imports.marian.written import (
    MARIANS_OWN_IDS,
    Arrays,
    Options,
    Variant,
    arrays_of,
    options_of,
    pieces_of,
    save_npz,
    save_vocabulary,
)
from tests.pieces import real_text, train_sentencepiece


@dataclass(frozen=True, slots=True)
class Tokenizers:
    """SentencePiece models, as bytes."""

    german: bytes
    english: bytes
    both: bytes
    own: bytes
    """Whose ids Marian uses as they are."""


@cache
def make_tokenizers() -> Tokenizers:
    german, english = real_text("de"), real_text("en")
    return Tokenizers(
        german=train_sentencepiece(german, 190),
        english=train_sentencepiece(english, 170),
        both=train_sentencepiece([*german, *english], 230),
        own=train_sentencepiece([*german, *english], 210, **MARIANS_OWN_IDS),
    )


@pytest.fixture(scope="session")
def tokenizers() -> Tokenizers:
    return make_tokenizers()


@dataclass(frozen=True, slots=True)
class Written:
    """A model in a folder, and what is in it."""

    folder: Path
    arrays: Arrays
    options: Options
    source_pieces: list[str]
    target_pieces: list[str]

    def save(self, arrays: Arrays | None = None, options: Options | None = None) -> None:
        """Write the model again, with changes."""
        path = self.folder / "opus.npz"
        save_npz(path, {**self.arrays, **(arrays or {})}, {**self.options, **(options or {})})

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf8")


DECODER = "beam-size: 6\nnormalize: 1\nword-penalty: 0\nmini-batch: 1\nmaxi-batch-sort: none\n"


def write_model(folder: Path, variant: Variant, tokenizers: Tokenizers, seed: int = 0) -> Written:
    """As an OPUS-MT release: one vocabulary where the tables are one, else one each."""
    folder.mkdir(parents=True, exist_ok=True)
    if variant.shares_table:
        (folder / "source.spm").write_bytes(tokenizers.both)
        (folder / "target.spm").write_bytes(tokenizers.both)
        source = target = pieces_of(tokenizers.both)
        save_vocabulary(folder / "opus.spm32k-spm32k.vocab.yml", source)
    else:
        (folder / "source.spm").write_bytes(tokenizers.german)
        (folder / "target.spm").write_bytes(tokenizers.english)
        source, target = pieces_of(tokenizers.german), pieces_of(tokenizers.english)
        save_vocabulary(folder / "opus.src.vocab.yml", source)
        save_vocabulary(folder / "opus.trg.vocab.yml", target)
    sizes = (len(source), len(target))
    arrays, options = arrays_of(variant, sizes, seed), options_of(variant, sizes)
    save_npz(folder / "opus.npz", arrays, options)
    (folder / "decoder.yml").write_text(DECODER, encoding="utf8")
    return Written(folder, arrays, options, source, target)


@pytest.fixture
def written(tmp_path: Path, tokenizers: Tokenizers) -> Written:
    """A plain model whose files a test may change."""
    return write_model(tmp_path / "de-en", Variant(), tokenizers)
