"""The Lightning module of training: the loss, the optimiser and its schedule."""

from dataclasses import asdict, dataclass
from typing import Any

import lightning
import numpy as np
import torch
from torch import Tensor
from torch.func import functional_call
from typing_extensions import override

from dragoman.graphs.process_memory import give_back_free_memory
from export.model import TranslationModel
from training.batches import Batch
from training.config import OptimisationSettings
from training.loss import sampled_cross_entropy
from training.machine import layer_dtype
from training.optimisers import learning_rate_factor, make_optimiser
from training.parallel import ProcessGroup, StepCounts
from training.stopping import StopRequest

TRIM_EVERY_STEPS = 10
"""Steps between releases of free memory; batches of many shapes fragment about a gigabyte of it a minute."""

LAYER_PREFIXES = ("encoder", "decoder")
"""Beginnings of the names of all weights between the embeddings and the output projection."""


@dataclass(slots=True)
class Counters:
    """Totals of a run so far: pairs and target tokens seen, and seconds of training."""

    pairs_seen: int = 0
    tokens_seen: int = 0
    train_seconds: float = 0.0


class TranslationModule(lightning.LightningModule):
    """Training with label-smoothed cross-entropy over target tokens without padding."""

    def __init__(
        self,
        model: TranslationModel,
        optimisation: OptimisationSettings,
        workers: ProcessGroup,
        stop: StopRequest,
    ) -> None:
        super().__init__()
        self.model = model
        self.optimisation = optimisation
        self.workers = workers
        self.stop = stop
        self.is_stopping = False
        """Whether any process of the run has a stop request; all of them stop after the step."""
        self.num_own = (0, 0)
        """Number of pairs and target tokens in this process's batch."""
        self.counters = Counters()

    @override
    def on_train_start(self) -> None:
        """Replace Lightning's signal handlers, which would end only this process, by our own."""
        self.stop.install()

    @override
    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        """Seed dropout from seed and step, so that a resumed run drops the same units."""
        torch.manual_seed(dropout_seed(self.optimisation.seed, self.global_step))

    @override
    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Return the mean loss per target token, in nats."""
        inputs = (batch.source_ids, batch.source_mask, batch.target_in)
        padded: Tensor = functional_call(self.model, self._layer_weights(), inputs)
        states = padded[batch.target_mask]  # [tokens, d]
        self.num_own = len(batch.source_ids), len(states)
        return sampled_cross_entropy(
            states,
            self.model.output_projection,
            self.model.output_bias,
            batch.target_out[batch.target_mask],
            self.optimisation.label_smoothing,
            self.optimisation.sampled_pieces or len(self.model.output_bias),
        )

    def _layer_weights(self) -> dict[str, Tensor]:
        """Return the weights of encoder and decoder in the precision of the step, by name.

        Sums over many tokens, as in the gradient of an embedding, need more digits than bfloat16 has: the
        embeddings stay as they are.
        """
        dtype = layer_dtype(self.optimisation.precision, self.device, torch.cpu.get_capabilities())
        return {
            name: weight.to(dtype)
            for name, weight in self.model.named_parameters()
            if name.startswith(LAYER_PREFIXES)
        }

    @override
    def on_after_backward(self) -> None:
        """Average gradients and add up counts and stop requests over the processes of the run."""
        is_stopping = self.stop.signal_number is not None
        counts = self.workers.average(self.model, StepCounts(*self.num_own, is_stopping=is_stopping))
        self.counters.pairs_seen += counts.pairs
        self.counters.tokens_seen += counts.tokens
        self.is_stopping = counts.is_stopping
        if self.global_step % TRIM_EVERY_STEPS == 0:
            give_back_free_memory()

    @override
    def configure_optimizers(self) -> Any:
        """Return optimiser and schedule as Lightning expects them; the schedule advances with every step."""
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
        self.counters = Counters(**checkpoint["counters"])


def dropout_seed(seed: int, step: int) -> int:
    """Return a well-mixed 64-bit seed for one step."""
    (mixed,) = np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)
    return int(mixed)


def as_translation_module(module: lightning.LightningModule) -> TranslationModule:
    """Narrow the type of the module that Lightning passes to a callback.

    Raises:
        TypeError: it is no TranslationModule.
    """
    if not isinstance(module, TranslationModule):
        raise TypeError(f"expected a TranslationModule, not {type(module).__name__}")
    return module
