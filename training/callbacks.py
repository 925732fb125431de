"""Callbacks of the training loop: progress, validation, snapshots for averaging."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import lightning
import sentencepiece
import torch
from lightning.pytorch.callbacks import Callback
from typing_extensions import override

from training.bars import StepBar, step_bar, write_line
from training.config import TrainingConfig
from training.history import LOSS_EVERY_STEPS, Event, History
from training.module import as_translation_module
from training.validation import HeldOut, validate

SNAPSHOT_PATTERN = "step-*.pt"


class ProgressCallback(Callback):
    """A bar with loss, pairs per second and time left; the loss is also appended to the history."""

    def __init__(self, config: TrainingConfig, history: History) -> None:
        self.total_steps = config.optimisation.steps
        self.history = history
        self.bar: StepBar | None = None
        self.step_began = 0.0
        self.losses: list[torch.Tensor] = []
        self.mark = (0.0, 0)

    @override
    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self.history.rewind(trainer.global_step)
        self.bar = step_bar(self.total_steps, trainer.global_step)
        self.mark = (time.monotonic(), as_translation_module(pl_module).counters.pairs_seen)

    @override
    def on_train_batch_start(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, batch: Any, batch_idx: int
    ) -> None:
        self.step_began = time.monotonic()

    @override
    def on_train_batch_end(
        self,
        trainer: lightning.Trainer,
        pl_module: lightning.LightningModule,
        outputs: Any,
        batch: Any,
        batch_idx: int,
    ) -> None:
        counters = as_translation_module(pl_module).counters
        counters.train_seconds += time.monotonic() - self.step_began
        self.losses.append(outputs["loss"].detach())
        if self.bar is None:
            raise RuntimeError("training has not started")
        self.bar.update(1)
        if trainer.global_step % LOSS_EVERY_STEPS == 0:
            loss = torch.stack(self.losses).mean().item()
            self.losses.clear()
            now, pairs = time.monotonic(), counters.pairs_seen
            rate = (pairs - self.mark[1]) / (now - self.mark[0])
            self.mark = (now, pairs)
            self.bar.set_postfix(loss=f"{loss:.3f}", pairs_per_s=f"{rate:.0f}", refresh=False)
            self.history.append(Event(trainer.global_step, pairs, counters.train_seconds, loss=loss))

    @override
    def on_train_end(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self._close()

    @override
    def on_exception(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, exception: BaseException
    ) -> None:
        self._close()

    def _close(self) -> None:
        """Close the bar, so that the next message starts on a new line."""
        if self.bar is not None:
            self.bar.close()


class ValidationCallback(Callback):
    """BLEU and chrF on held-out lines of each direction, computed and plotted every `every_steps` steps."""

    def __init__(
        self,
        config: TrainingConfig,
        history: History,
        held_out: Sequence[HeldOut],
        processors: tuple[sentencepiece.SentencePieceProcessor, sentencepiece.SentencePieceProcessor],
    ) -> None:
        self.every_steps = config.validation.every_steps
        self.last_step = config.optimisation.steps
        self.held_out = held_out
        self.processors = processors
        self.history = history

    @override
    def on_train_batch_end(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, *_: Any
    ) -> None:
        step = trainer.global_step
        if step % self.every_steps and step != self.last_step:
            return
        module = as_translation_module(pl_module)
        for lines in self.held_out:
            scores = validate(module.model, lines, *self.processors)
            write_line(f"step {step}, {lines.direction}: BLEU {scores.bleu:.2f}, chrF {scores.chrf:.2f}")
            state = (step, module.counters.pairs_seen, module.counters.train_seconds)
            self.history.append(Event(*state, bleu=scores.bleu, chrf=scores.chrf, direction=lines.direction))
        self.history.plot()


class SnapshotCallback(Callback):
    """Saved weights of every n-th step and the last; the newest few are averaged into the final model."""

    def __init__(self, config: TrainingConfig) -> None:
        self.folder = config.run_dir / "snapshots"
        self.every_steps = config.checkpoints.snapshot_every_steps
        self.keep = config.checkpoints.average_last
        self.last_step = config.optimisation.steps

    @override
    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        """Delete snapshots later than the resume point: those steps are repeated."""
        for path in snapshot_paths(self.folder):
            if _step_of(path) > trainer.global_step:
                path.unlink()

    @override
    def on_train_batch_end(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, *_: Any
    ) -> None:
        step = trainer.global_step
        if step % self.every_steps and step != self.last_step:
            return
        self.folder.mkdir(exist_ok=True)
        path = self.folder / f"step-{step:08d}.pt"
        partial = path.with_suffix(".partial")
        torch.save(as_translation_module(pl_module).model.state_dict(), partial)
        partial.replace(path)
        for old in snapshot_paths(self.folder)[: -self.keep]:
            old.unlink()


def snapshot_paths(folder: Path) -> list[Path]:
    """Return the paths of the snapshots, oldest first."""
    return sorted(folder.glob(SNAPSHOT_PATTERN))


def average_snapshots(paths: list[Path]) -> dict[str, torch.Tensor]:
    """Return the mean of each weight over snapshots (Vaswani et al. 2017, section 6.1)."""
    states = [torch.load(path, map_location="cpu", weights_only=True) for path in paths]
    return {name: torch.stack([state[name].float() for state in states]).mean(dim=0) for name in states[0]}


def _step_of(snapshot: Path) -> int:
    return int(snapshot.stem.removeprefix("step-"))
