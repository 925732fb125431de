"""Plans: which models to train, how long, and in which order."""

from dataclasses import dataclass, replace

SOURCE_LANGUAGE, TARGET_LANGUAGE = "de", "en"
PUBLISHED_BLEU = 36.52
"""BLEU of the tutorial's Transformer on the same test set: lower-cased, tokenized by spaCy, greedy."""
PUBLISHED_AT = (
    "https://github.com/bentrevett/pytorch-seq2seq/blob/"
    "7faa64a895fe4b76cb87409d66a0ba349a78298e/6%20-%20Attention%20is%20All%20You%20Need.ipynb"
)


@dataclass(frozen=True, slots=True)
class Shape:
    """Fields of a recipe's `[model]`; `export.model.config` explains them."""

    encoder_layers: int = 6
    decoder_layers: int = 2
    d_model: int = 256
    heads: int = 8
    ffn: int = 1024
    norm: str = "pre"
    positions: str = "sinusoidal"
    max_positions: int = 512
    tied_output: bool = True
    share_kv: bool = False
    dropout: float = 0.1
    inner_dropout: float = 0.0


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Number of pieces of the shared vocabulary, or of each of two."""

    size: int = 8000
    is_shared: bool = True


@dataclass(frozen=True, slots=True)
class Budget:
    """How, and how long, to train a model; `training.config` explains the fields."""

    steps: int = 500
    warmup_steps: int = 50
    decay_steps: int = 200
    budget_tokens: int = 4000
    optimizer: str = "muon"
    learning_rate: float = 2e-3
    weight_decay: float = 0.01
    label_smoothing: float = 0.1
    precision: str = "bf16-mixed"
    average_last: int = 5
    validated_lines: int = 200
    """Number of lines of the development set, validated at half time and at the end."""


@dataclass(frozen=True, slots=True)
class Arm:
    """An arm of an experiment: all settings except the seed."""

    name: str
    label: str
    """Name in the table and the plot."""
    shape: Shape = Shape()
    vocabulary: Vocabulary = Vocabulary()
    budget: Budget = Budget()

    @property
    def max_tokens(self) -> int:
        """Maximum number of tokens on a side of a training pair, limited by the shape's positions."""
        return min(200, self.shape.max_positions - 1)


@dataclass(frozen=True, slots=True)
class Run:
    """The training of an arm with one seed."""

    arm: Arm
    seed: int

    @property
    def name(self) -> str:
        return f"{self.arm.name}-seed{self.seed}"


@dataclass(frozen=True, slots=True)
class Plan:
    """All runs of an experiment."""

    name: str
    """Name of the results."""
    arms: tuple[Arm, ...]
    """Arms; the others are compared with the first."""
    seeds: tuple[int, ...]
    licence: str
    """Licence of the text, stored with the models."""
    most_pairs: int | None = None
    """Maximum number of training pairs; None: all."""
    most_dev_lines: int | None = None
    most_test_lines: int | None = None

    def passes(self) -> tuple[tuple[Run, ...], ...]:
        """Return the passes: all arms with the first seed, then the other seeds, base-budget arms first.

        Arms can be compared after every pass. The longest runs of the first pass come first, so that none
        runs alone at its end.
        """
        first, *more = self.seeds
        alike = [arm for arm in self.arms if arm.budget == self.arms[0].budget]
        others = [arm for arm in self.arms if arm not in alike]
        passes = (
            [Run(arm, first) for arm in sorted(self.arms, key=lambda arm: -arm.budget.steps)],
            *([Run(arm, seed) for arm in alike] for seed in more),
            [Run(arm, seed) for seed in more for arm in others],
        )
        return tuple(tuple(one) for one in passes if one)

    def runs(self) -> tuple[Run, ...]:
        """Return all runs in the order in which they are made."""
        return tuple(run for one in self.passes() for run in one)


BASE = Arm("base", "6+2 layers, shared vocabulary")
TIED = Arm("tied-kv", "K and V tied", shape=Shape(share_kv=True))
DEPTHS = (
    Arm("decoder-1", "7+1 layers", shape=Shape(encoder_layers=7, decoder_layers=1)),
    Arm("decoder-6", "2+6 layers", shape=Shape(encoder_layers=2, decoder_layers=6)),
)
VOCABULARIES = (
    Arm("separate-8000", "two vocabularies of 8,000", vocabulary=Vocabulary(8000, is_shared=False)),
    Arm("separate-4000", "two vocabularies of 4,000", vocabulary=Vocabulary(4000, is_shared=False)),
)
TUTORIAL = Arm(
    "tutorial",
    "tutorial's 3+3 layers",
    shape=Shape(
        encoder_layers=3,
        decoder_layers=3,
        ffn=512,
        norm="post",
        positions="learned",
        max_positions=100,
        tied_output=False,
        inner_dropout=0.1,
    ),
    vocabulary=Vocabulary(8000, is_shared=False),
    # Ten passes over the text in batches of about 128 pairs; Adam at a constant rate.
    budget=Budget(
        steps=2300,
        warmup_steps=1,
        decay_steps=1,
        optimizer="adamw",
        learning_rate=5e-4,
        weight_decay=0.0,
        label_smoothing=0.0,
        precision="32-true",
        average_last=1,
    ),
)
SHAPES = Plan(
    "shapes",
    (BASE, TIED, *DEPTHS, *VOCABULARIES, TUTORIAL),
    seeds=(1, 2, 3),
    licence="Multi30k captions, for research only; nothing trained on them may be shipped",
    most_dev_lines=300,
)


def _size(d_model: int, steps: int) -> Arm:
    return Arm(
        f"d-{d_model}",
        f"{d_model} wide",
        shape=Shape(d_model=d_model, heads=d_model // 32, ffn=4 * d_model, dropout=0.0),
        budget=Budget(steps=steps, warmup_steps=steps // 10, decay_steps=2 * steps // 5),
    )


SIZES = Plan(
    "sizes",
    # Numbers of steps that took equal time when first measured: a step of the widest model takes 4.5 times
    # as long as one of the narrowest.
    (_size(256, 1000), _size(128, 2270), _size(384, 500)),
    seeds=(1,),
    licence="Tatoeba sentences, CC BY 2.0 FR, credit tatoeba.org",
    most_dev_lines=300,
)
PLANS = {plan.name: plan for plan in (SHAPES, SIZES)}


def smoke_plan(plan: Plan) -> Plan:
    """Return a quick test of a plan: its first two arms, with small models, few pairs and three steps."""
    budget = Budget(steps=3, warmup_steps=1, decay_steps=1, validated_lines=4)
    arms = tuple(
        replace(
            arm,
            shape=replace(arm.shape, encoder_layers=2, decoder_layers=1, d_model=64, ffn=128),
            vocabulary=Vocabulary(500),
            budget=budget,
        )
        for arm in plan.arms[:2]
    )
    return replace(plan, arms=arms, seeds=(1,), most_pairs=200, most_dev_lines=200, most_test_lines=20)
