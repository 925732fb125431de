"""The configuration of a training run: one TOML file, in which an unknown or missing key is an error."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from export.model_config import (
    BAHDANAU_CONSTANTS,
    BAHDANAU_FIELDS,
    Activation,
    Architecture,
    ModelConfig,
    NormPosition,
    Positions,
)
from training.errors import ConfigError

Count = Annotated[int, Field(ge=1)]
Fraction = Annotated[float, Field(ge=0.0, lt=1.0)]
Positive = Annotated[float, Field(gt=0.0)]

GERMAN, ENGLISH = "de", "en"

CONTROL_VARIANTS = ("terms", "formality", "informal", "neutral_formality")
MAX_VOCABULARY = 2**16
"""Token ids are stored in 16 bits."""


class RecipeTable(BaseModel):
    """A table of the file, immutable; unknown keys are errors."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Variants(RecipeTable):
    """Modified copies of a corpus's pairs, which make the model robust against odd input.

    Each share counts only the pairs that the variant fits: no copy is made that would equal its pair or that
    may be wrong. `docs/guides/training-text.md` shows an example of each.
    """

    # Noise: the source changes, the target does not.
    lower_source: Fraction = 0.0
    """Source in lower case; skipped where both sides share code with a capital letter."""
    small_first: Fraction = 0.0
    """Source with a small first letter."""
    title_case: Fraction = 0.0
    """Source with capital first letters, as in a headline."""
    quotes: Fraction = 0.0
    """Source with quotation marks, apostrophes, dashes and ellipses of another style."""
    punctuation: Fraction = 0.0
    """Source whose final punctuation mark is repeated, preceded by a space or mixed with another."""
    spelt_umlauts: Fraction = 0.0
    """German source with ae, oe, ue and ss for ä, ö, ü and ß."""
    swiss_spelling: Fraction = 0.0
    """German source with ss for ß."""
    typo: Fraction = 0.0
    """Source with a letter doubled, dropped or swapped, one in about forty characters."""
    upper_word: Fraction = 0.0
    """Source with one word in capitals."""
    chat: Fraction = 0.0
    """Short German or English source as in a chat."""
    abbreviated: Fraction = 0.0
    """German or English source with abbreviations for one or two long words."""
    number_words: Fraction = 0.0
    """German or English source with a number in words whose digits the target has."""
    spoken_times: Fraction = 0.0
    """German or English source with a time in words or with a.m. or p.m.; the target has it in digits."""

    # Both sides change in the same way.
    upper: Fraction = 0.0
    """Both sides in upper case."""
    no_final_stop: Fraction = 0.0
    """Both sides without their final full stop."""
    quoted: Fraction = 0.0
    """Both sides in quotation marks of their language."""
    repeated: Fraction = 0.0
    """One or two words repeated two to twenty times on both sides."""
    list_mark: Fraction = 0.0
    """Both sides after the mark of a list item, such as `2.`, `b)` or a dash."""
    copied_inside: Fraction = 0.0
    """A name or number that both sides share is replaced by something to copy, such as a placeholder."""
    copied_beside: Fraction = 0.0
    """Something to copy is added at the beginning or the end of both sides."""
    other_number: Fraction = 0.0
    """A number that both sides share is replaced by another one."""
    single_words: Annotated[int, Field(ge=0)] = 0
    """Number of extra copies of each pair of single words; some lose their final punctuation mark."""

    joined: Fraction = 0.0
    """A pair and the next one of its file in one line, unless they differ in the form of address."""

    # Controls: the source requests a property of the target. They need vocabulary.has_controls.
    terms: Fraction = 0.0
    """Source with the required translation next to some of its terms, from data.term_files."""
    formality: Fraction = 0.0
    """English source that requests the form of address of its German target."""
    informal: Fraction = 0.0
    """English source that requests the informal form, with a target that rules changed from Sie to du."""
    neutral_formality: Fraction = 0.0
    """English source that requests a form of address although neither side addresses anybody."""


class Corpus(RecipeTable):
    """A corpus: files of `source⇥target` or `tag⇥source⇥target` lines, or generated lines."""

    name: str = Field(pattern=r"^[a-z0-9-]+$")
    files: tuple[Path, ...] = ()
    generated_pairs: Count | None = None
    """Number of generated German and English lines, not from files: numbers, dates, things to copy, words."""
    noun_readings: Count | None = None
    """Number of generated sentences for each everyday noun, and each compound of two in data.term_files."""
    verb_readings: Count | None = None
    """Number of generated sentences for each phrase with a verb; the files are dictionaries."""
    max_pairs: Count | None = None
    """Maximum number of pairs drawn from the files with the seed; unset: all of them."""
    tag_prefix: str = ""
    """Only lines whose tag begins so are read, such as those of one source."""
    weight: Positive
    """Share of training pairs drawn from this corpus, relative to the other corpora."""
    has_counts: bool = False
    """Whether the tag of each line is a count; the pair is read as often as the count's square root says."""
    direction: str | None = None
    """The only direction in which the corpus is read, such as `de-en`; unset: all."""
    back_translated: str | None = None
    """Language that a model has written: always a source, after `BACK_TRANSLATED` (arXiv:1906.06442)."""
    variants: Variants = Variants()
    reading_files: tuple[Path, ...] = ()
    """Bundles' `reading.toml`, whose abbreviations variants.abbreviated uses."""
    licence: str
    """Licence, copied word for word into the model card."""

    @model_validator(mode="after")
    def _check_origin(self) -> "Corpus":
        if sum(map(bool, (self.files, self.generated_pairs, self.noun_readings))) != 1:
            raise ValueError("give either files, generated_pairs or noun_readings")
        if self.variants.abbreviated and not self.reading_files:
            raise ValueError(f"corpus {self.name}: variants.abbreviated needs reading_files")
        return self


@dataclass(frozen=True, slots=True)
class Direction:
    """A translation direction: the language codes of source and target."""

    source: str
    target: str

    @property
    def name(self) -> str:
        """The direction's name, such as `de-en`."""
        return f"{self.source}-{self.target}"


class DataSettings(RecipeTable):
    source_language: str
    target_language: str
    is_reversed: bool = False
    """Whether the files hold the target in their source column."""
    is_bidirectional: bool = False
    """Whether every pair is read in both directions, so that one model learns both."""
    term_files: tuple[Path, ...] = ()
    """Dictionaries for variants.terms: lines of `tag⇥source⇥target`, in the corpora's column order."""
    corpora: tuple[Corpus, ...] = Field(min_length=1)
    max_tokens: Count = 200
    """Maximum number of tokens on each side; longer pairs are dropped."""
    max_length_ratio: Positive = 4.0
    """Pairs are dropped if one side has more than this many times the other's characters, plus 20."""

    @property
    def directions(self) -> tuple[Direction, ...]:
        """The direction from source to target language, and the reverse one if both are trained."""
        forward = Direction(self.source_language, self.target_language)
        backward = Direction(self.target_language, self.source_language)
        return (forward, backward) if self.is_bidirectional else (forward,)

    def directions_of(self, corpus: Corpus) -> tuple[Direction, ...]:
        """Return the directions in which a corpus is read."""
        return tuple(
            each
            for each in self.directions
            if corpus.back_translated in {None, each.source} and corpus.direction in {None, each.name}
        )

    @model_validator(mode="after")
    def _check_names_differ(self) -> "DataSettings":
        names = [corpus.name for corpus in self.corpora]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"two corpora are named {', '.join(repeated)}")
        return self

    @model_validator(mode="after")
    def _check_corpus_languages(self) -> "DataSettings":
        languages = (self.source_language, self.target_language)
        for corpus in self.corpora:
            if not corpus.files and set(languages) != {GERMAN, ENGLISH}:
                given = " and ".join(languages)
                raise ValueError(
                    f"corpus {corpus.name}: generated pairs are {GERMAN} and {ENGLISH}, not {given}"
                )
            for key in ("spelt_umlauts", "swiss_spelling"):
                is_wanted = getattr(corpus.variants, key) > 0.0
                if is_wanted and GERMAN not in {each.source for each in self.directions}:
                    raise ValueError(f"corpus {corpus.name}: {key} needs source_language {GERMAN}")
            if not self.directions_of(corpus):
                wanted = f"back_translated {corpus.back_translated}, direction {corpus.direction}"
                raise ValueError(f"corpus {corpus.name}: {wanted}: no direction of the run reads it")
            if corpus.variants.terms and not self.term_files:
                raise ValueError(f"corpus {corpus.name}: variants.terms needs data.term_files")
        return self


class VocabularySettings(RecipeTable):
    size: Annotated[int, Field(ge=1, le=MAX_VOCABULARY)] = 8000
    is_shared: bool = True
    character_coverage: Fraction = 0.9995
    sample_pairs: Count = 400_000
    """Number of pairs that SentencePiece trains on, drawn by the corpora's weights."""
    has_controls: bool = False
    """Whether to reserve the control pieces of `training/controls.py`: terms, formality and spare ones."""


class ModelSettings(RecipeTable):
    architecture: Architecture = "transformer"
    """Kind of model: `bahdanau` has none of the fields of a Transformer's layers."""
    encoder_layers: Count = 6
    decoder_layers: Count = 2
    d_model: Count = 256
    heads: Count = 8
    ffn: Count = 1024
    activation: Activation = "relu"
    norm: NormPosition = "pre"
    positions: Positions = "sinusoidal"
    max_positions: Count = 512
    tied_output: bool = True
    share_kv: bool = False
    dropout: Fraction = 0.1
    inner_dropout: Fraction = 0.0

    @property
    def shape(self) -> dict[str, Any]:
        """The fields of a `ModelConfig`."""
        return self.model_dump() | (BAHDANAU_CONSTANTS if self.architecture == "bahdanau" else {})

    @model_validator(mode="after")
    def _check_fields_apply(self) -> "ModelSettings":
        if others := ", ".join(sorted(self.model_fields_set.difference(self._own_fields()))):
            raise ValueError(f"architecture {self.architecture} has no {others}")
        return self

    @model_serializer(mode="wrap")
    def _own_values(self, serialise: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out the fields that the architecture does not have: their defaults mean nothing."""
        names = self._own_fields()
        return {name: value for name, value in serialise(self).items() if name in names}

    def _own_fields(self) -> frozenset[str]:
        names = frozenset(type(self).model_fields)
        return names.intersection(BAHDANAU_FIELDS) if self.architecture == "bahdanau" else names


Precision = Literal["32-true", "bf16-mixed"]


class OptimisationSettings(RecipeTable):
    optimizer: Literal["adamw", "muon"] = "adamw"
    learning_rate: Positive = 2e-3
    warmup_steps: Count = 500
    steps: Count = 10_000
    decay_steps: Annotated[int, Field(ge=0)] = 2_000
    """Number of final steps over which the learning rate falls to zero; 0 keeps it constant."""
    budget_tokens: Count = 8_000
    """Maximum number of padded tokens of a batch, source and target together."""
    label_smoothing: Fraction = 0.1
    sampled_pieces: Annotated[int, Field(ge=0)] = 0
    """Number of pieces besides those of a batch's targets that the loss compares them with; 0 takes all."""
    clip_norm: Positive = 1.0
    weight_decay: Annotated[float, Field(ge=0.0)] = 0.01
    precision: Precision = "bf16-mixed"
    """`bf16-mixed` uses bfloat16 for layers where the processor has instructions for it, else float32."""
    seed: Annotated[int, Field(ge=0)] = 1
    threads: Count = 2
    """Number of threads of each process."""
    processes: Count = 1
    """Number of processes. Each runs a batch of every step; gradients are averaged. Above 1 on CPUs only."""
    data_processes: Annotated[int, Field(ge=0)] = 0
    """Number of processes that prepare the text, and the batches during training, which a GPU would wait for.
    With 0, the training processes do both."""
    accelerator: Literal["auto", "cpu", "gpu"] = "auto"


class ValidationSettings(RecipeTable):
    source: Path
    target: Path
    every_steps: Count = 500
    num_lines: Count = 300


class CheckpointSettings(RecipeTable):
    every_minutes: Positive = 3.0
    """Minutes between resume points: the most work that a kill can lose."""
    average_last: Count = 5
    """Number of snapshots averaged into the final model."""
    snapshot_every_steps: Count = 200


class TrainingConfig(RecipeTable):
    """All settings of a run."""

    run_dir: Path
    start_from: Path | None = None
    """Checkpoint folder with the initial weights and vocabulary; unset: both are made from scratch."""
    only_direction: str | None = None
    """The only direction to draw pairs of, such as `de-en`, though both are prepared; for a branch."""
    data: DataSettings
    vocabulary: VocabularySettings = VocabularySettings()
    model: ModelSettings = ModelSettings()
    optimisation: OptimisationSettings = OptimisationSettings()
    validation: ValidationSettings
    checkpoints: CheckpointSettings = CheckpointSettings()

    @property
    def trained_directions(self) -> tuple[Direction, ...]:
        """The directions whose pairs are drawn."""
        return tuple(
            direction for direction in self.data.directions if self.only_direction in {None, direction.name}
        )

    @model_validator(mode="after")
    def _check_consistency(self) -> "TrainingConfig":
        if problems := self._problems():
            raise ValueError("; ".join(problems))
        return self

    def _problems(self) -> list[str]:
        problems: list[str] = []
        schedule = self.optimisation
        if schedule.warmup_steps + schedule.decay_steps > schedule.steps:
            problems.append(
                f"optimisation.warmup_steps {schedule.warmup_steps} + decay_steps {schedule.decay_steps} "
                f"are more than steps {schedule.steps}"
            )
        if self.only_direction not in {None, *(direction.name for direction in self.data.directions)}:
            problems.append(f"only_direction {self.only_direction} is no direction of [data]")
        has_controls = any(
            corpus.back_translated or any(getattr(corpus.variants, name) for name in CONTROL_VARIANTS)
            for corpus in self.data.corpora
        )
        if has_controls and not self.vocabulary.has_controls:
            problems.append(
                f"back_translated and {', '.join(f'variants.{name}' for name in CONTROL_VARIANTS)} "
                "need vocabulary.has_controls"
            )
        if self.optimisation.processes > 1 and self.optimisation.accelerator != "cpu":
            problems.append('optimisation.processes above 1 needs accelerator = "cpu"')
        if self.data.max_tokens >= self.model.max_positions:
            problems.append(
                f"data.max_tokens {self.data.max_tokens} must be below "
                f"model.max_positions {self.model.max_positions}"
            )
        try:
            ModelConfig(self.vocabulary.size, self.vocabulary.size, **self.model.shape)
        except ValueError as error:
            problems.append(str(error))
        return problems


def load_config(path: Path) -> TrainingConfig:
    """Read and check a TOML file; what it does not have is taken from the file that its key `base` names.

    Raises:
        ConfigError: the file is not readable or not TOML, or has unknown, missing or wrong keys; the message
            names all of them.
    """
    content = _read(path)
    if base := content.pop("base", None):
        inherited = _read(path.parent / str(base))
        tables = {
            key: {**inherited.get(key, {}), **table}
            for key, table in content.items()
            if isinstance(table, dict)
        }
        content = {**inherited, **content, **tables}
    try:
        return TrainingConfig.model_validate(content)
    except ValidationError as error:
        raise ConfigError("\n  ".join([f"{path}:", *_problems_of(error)])) from error


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf8"))
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    except ValueError as error:  # neither UTF-8 nor TOML
        raise ConfigError(f"{path} is not a TOML file: {error}") from error


def _problems_of(error: ValidationError) -> list[str]:
    """Return one line per wrong key; a list that is wrong only because of an item gets no line of its own."""
    found = error.errors()
    inner = {details["loc"][:length] for details in found for length in range(1, len(details["loc"]))}
    return [
        _problem(details["loc"], details["type"], details["msg"])
        for details in found
        if details["loc"] not in inner
    ]


def _problem(location: tuple[int | str, ...], kind: str, message: str) -> str:
    key = ".".join(str(part) for part in location)
    known = {"extra_forbidden": "unknown key", "missing": "missing"}
    text = known.get(kind, message.removeprefix("Value error, "))
    return f"{key}: {text}" if key else text
