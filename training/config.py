"""The training run as one TOML file; an unknown or missing key is an error."""

import tomllib
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from export.model.config import Activation, NormPlace, Positions

Count = Annotated[int, Field(ge=1)]
Fraction = Annotated[float, Field(ge=0.0, lt=1.0)]
Positive = Annotated[float, Field(gt=0.0)]


class Section(BaseModel):
    """A table of the file: frozen, strict about its keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Variants(Section):
    """Share of a corpus's pairs repeated in another shape, so that odd input does not derail the model."""

    lower_source: Fraction = 0.0
    """Source in lower case, target as it is."""
    upper: Fraction = 0.0
    """Both sides in upper case."""
    no_final_stop: Fraction = 0.0
    """Both sides without their final full stop."""


class Corpus(Section):
    """One kind of parallel text: files of `source⇥target` or `tag⇥source⇥target` lines."""

    name: str = Field(pattern=r"^[a-z0-9-]+$")
    files: tuple[Path, ...] = Field(min_length=1)
    weight: Positive
    """Share of the pairs drawn from here, relative to the other corpora."""
    variants: Variants = Variants()
    licence: str
    """Goes into the model card, word for word."""


class Data(Section):
    source_language: str
    target_language: str
    is_reversed: bool = False
    """The files hold the target in their source column."""
    corpora: tuple[Corpus, ...] = Field(min_length=1)
    max_tokens: Count = 200
    """A pair with a longer side is left out."""
    max_length_ratio: Positive = 4.0
    """A pair with more characters on one side than this many times the other's (plus 20) is left out."""


class Vocabulary(Section):
    size: Count = 8000
    is_shared: bool = True
    character_coverage: Fraction = 0.9995
    sample_pairs: Count = 400_000
    """Pairs that SentencePiece sees, drawn by the corpora's weights."""


class Model(Section):
    encoder_layers: Count = 6
    decoder_layers: Count = 2
    d_model: Count = 256
    heads: Count = 8
    ffn: Count = 1024
    activation: Activation = "relu"
    norm: NormPlace = "pre"
    positions: Positions = "sinusoidal"
    max_positions: Count = 512
    tied_output: bool = True
    share_kv: bool = False
    dropout: Fraction = 0.1
    inner_dropout: Fraction = 0.0


class Optimisation(Section):
    optimizer: Literal["adamw", "muon"] = "adamw"
    learning_rate: Positive = 2e-3
    warmup_steps: Count = 500
    steps: Count = 10_000
    decay_steps: Count = 2_000
    """The last steps, over which the learning rate falls to zero; before them it is constant."""
    budget_tokens: Count = 8_000
    """Padded source and target tokens of a batch, together."""
    label_smoothing: Fraction = 0.1
    clip_norm: Positive = 1.0
    weight_decay: Annotated[float, Field(ge=0.0)] = 0.01
    precision: Literal["32-true", "bf16-mixed"] = "bf16-mixed"
    seed: int = 1
    threads: Count = 2
    accelerator: Literal["auto", "cpu", "gpu"] = "auto"


class Validation(Section):
    source: Path
    target: Path
    every_steps: Count = 500
    num_lines: Count = 300


class Checkpoints(Section):
    every_minutes: Positive = 3.0
    """At most this much work is lost to a kill."""
    average_last: Count = 5
    """Snapshots averaged into the final model."""
    snapshot_every_steps: Count = 200


class TrainingConfig(Section):
    """Everything a run depends on."""

    run_dir: Path
    data: Data
    vocabulary: Vocabulary = Vocabulary()
    model: Model = Model()
    optimisation: Optimisation = Optimisation()
    validation: Validation
    checkpoints: Checkpoints = Checkpoints()

    @model_validator(mode="after")
    def _decay_fits(self) -> "TrainingConfig":
        schedule = self.optimisation
        if schedule.warmup_steps + schedule.decay_steps > schedule.steps:
            raise ValueError(
                f"optimisation: warmup_steps {schedule.warmup_steps} + decay_steps {schedule.decay_steps} "
                f"are more than steps {schedule.steps}"
            )
        if self.data.max_tokens >= self.model.max_positions:
            raise ValueError(
                f"data.max_tokens {self.data.max_tokens} must be below "
                f"model.max_positions {self.model.max_positions}"
            )
        return self


def load_config(path: Path) -> TrainingConfig:
    """Read and check a TOML file; pydantic's ValidationError names every wrong key."""
    return TrainingConfig.model_validate(tomllib.loads(path.read_text(encoding="utf8")))
