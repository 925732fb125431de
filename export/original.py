"""A model as an importer hands it over, whatever format it came in."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dragoman.languages import Languages
from dragoman.manifest import AlignmentHeads, DecodingDefaults
from export.model import Transformer


class ImportRejectedError(ValueError):
    """A model cannot be imported; every reason is named."""

    def __init__(self, origin: str, problems: tuple[str, ...]) -> None:
        super().__init__(f"{origin}: " + "; ".join(problems))
        self.origin = origin
        """The folder or file."""
        self.problems = problems


@dataclass(frozen=True, slots=True)
class WantedLanguages:
    """What the caller says of the model's languages, in any spelling; empty: what the files say."""

    sources: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TokenizerSource:
    """A SentencePiece model and the ids that its pieces have."""

    model: Path
    vocabulary: tuple[str, ...] | None
    """Pieces in order of the model's ids; None where these are SentencePiece's own."""
    normalises: bool
    """Whether the text is normalised before SentencePiece sees it, as in our own training."""


@dataclass(frozen=True, slots=True)
class Original:
    """A model in eval mode with all that a bundle needs to know of it."""

    kind: str
    """As people call it: `dragoman checkpoint`, `MarianMTModel`, ..."""
    model: Transformer
    source_tokenizer: TokenizerSource
    target_tokenizer: TokenizerSource
    languages: Languages
    decoding: DecodingDefaults
    max_target_tokens: int | None
    """The longest target that its own settings allow; None where they do not say."""
    licence: str | None
    origin: Mapping[str, Any]
    """For the manifest: what it was made of, and the options that shaped it."""
    alignment: AlignmentHeads | None = None
    """The attention that was trained to align; None where none was."""

    def with_origin(self, facts: Mapping[str, Any]) -> "Original":
        """Knowing more of where it comes from."""
        return replace(self, origin={**self.origin, **facts})
