"""What one training step does: the loss, the optimiser and its schedule, for Lightning's loop."""

from dataclasses import asdict, dataclass
from typing import Any

import lightning
import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from typing_extensions import override

from dragoman.graphs.process_memory import give_back_free_memory
from export.model import Transformer
from training.batches import Batch
from training.config import Optimisation
from training.optimisers import learning_rate_factor, make_optimiser
from training.parallel import StepCounts, Workers
from training.stopping import StopRequest

TRIM_EVERY_STEPS = 10
"""Batches of many shapes leave free memory in pieces, about a gigabyte a minute, until it is given back."""


@dataclass(frozen=True, slots=True)
class Counters:
    """What a run has seen: pairs, target tokens and seconds of training."""

    pairs_seen: int
    tokens_seen: int
    train_seconds: float


class TranslationModule(lightning.LightningModule):
    """Cross-entropy with label smoothing (Szegedy et al. 2016) over the target's real tokens."""

    def __init__(
        self, model: Transformer, optimisation: Optimisation, workers: Workers, stop: StopRequest
    ) -> None:
        super().__init__()
        self.model = model
        self.optimisation = optimisation
        self.workers = workers
        self.stop = stop
        self.is_stopping = False
        """Whether a process of the run was asked to stop: after the step, all of them do."""
        self.num_own = (0, 0)
        """Pairs and target tokens of this process's batch."""
        self.pairs_seen = 0
        self.tokens_seen = 0
        self.train_seconds = 0.0

    @override
    def on_train_start(self) -> None:
        """Install our signal handlers over those of Lightning, which would end this process alone."""
        self.stop.install()

    @override
    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        """Make dropout a function of seed and step: a resumed run drops what it would have dropped."""
        torch.manual_seed(dropout_seed(self.optimisation.seed, self.global_step))

    @override
    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Mean loss a target token, in nats."""
        states = self.model(batch.source_ids, batch.source_mask, batch.target_in)
        logits = self.model.logits(states[batch.target_mask])  # [tokens, V]
        self.num_own = len(batch.source_ids), len(logits)
        return functional.cross_entropy(
            logits.float(),
            batch.target_out[batch.target_mask],
            label_smoothing=self.optimisation.label_smoothing,
        )

    @override
    def on_after_backward(self) -> None:
        """Average gradients, and add up counts and stop requests, over the processes of the run."""
        is_stopping = self.stop.signal_number is not None
        counts = self.workers.average(self.model, StepCounts(*self.num_own, is_stopping=is_stopping))
        self.pairs_seen += counts.pairs
        self.tokens_seen += counts.tokens
        self.is_stopping = counts.is_stopping
        if self.global_step % TRIM_EVERY_STEPS == 0:
            give_back_free_memory()

    @property
    def counters(self) -> "Counters":
        """What the run has seen so far."""
        return Counters(self.pairs_seen, self.tokens_seen, self.train_seconds)

    @override
    def configure_optimizers(self) -> Any:
        """In the shape Lightning asks for: the schedule moves with every step."""
        optimiser = make_optimiser(self.model, self.optimisation)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimiser, lambda step: learning_rate_factor(step, self.optimisation)
        )
        return {
            "optimizer": optimiser,
            "lr_scheduler": {"scheduler": schedule, "interval": "step", "frequency": 1},
        }

    @override
    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["counters"] = asdict(self.counters)

    @override
    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        counters = Counters(**checkpoint["counters"])
        self.pairs_seen = counters.pairs_seen
        self.tokens_seen = counters.tokens_seen
        self.train_seconds = counters.train_seconds


def dropout_seed(seed: int, step: int) -> int:
    """A well-mixed 64-bit seed for one step."""
    (mixed,) = np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)
    return int(mixed)


def as_translation(module: lightning.LightningModule) -> TranslationModule:
    """Return the module that Lightning hands to a callback, as what it is."""
    if not isinstance(module, TranslationModule):
        raise TypeError(f"expected a TranslationModule, not {type(module).__name__}")
    return module
