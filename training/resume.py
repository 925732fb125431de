"""Resume points: written at intervals, after the last step and at a signal; read at the next start."""

import logging
import os
import re
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import Callback
from typing_extensions import override

from training.config import OptimisationSettings, TrainingConfig
from training.errors import RunFolderError, TrainingStopped
from training.module import TranslationModule, as_translation_module

log = logging.getLogger(__name__)

MAX_RESUME_POINTS = 2

_NAME = re.compile(r"(\d+)(-v\d+)?\.ckpt")


@dataclass(frozen=True, slots=True)
class ResumePoint:
    """A Lightning checkpoint with weights, optimiser, schedule and counters after `step` steps."""

    path: Path
    step: int


class ResumePointCallback(Callback):
    """Callback that writes resume points between steps, when weights, optimiser and counters agree.

    It must be the last callback, so that the others have finished with a step before the step is on disk.
    """

    def __init__(self, config: TrainingConfig) -> None:
        self.folder = config.run_dir / "resume"
        self.every_seconds = 60.0 * config.checkpoints.every_minutes
        self.last_step = config.optimisation.steps
        self.written_at = time.monotonic()

    @override
    def on_train_start(self, trainer: lightning.Trainer, pl_module: lightning.LightningModule) -> None:
        self.written_at = time.monotonic()

    @override
    def on_train_batch_end(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, *_: Any
    ) -> None:
        step = trainer.global_step
        module = as_translation_module(pl_module)
        is_due = time.monotonic() - self.written_at >= self.every_seconds
        if is_due or step == self.last_step or module.is_stopping:
            self._write(trainer)
        raise_if_stopping(module, step, self.last_step)

    def _write(self, trainer: lightning.Trainer) -> None:
        """Write a resume point under a temporary name first: a kill then leaves the previous one intact."""
        self.folder.mkdir(exist_ok=True)
        path = self.folder / f"{trainer.global_step:08d}.ckpt"
        partial = path.with_suffix(".partial")
        trainer.save_checkpoint(partial)
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(path)
        for old in resume_points(self.folder.parent)[:-MAX_RESUME_POINTS]:
            old.path.unlink()
        self.written_at = time.monotonic()


class StopCallback(Callback):
    """Callback that ends a process other than the first one when the run has to stop; it writes nothing."""

    def __init__(self, config: TrainingConfig) -> None:
        self.last_step = config.optimisation.steps

    @override
    def on_train_batch_end(
        self, trainer: lightning.Trainer, pl_module: lightning.LightningModule, *_: Any
    ) -> None:
        raise_if_stopping(as_translation_module(pl_module), trainer.global_step, self.last_step)


def raise_if_stopping(module: TranslationModule, step: int, last_step: int) -> None:
    """Raise TrainingStopped between two steps if a process of the run has a stop request."""
    if module.is_stopping and step < last_step:
        raise TrainingStopped(module.stop.signal_number or signal.SIGTERM, step)


def resume_points(run_dir: Path) -> list[ResumePoint]:
    """Return all resume points, the one with the most steps last."""
    named = [(path, _NAME.fullmatch(path.name)) for path in (run_dir / "resume").glob("*.ckpt")]
    points = [ResumePoint(path, int(name[1])) for path, name in named if name]
    return sorted(points, key=lambda point: (point.step, point.path.name))


def check_resume_point(point: ResumePoint, module: TranslationModule) -> None:
    """Compare a resume point's weights and optimiser with the config.

    Raises:
        RunFolderError: they belong to another [model] or other optimizer settings. The resume point overrides
            these settings, so that a change in the config would have no effect.
    """
    state = torch.load(point.path, map_location="cpu", weights_only=True, mmap=True)
    weights = module.state_dict()
    differing = sorted(
        name
        for name in state["state_dict"].keys() | weights.keys()
        if _shape(state["state_dict"], name) != _shape(weights, name)
    )
    differing += _differing_settings(state["optimizer_states"][0], module.optimisation)
    if differing:
        raise RunFolderError(
            f"{point.path} was written with other [model] or optimizer settings ({len(differing)} differ, "
            f"first {differing[0]}); choose another run_dir or the old settings"
        )


def load_resume_point(point: ResumePoint, module: TranslationModule) -> None:
    """Load weights and counters only, which is all that a run needs after its last step."""
    state = torch.load(point.path, map_location="cpu", weights_only=True)
    module.load_state_dict(state["state_dict"])
    module.on_load_checkpoint(state)


def _differing_settings(optimiser_state: dict[str, Any], settings: OptimisationSettings) -> list[str]:
    parts = optimiser_state.get("parts")
    if (parts is not None) != (settings.optimizer == "muon"):
        return ["optimizer"]
    groups = [group for part in parts or [optimiser_state] for group in part["param_groups"]]
    saved = {
        "learning_rate": [group["initial_lr"] for group in groups],
        "weight_decay": [group["weight_decay"] for group in groups],
    }
    configured = {"learning_rate": settings.learning_rate, "weight_decay": settings.weight_decay}
    return [name for name, values in saved.items() if any(value != configured[name] for value in values)]


def _shape(weights: dict[str, torch.Tensor], name: str) -> torch.Size | None:
    return weights[name].shape if name in weights else None
