"""The tutorial's recipe, and arms that differ from it in one thing each, towards this project's trainer.

Source of the recipe: https://github.com/bentrevett/pytorch-seq2seq, notebook 6, "Attention is All You Need",
at commit 7faa64a, which publishes BLEU 36.52 on Multi30k's `test_2016_flickr`, German to English.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

PUBLISHED = {
    "bleu": 36.52,
    "parameters": 9_038_341,
    "dev_losses": [3.021, 2.289, 1.981, 1.812, 1.712, 1.649, 1.624, 1.628, 1.613, 1.629],
}
"""The notebook's figures, which name one run; the losses are those after each epoch, in nats a word."""
MAX_POSITIONS = 100
MAX_OUTPUT = 50
"""Number of words or pieces after which the search of the tutorial ends."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a model is made and trained; the defaults are the tutorial's."""

    units: Literal["words", "pieces"] = "words"
    is_lower: bool = True
    min_count: int = 2
    """Occurrences of a word below which it is unknown."""
    num_pieces: int = 8000
    """Size of the vocabulary of pieces, for each language; fewer if the text has not so many."""
    width: int = 256
    layers: int = 3
    heads: int = 8
    feed_forward: int = 512
    dropout: float = 0.1
    norm: Literal["post", "pre"] = "post"
    positions: Literal["learned", "sinusoidal"] = "learned"
    embeddings: Literal["xavier", "normal"] = "xavier"
    """How tables of embeddings begin; normal: with a standard deviation of width ** -0.5."""
    tied_output: bool = False
    epochs: int = 10
    batch_size: int = 128
    """Number of pairs."""
    batches: Literal["random", "by-length"] = "random"
    """The notebook says that its batches have sentences of like lengths. They do not: its `BucketIterator`
    sorts a pool of pairs only where `sort_within_batch` is true, which it is not by default in training."""
    learning_rate: float = 5e-4
    schedule: Literal["constant", "trapezoid"] = "constant"
    """Trapezoid: a tenth of the steps to warm up, the last two fifths to go down to zero."""
    optimiser: Literal["adam", "muon"] = "adam"
    betas: tuple[float, float] = (0.9, 0.999)
    clip_norm: float = 1.0
    label_smoothing: float = 0.0
    precision: Literal["bf16", "fp32"] = "bf16"
    """Of the matrix products in training; weights, sums and the search are fp32."""


EXACT = Recipe()
ARMS: Mapping[str, tuple[str, Recipe]] = {
    "exact": ("the tutorial's recipe", EXACT),
    "pieces": ("pieces instead of words", replace(EXACT, units="pieces")),
    "case": ("with case", replace(EXACT, is_lower=False)),
    "pieces-case": ("pieces, with case", replace(EXACT, units="pieces", is_lower=False)),
    "buckets": ("batches of like lengths", replace(EXACT, batches="by-length")),
    "smoothing": ("labels smoothed by 0.1", replace(EXACT, label_smoothing=0.1)),
    "schedule": ("learning rate up and down", replace(EXACT, schedule="trapezoid")),
    "muon": (
        "Muon at 0.002, learning rate up and down",
        replace(EXACT, optimiser="muon", learning_rate=2e-3, schedule="trapezoid"),
    ),
    "embeddings": ("embeddings begin four times as wide", replace(EXACT, embeddings="normal")),
    "sinusoidal": ("sinusoidal positions", replace(EXACT, positions="sinusoidal")),
    "pre-norm": ("norms before the sublayers", replace(EXACT, norm="pre")),
    "tied": ("output tied to the target's embeddings", replace(EXACT, tied_output=True)),
    "betas": ("Adam's moments 0.9 and 0.98", replace(EXACT, betas=(0.9, 0.98))),
    "trainer": (
        "pieces, case, batches, embeddings and moments as this project's trainer",
        replace(
            EXACT, units="pieces", is_lower=False, batches="by-length", embeddings="normal", betas=(0.9, 0.98)
        ),
    ),
    "no-dropout": ("no dropout", replace(EXACT, dropout=0.0)),
    "fp32": ("products in fp32", replace(EXACT, precision="fp32")),
}
"""Label and recipe of each arm."""
