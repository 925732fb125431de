"""Source text on which a bundle is calibrated, and compared with its original."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import sentencepiece

from dragoman.languages import Languages, find_language
from dragoman.types import Pair
from export.original import ImportRejectedError, Original, TokenizerSource

BUILT_IN = Path(__file__).parent / "sentences"
GENERATED_FILE, GENERATED_LINES = "generated.txt", 300
LINE_PIECES = (5, 40)
"""Shortest and longest generated line in pieces."""
RANK_OFFSET = 2.7
"""Offset of ranks in Mandelbrot's form of Zipf's law."""
SPACE = "\u2581"
"""SentencePiece's mark for a space."""
SEED = 5


@dataclass(frozen=True, slots=True)
class SampleText:
    """Sentences, and the language pair to translate them for."""

    pair: Pair
    path: Path

    def lines(self) -> list[str]:
        """Return the lines that are not blank."""
        return [line for line in self.path.read_text(encoding="utf8").splitlines() if line.strip()]


def choose_texts(languages: Languages, sentences_file: Path | None, name: str) -> list[SampleText]:
    """Choose texts and their language pairs.

    A given file is in the first source language, for the first target language other than that. Without one,
    every built-in file is used whose language is a source language of the bundle.

    Args:
        languages: languages of the bundle.
        sentences_file: file with one sentence per line.
        name: name of the model, for errors.

    Returns:
        The texts; none if no built-in file fits.

    Raises:
        ImportRejectedError: the file does not exist.
    """
    if sentences_file is not None:
        if not sentences_file.is_file():
            raise ImportRejectedError(name, (f"{sentences_file} not found",))
        return [SampleText(next(languages.pairs()), sentences_file)]
    built_in = {path.stem: path for path in sorted(BUILT_IN.glob("*.txt"))}
    texts: list[SampleText] = []
    for language, path in built_in.items():
        source = find_language(language, languages.sources)
        target = _choose_target(source, languages, [other for other in built_in if other != language])
        if source is not None and target is not None:
            texts.append(SampleText(Pair(source, target), path))
    return texts


def generate_text(original: Original, folder: Path) -> SampleText:
    """Write generated lines to a folder, for a model in whose languages there is no built-in text."""
    path = folder / GENERATED_FILE
    path.write_text("\n".join(generate_lines(original.source_tokenizer)) + "\n", encoding="utf8")
    return SampleText(next(original.languages.pairs()), path)


def generate_lines(tokenizer: TokenizerSource) -> Iterator[str]:
    """Yield lines of random pieces of a vocabulary, the frequent ones more often, as in text.

    A piece's frequency falls with its rank by score (Zipf's law), in unigram models as in BPE.
    """
    processor = sentencepiece.SentencePieceProcessor(model_file=str(tokenizer.model))
    known = range(processor.vocab_size()) if tokenizer.vocabulary is None else tokenizer.vocabulary
    pieces = [piece if isinstance(piece, str) else processor.id_to_piece(piece) for piece in known]
    scores = {piece: processor.get_score(processor.piece_to_id(piece)) for piece in pieces if _is_text(piece)}
    ranked = sorted(scores, key=lambda piece: -scores[piece])
    weights = 1 / (np.arange(len(ranked)) + RANK_OFFSET)
    rng = np.random.default_rng(SEED)
    for _ in range(GENERATED_LINES):
        drawn = rng.choice(len(ranked), rng.integers(*LINE_PIECES), p=weights / weights.sum())
        yield "".join(ranked[index] for index in drawn).replace(SPACE, " ").strip() or ranked[0]


def _is_text(piece: str) -> bool:
    """Return whether a piece stands for text: not for a control, a byte or a language."""
    return any(character.isalnum() for character in piece) and not set(piece) & set("<>[]_")


def _choose_target(source: str | None, languages: Languages, preferred: Sequence[str]) -> str | None:
    """Return a preferred target if there is one, else the first target other than the source."""
    if source is None:
        return None
    targets = [pair.target for pair in languages.pairs() if pair.source == source]
    wanted = (find_language(language, languages.targets) for language in preferred)
    return next((target for target in wanted if target in targets), next(iter(targets), None))
