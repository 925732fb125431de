"""A model as an importer returns it, whatever its format."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import sentencepiece

from dragoman.languages import Languages
from dragoman.manifest import AlignmentHeads, Controls, DecodingDefaults
from dragoman.shortlist import Shortlist
from export.model_weights import ModelWeights

TARGET_TOKEN = re.compile(">>(.+)<<")
"""Pattern of a piece before a source that requests a target language."""


class ImportRejectedError(ValueError):
    """A model cannot be imported; every reason is named."""

    def __init__(self, origin: str, problems: tuple[str, ...]) -> None:
        super().__init__(f"{origin}: " + "; ".join(problems))
        self.origin = origin
        """Folder, file or hub id of the model."""
        self.problems = problems


def open_sentencepiece(path: Path, problems: list[str]) -> sentencepiece.SentencePieceProcessor | None:
    """Open a SentencePiece model; return None and add a problem if it is missing or damaged."""
    if not path.is_file():
        problems.append(f"{path.name} is missing")
        return None
    try:
        return sentencepiece.SentencePieceProcessor(model_file=str(path))
    except (RuntimeError, OSError) as error:
        problems.append(f"{path.name} is not a SentencePiece model: {error}")
        return None


def find_tokens(pattern: re.Pattern[str], ids: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return the ids of the pieces that match a pattern, by its group: `deu` for `>>deu<<`."""
    found = ((pattern.fullmatch(piece), index) for piece, index in ids)
    return {match[1]: index for match, index in found if match is not None}


@dataclass(frozen=True, slots=True)
class RequestedLanguages:
    """Languages requested by the caller, in any spelling; empty: those that the files name."""

    sources: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TokenizerSource:
    """A SentencePiece model and the ids of its pieces."""

    model: Path
    vocabulary: tuple[str, ...] | None
    """Pieces in order of the model's ids; None if these are SentencePiece's own ids."""
    normalises: bool
    """Whether text is normalised before SentencePiece reads it, as in our own training."""


@dataclass(frozen=True, slots=True)
class Original:
    """A model with everything that a bundle needs."""

    kind: str
    """Common name of the format: `dragoman checkpoint`, `MarianMTModel`, ..."""
    model: ModelWeights
    source_tokenizer: TokenizerSource
    target_tokenizer: TokenizerSource
    languages: Languages
    origin: Mapping[str, Any]
    """Record for the manifest: what the model was made from, and the options that shaped it."""
    decoding: DecodingDefaults = field(default_factory=DecodingDefaults)
    max_target_tokens: int | None = None
    """Maximum target length in the model's own settings; None if they do not set one."""
    licence: str | None = None
    alignment: AlignmentHeads | None = None
    """Attention that was trained to align; None if there is none."""
    controls: Controls | None = None
    """Controls that the model was trained with; None if there are none."""
    shortlist: Shortlist | None = None
    """Candidates in the model's own files; None if there are none."""

    def with_origin(self, facts: Mapping[str, Any]) -> "Original":
        """Return a copy with more facts in its origin."""
        return replace(self, origin={**self.origin, **facts})
