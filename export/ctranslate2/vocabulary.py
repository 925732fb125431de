"""Vocabularies of a CTranslate2 folder, and the SentencePiece models that split text into their pieces."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from export.bounded_files import UnreadableFileError, read_bounded
from export.huggingface.vocabularies import make_tokenizer
from export.original import TokenizerSource, open_sentencepiece

SHARED = "shared_vocabulary"
SIDES = ("source", "target")
MAX_VOCABULARY_BYTES = 256 * 2**20
TOKENIZER_PATTERNS = ("*.spm", "*.model")
SEVERAL = ("source.spm", "target.spm"), ("source.model", "target.model")
"""Names of separate models for source and target."""
BPE_FILE = "bpe.model"


@dataclass(frozen=True, slots=True)
class Ct2Vocabulary:
    """Tokens in order of their ids."""

    file: str
    tokens: tuple[str, ...]

    @property
    def ids(self) -> dict[str, int]:
        """Ids by token; of equal tokens the first counts."""
        return {token: index for index, token in reversed(list(enumerate(self.tokens)))}


def read_vocabularies(folder: Path, problems: list[str]) -> tuple[Ct2Vocabulary, Ct2Vocabulary] | None:
    """Return the vocabularies of source and target, often the same; None, with problems added, if missing."""
    shared = _read_named(folder, SHARED, problems)
    if shared is not None:
        return shared, shared
    both = [_read_named(folder, f"{side}_vocabulary", problems) for side in SIDES]
    source, target = both
    if source is not None and target is not None:
        return source, target
    if not problems:
        missing = [f"{side}_vocabulary" for side, found in zip(SIDES, both, strict=True) if found is None]
        problems.append(f"neither {SHARED} nor {' and '.join(missing)} (.json or .txt) found")
    return None


def _read_named(folder: Path, stem: str, problems: list[str]) -> Ct2Vocabulary | None:
    for name in (f"{stem}.json", f"{stem}.txt"):
        path = folder / name
        if not path.is_file():
            continue
        try:
            encoded = read_bounded(path, MAX_VOCABULARY_BYTES)
            tokens = json.loads(encoded) if path.suffix == ".json" else _lines(encoded)
        except UnreadableFileError as error:
            problems.append(f"{name} {error}")
            return None
        except (ValueError, RecursionError) as error:
            problems.append(f"{name} is not {path.suffix[1:].upper()} in UTF-8: {error}")
            return None
        if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
            problems.append(f"{name} is not a list of texts")
            return None
        return Ct2Vocabulary(name, tuple(tokens))
    return None


def _lines(encoded: bytes) -> list[str]:
    """Return the lines; a token may be a space that ends a line elsewhere."""
    lines = encoded.decode().split("\n")
    return lines[:-1] if not lines[-1] else lines


def find_tokenizers(folder: Path, problems: list[str]) -> tuple[Path, Path] | None:
    """Return the SentencePiece models of source and target; None, with problems added, if unclear."""
    if (folder / BPE_FILE).is_file():
        problems.append(f"{BPE_FILE}: subwords of Moses' tokenizer are not supported, only SentencePiece")
        return None
    for source, target in SEVERAL:
        missing = [name for name in (source, target) if not (folder / name).is_file()]
        if not missing:
            return folder / source, folder / target
        if len(missing) == 1:
            problems.append(f"{missing[0]} is missing; of {source} and {target}, both are needed")
            return None
    found = sorted({path for pattern in TOKENIZER_PATTERNS for path in folder.glob(pattern)})
    if len(found) == 1:
        return found[0], found[0]
    advice = "put one there as sentencepiece.model, or two as source.spm and target.spm"
    names = ", ".join(path.name for path in found)
    problems.append(
        f"{names} are all SentencePiece models; {advice}"
        if found
        else f"has no SentencePiece model; {advice}"
    )
    return None


def make_tokenizers(
    vocabularies: tuple[Ct2Vocabulary, Ct2Vocabulary],
    models: tuple[Path, Path],
    sizes: tuple[int, int],
    unk_token: str,
    textless: Iterable[str],
    problems: list[str],
) -> tuple[TokenizerSource, TokenizerSource] | None:
    """Return the tokenizers; None, with problems added, if a model is damaged.

    Args:
        vocabularies: vocabularies of source and target.
        models: their SentencePiece models.
        sizes: numbers of rows of the model's tables.
        unk_token: token for unknown pieces.
        textless: tokens that represent no text.
        problems: problems are added here.
    """
    left_out = set(textless)
    made: list[TokenizerSource] = []
    for vocabulary, path, size in zip(vocabularies, models, sizes, strict=True):
        processor = open_sentencepiece(path, problems)
        if processor is None:
            return None
        ids = vocabulary.ids
        pieces = {str(processor.id_to_piece(index)) for index in range(processor.vocab_size())}
        if not (pieces & ids.keys()) - left_out - {unk_token}:
            problems.append(f"{path.name} has no piece of {vocabulary.file}; they belong to different models")
            continue
        made.append(
            make_tokenizer(
                path,
                ids,
                size=size,
                textless=left_out,
                unknown=str(processor.id_to_piece(processor.unk_id())),
                unk_id=ids[unk_token],
            )
        )
    return (made[0], made[1]) if len(made) == len(SIDES) else None
