"""A small SentencePiece model, made as `training/vocabulary.py` makes the real ones."""

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest

from dragoman.text.tokenizer import Tokenizer
from tests.pieces import train_sentencepiece

VOCAB_SIZE = 360
Parts = Sequence[Sequence[str]]

GERMAN = (
    ("Der Hund", "Die Katze", "Ein Mann", "Die Frau", "Das Kind", "Unser Nachbar", "Meine Schwester"),
    ("läuft", "schläft", "wartet", "singt leise", "liest ein Buch", "spielt Fußball", "isst Äpfel"),
    ("im Garten.", "auf der Straße.", "vor dem Haus.", "am Bahnhof.", "heute Morgen.", "jeden Tag."),
)
ENGLISH = (
    ("The dog", "The cat", "A man", "The woman", "The child", "Our neighbour", "My sister"),
    ("runs", "sleeps", "waits", "sings softly", "reads a book", "plays football", "eats apples"),
    ("in the garden.", "on the street.", "outside the house.", "at the station.", "today.", "every day."),
)


def train_model(
    parts: Sequence[Parts] = (GERMAN, ENGLISH), vocab_size: int = VOCAB_SIZE, *, has_bytes: bool = True
) -> bytes:
    """A model of the sentences that these parts make."""
    sentences = [" ".join(words) for words in itertools.chain(*(itertools.product(*each) for each in parts))]
    ids = {"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3}
    with_bytes = {"byte_fallback": has_bytes, "split_digits": has_bytes}
    more = {"normalization_rule_name": "identity", "character_coverage": 0.9995}  # the trainer's own
    return train_sentencepiece(sentences, vocab_size, **ids, **with_bytes, **more)


@pytest.fixture(scope="session")
def model_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bundle") / "source.spm"
    path.write_bytes(train_model())
    return path


@pytest.fixture(scope="session")
def tokenizer(model_path: Path) -> Tokenizer:
    return Tokenizer.load(model_path)
