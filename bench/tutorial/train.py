"""Training of one model of the tutorial, which goes on after a stop at the last whole epoch."""

import math
import random
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import sacrebleu
import torch
from safetensors.torch import load_model, save_model
from torch import Tensor, nn

from bench.provenance import CHECKPOINT_WEIGHTS, read_result, write_json
from bench.tutorial.data import (
    PAD,
    Line,
    Pairs,
    Vocabulary,
    build_vocabulary,
    make_batches,
    pad,
    sorted_batches,
    split_by_length,
)
from bench.tutorial.model import TutorialTransformer
from bench.tutorial.recipes import MAX_POSITIONS, Recipe
from training.loss import linear_cross_entropy
from training.optimisers import MuonWithAdamW

HISTORY_FILE, RESUME_FILE = "history.json", "resume.pt"
TRANSLATE_ROWS = 50
"""Number of texts that are translated together."""
PARTS = 3
"""Number of parts in which a random batch goes through the model; its loss and gradients are the same."""
WARMUP, DECAY = 0.1, 0.4
"""Shares of all steps in which the learning rate of a trapezoid goes up, and down."""
Choice = Literal["loss", "bleu", "last"]
CHOICES: tuple[Choice, ...] = ("loss", "bleu", "last")
"""Epochs that are kept: lowest loss or highest BLEU on the development set, and the last one."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Source and target texts, line by line."""

    source: Sequence[str]
    target: Sequence[str]


@dataclass(frozen=True, slots=True)
class Data:
    """What one recipe makes of the texts."""

    source: Vocabulary
    target: Vocabulary
    train: Pairs
    dev: Pairs

    @classmethod
    def build(cls, recipe: Recipe, train: Texts, dev: Texts) -> "Data":
        """Make the vocabularies and number all texts."""
        source = build_vocabulary(recipe, train.source, "de")
        target = build_vocabulary(recipe, train.target, "en")
        pairs = [
            [*zip(map(source.encode, one.source), map(target.encode, one.target), strict=True)]
            for one in (train, dev)
        ]
        longest = max(len(line) for several in pairs for pair in several for line in pair)
        if longest + 2 > MAX_POSITIONS:
            raise ValueError(f"a text has {longest} units, and the model has {MAX_POSITIONS} positions")
        return cls(source, target, *pairs)


@dataclass(frozen=True, slots=True)
class Run:
    """A model with its optimiser, schedule and the folder of its states."""

    recipe: Recipe
    seed: int
    model: TutorialTransformer
    optimiser: torch.optim.Optimizer
    schedule: torch.optim.lr_scheduler.LambdaLR
    folder: Path

    @classmethod
    def begin(cls, recipe: Recipe, seed: int, data: Data, folder: Path) -> "Run":
        """Make the first weights from the seed."""
        torch.manual_seed(seed)
        model = TutorialTransformer(recipe, len(data.source), len(data.target))
        optimiser = make_optimiser(model, recipe)
        steps = recipe.epochs * math.ceil(len(data.train) / recipe.batch_size)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimiser, partial(learning_rate_factor, recipe=recipe, steps=steps)
        )
        return cls(recipe, seed, model, optimiser, schedule, folder)

    def products(self) -> AbstractContextManager[Any]:
        """Return a context in which matrix products run in the recipe's precision."""
        return torch.autocast("cpu", torch.bfloat16, enabled=self.recipe.precision == "bf16")

    def loss(self, pairs: Pairs, label_smoothing: float) -> Tensor:
        """Return the mean loss of the target's units and EOS, in nats."""
        source, target = (pad([pair[side] for pair in pairs]) for side in (0, 1))
        wanted = target[:, 1:]
        is_unit = wanted != PAD
        with self.products():
            states = self.model(source, target[:, :-1])[is_unit]
        states = states.bfloat16() if self.recipe.precision == "bf16" else states
        output = self.model.output
        return linear_cross_entropy(states, output.weight, output.bias, wanted[is_unit], label_smoothing)

    def save(self) -> None:
        """Write weights, optimiser and schedule, to resume from."""
        state = {
            "model": self.model.state_dict(),
            "optimiser": self.optimiser.state_dict(),
            "schedule": self.schedule.state_dict(),
        }
        path = self.folder / RESUME_FILE
        torch.save(state, path.with_suffix(".partial"))
        path.with_suffix(".partial").replace(path)

    def resume(self) -> None:
        """Read what `save` wrote."""
        state = torch.load(self.folder / RESUME_FILE, weights_only=True)
        self.model.load_state_dict(state["model"])
        self.optimiser.load_state_dict(state["optimiser"])
        self.schedule.load_state_dict(state["schedule"])

    def keep(self, choice: Choice) -> None:
        """Write the weights of an epoch that a choice keeps."""
        (self.folder / choice).mkdir(parents=True, exist_ok=True)
        save_model(self.model, str(self.folder / choice / CHECKPOINT_WEIGHTS))

    def load(self, choice: Choice) -> None:
        """Read what `keep` wrote."""
        load_model(self.model, self.folder / choice / CHECKPOINT_WEIGHTS)


def make_optimiser(model: TutorialTransformer, recipe: Recipe) -> torch.optim.Optimizer:
    """Return Adam, or Muon for the matrices of the layers with Adam for the rest."""
    matrices = [
        module.weight
        for side in (model.encoder, model.decoder)
        for module in side.modules()
        if isinstance(module, nn.Linear) and recipe.optimiser == "muon"
    ]
    ids = {id(matrix) for matrix in matrices}
    others = [one for one in model.parameters() if one.requires_grad and id(one) not in ids]
    adam = torch.optim.Adam(others, lr=recipe.learning_rate, betas=recipe.betas, fused=True)
    if not matrices:
        return adam
    muon = torch.optim.Muon(
        matrices, lr=recipe.learning_rate, weight_decay=0.0, adjust_lr_fn="match_rms_adamw"
    )
    return MuonWithAdamW(muon, adam)


def learning_rate_factor(step: int, recipe: Recipe, steps: int) -> float:
    """Return the share of the learning rate at a step."""
    if recipe.schedule == "constant":
        return 1.0
    return max(0.0, min(1.0, (step + 1) / (WARMUP * steps), (steps - step) / (DECAY * steps)))


def train(
    run: Run, data: Data, dev_words: Sequence[Sequence[str]], report: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Train to the last epoch; return a row of each epoch.

    The folder has the weights after the epochs that `CHOICES` names. The development set is translated after
    the epochs of the second half, because that takes a third as long as training.

    Args:
        run: begun, or with a folder that has some epochs.
        data: numbered texts.
        dev_words: words of the development set's references.
        report: is given a line of each epoch.
    """
    path = run.folder / HISTORY_FILE
    history: list[dict[str, Any]] = read_result(path)["epochs"] if path.is_file() else []
    if history:
        run.resume()
    for epoch in range(len(history), run.recipe.epochs):
        began = time.process_time()
        losses = train_epoch(run, data.train, epoch)
        row = {"train_loss": sum(losses) / len(losses), "dev_loss": dev_loss(run, data.dev)}
        if epoch >= run.recipe.epochs // 2:
            outputs = translate(run.model, data, [source for source, _ in data.dev])
            row["dev_bleu"] = corpus_bleu(outputs, dev_words, is_lower=True)
        row["cpu_s"] = time.process_time() - began
        history.append({name: round(value, 4) for name, value in row.items()})
        for choice in CHOICES:
            if chosen_epoch(history, choice) == epoch:
                run.keep(choice)
        run.save()
        write_json(path, {"epochs": history})
        report(f"epoch {epoch + 1}: {history[-1]}")
    return history


def train_epoch(run: Run, pairs: Pairs, epoch: int) -> list[float]:
    """Train on all pairs once, as the seed and the epoch decide; return the loss of each batch."""
    run.model.train()
    run.model.seed_dropout(run.seed, epoch)
    losses = []
    rng = random.Random(f"{run.seed} {epoch}")  # noqa: S311 -- no secret
    for batch in make_batches(run.recipe, pairs, rng):
        run.optimiser.zero_grad()
        losses.append(add_gradients(run, batch))
        nn.utils.clip_grad_norm_(run.model.parameters(), run.recipe.clip_norm)
        run.optimiser.step()
        run.schedule.step()
    return losses


def add_gradients(run: Run, batch: Pairs) -> float:
    """Add the gradients of the mean loss of a batch, and return it; parts of like lengths save padding."""
    parts = split_by_length(batch, PARTS if run.recipe.batches == "random" else 1)
    counts = [sum(len(target) + 1 for _, target in part) for part in parts]
    mean = 0.0
    for part, count in zip(parts, counts, strict=True):
        loss = run.loss(part, run.recipe.label_smoothing) * (count / sum(counts))
        loss.backward()  # type: ignore[no-untyped-call]
        mean += loss.item()
    return mean


@torch.no_grad()
def dev_loss(run: Run, pairs: Pairs) -> float:
    """Return the mean over batches of the loss without smoothing, as the tutorial takes it."""
    run.model.eval()
    losses = [run.loss(batch, 0.0).item() for batch in sorted_batches(pairs, run.recipe.batch_size)]
    return sum(losses) / len(losses)


def chosen_epoch(history: Sequence[dict[str, Any]], choice: Choice) -> int:
    """Return the index of the epoch that a choice keeps; of equal ones the first."""
    if choice == "last":
        return len(history) - 1
    values = [row["dev_loss"] if choice == "loss" else -row.get("dev_bleu", 0.0) for row in history]
    return values.index(min(values))


def translate(model: TutorialTransformer, data: Data, lines: Sequence[Line]) -> list[list[str]]:
    """Return the words of the greedy translation of each line, in the case of the model."""
    return [data.target.decode(ids) for ids in translate_ids(model, lines)]


def translate_ids(model: TutorialTransformer, lines: Sequence[Line]) -> list[list[int]]:
    """Return the ids of the greedy translation of each line."""
    model.eval()
    order = sorted(range(len(lines)), key=lambda index: len(lines[index]))
    outputs: dict[int, list[int]] = {}
    for first in range(0, len(order), TRANSLATE_ROWS):
        rows = order[first : first + TRANSLATE_ROWS]
        outputs |= dict(zip(rows, model.translate(pad([lines[row] for row in rows])), strict=True))
    return [outputs[row] for row in range(len(lines))]


def corpus_bleu(
    outputs: Sequence[Sequence[str]], references: Sequence[Sequence[str]], *, is_lower: bool
) -> float:
    """Return BLEU of words, 0 to 100, without smoothing, as the tutorial takes it."""
    metric = sacrebleu.BLEU(lowercase=is_lower, tokenize="none", smooth_method="none", force=True)
    return float(metric.corpus_score([*map(" ".join, outputs)], [[*map(" ".join, references)]]).score)
