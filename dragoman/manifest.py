"""The manifest of a bundle: facts about a model.

docs/reference/bundle-format.md describes every field for people.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dragoman.confidence import ConfidenceMap
from dragoman.contract import Autoregression, CacheDType
from dragoman.languages import Languages

MANIFEST_FILE = "manifest.json"


@dataclass(frozen=True, slots=True)
class FileRecord:
    """Expected content of a file."""

    sha256: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Sizes:
    """The graphs' fixed dimensions."""

    decoder_layers: int
    heads: int
    head_size: int
    source_vocab: int
    target_vocab: int
    width: int | None = None
    """Model width; None if it is `heads` x `head_size`, and the JSON has no such field."""

    @property
    def model_width(self) -> int:
        return self.attention_width if self.width is None else self.width

    @property
    def attention_width(self) -> int:
        """Width of the queries, keys or values of all heads together."""
        return self.heads * self.head_size


@dataclass(frozen=True, slots=True)
class SpecialIds:
    """Ids with a special meaning, the same in the source's and the target's vocabulary."""

    pad: int
    unk: int
    eos: int
    """Ends every target, and is part of every source."""


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """Maximum tokens of a segment, including its languages' own ids and the end-of-sentence id."""

    max_source_tokens: int
    max_target_tokens: int


@dataclass(frozen=True, slots=True)
class TokenizerFiles:
    """Files and settings that turn text into ids."""

    model: str
    """A SentencePiece model in the bundle."""
    vocabulary: str | None
    """A JSON list of pieces in the order of the graphs' ids; None if these are SentencePiece's own."""
    normalises: bool
    """Whether to normalise a segment (`dragoman.text.normalization`) before SentencePiece reads it."""

    @property
    def files(self) -> tuple[str, ...]:
        return (self.model,) if self.vocabulary is None else (self.model, self.vocabulary)


@dataclass(frozen=True, slots=True)
class DecodingDefaults:
    """The model's search defaults; see `DecodingOptions`."""

    beam_size: int = 4
    length_penalty: float = 1.0
    early_stopping: bool = False


@dataclass(frozen=True, slots=True)
class AlignmentHeads:
    """Attention heads that show which source tokens a target token translates."""

    layer: int
    """Decoder layer; 0 is the first."""
    heads: tuple[int, ...]
    """Heads whose weights are averaged."""
    reads_token: bool
    """Whether to use the step that reads the token; if not, the step before, which predicts it."""


@dataclass(frozen=True, slots=True)
class TermControls:
    """Source ids around a term and its required translation: `begin` term `translation` translation `end`."""

    begin: int
    translation: int
    end: int


@dataclass(frozen=True, slots=True)
class FormalityControls:
    """Source ids that request a form of address, as the first piece of a source."""

    formal: int
    informal: int
    targets: tuple[str, ...]
    """Target languages that have both forms."""


@dataclass(frozen=True, slots=True)
class Controls:
    """Controls that the model was trained with, as ids that no text is encoded to; None for each it lacks."""

    terms: TermControls | None = None
    formality: FormalityControls | None = None

    @property
    def ids(self) -> tuple[int, ...]:
        terms, formality = self.terms, self.formality
        return (
            *(() if terms is None else (terms.begin, terms.translation, terms.end)),
            *(() if formality is None else (formality.formal, formality.informal)),
        )


@dataclass(frozen=True, slots=True)
class Manifest:
    """Facts about a model."""

    format_version: int
    name: str
    languages: Languages
    precision: str
    cache_dtype: CacheDType
    """Dtype of cross K/V, and of self K/V if there are any."""
    autoregression: Autoregression
    """Way in which a decoder layer reads its past."""
    sizes: Sizes
    special_ids: SpecialIds
    limits: ModelLimits
    source_tokenizer: TokenizerFiles
    target_tokenizer: TokenizerFiles
    decoding: DecodingDefaults
    alignment: AlignmentHeads
    files: Mapping[str, FileRecord]
    """By path inside the bundle, with forward slashes; without the manifest itself."""
    licence: str
    origin: Mapping[str, Any]
    """Origin of the weights: data, steps, time, tools."""
    scores: Mapping[str, Any]
    """Measured quality, by test set."""
    confidence: ConfidenceMap | None = None
    """Calibration of confidences; None if there is none, and the JSON has no such field."""
    controls: Controls | None = None
    """Controls that the model was trained with; None if there are none, and the JSON has no such field."""
