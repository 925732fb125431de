"""A whole run: prepare, train or resume, average, write the checkpoint."""

import logging
import platform
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import lightning
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch.utils.data import DataLoader, IterableDataset

from export.checkpoint import save_weights
from export.model import ModelConfig, Transformer
from training.batches import Batch, BatchPlan, BatchStream
from training.callbacks import Progress, Snapshots, Validation, snapshot_paths
from training.config import TrainingConfig
from training.history import History
from training.module import TranslationModule
from training.prepare import prepare
from training.tokenised import TokenisedCorpus
from training.vocabulary import SOURCE_FILE, TARGET_FILE, load_vocabularies

log = logging.getLogger(__name__)

NEVER_STARTED = 0


class _Stream(IterableDataset[Batch]):
    """`BatchStream` as Lightning's data loader wants it."""

    def __init__(self, stream: BatchStream) -> None:
        self.stream = stream

    def __iter__(self) -> Any:
        return iter(self.stream)


def train(config: TrainingConfig) -> Path:
    """Train to the last step, going on from the newest resume point; returns the checkpoint folder.

    After a signal or a kill the same call goes on: resume points are at most `checkpoints.every_minutes`
    apart, and SIGTERM writes one before it ends the run.
    """
    lightning.seed_everything(config.optimisation.seed, verbose=False)
    torch.set_num_threads(config.optimisation.threads)
    corpora = prepare(config)
    module = TranslationModule(make_model(config), config.optimisation)
    history = History(config.run_dir)
    resume_point = newest_resume_point(config.run_dir)
    first_step = _step_of(resume_point)
    if resume_point is not None:
        log.info("going on from step %d", first_step)
    if first_step < config.optimisation.steps:
        loader = DataLoader(_Stream(_batches(config, corpora, first_step)), batch_size=None)
        _trainer(config, history).fit(module, loader, ckpt_path=resume_point, weights_only=True)
    elif resume_point is not None:
        _load_module(module, resume_point)
    return _finish(config, module, history)


def make_model(config: TrainingConfig) -> Transformer:
    """A fresh model with the config's shape and the run's vocabulary sizes."""
    source, target = load_vocabularies(config.run_dir / "data")
    shape = config.model.model_dump()
    return Transformer(
        ModelConfig(
            source_vocab_size=source.vocab_size(),
            target_vocab_size=target.vocab_size(),
            shared_vocab=config.vocabulary.is_shared,
            pad_id=source.pad_id(),
            unk_id=source.unk_id(),
            bos_id=source.bos_id(),
            eos_id=source.eos_id(),
            **shape,
        )
    )


def newest_resume_point(run_dir: Path) -> Path | None:
    """The resume point with the most steps."""
    return max((run_dir / "resume").glob("*.ckpt"), key=_step_of, default=None)


def average_snapshots(paths: list[Path]) -> dict[str, torch.Tensor]:
    """Mean of each weight over snapshots (Vaswani et al. 2017, section 6.1)."""
    states = [torch.load(path, map_location="cpu", weights_only=True) for path in paths]
    return {name: torch.stack([state[name].float() for state in states]).mean(dim=0) for name in states[0]}


def _trainer(config: TrainingConfig, history: History) -> lightning.Trainer:
    resume_points = ModelCheckpoint(
        dirpath=config.run_dir / "resume",
        filename="{step:08d}",
        auto_insert_metric_name=False,
        monitor="step",
        mode="max",
        save_top_k=2,
        train_time_interval=timedelta(minutes=config.checkpoints.every_minutes),
        save_on_exception=True,
    )
    settings = config.optimisation
    return lightning.Trainer(
        accelerator=settings.accelerator,
        devices=1,
        precision=settings.precision,
        max_steps=settings.steps,
        max_epochs=-1,
        gradient_clip_val=settings.clip_norm,
        callbacks=[
            Progress(config, history),
            Validation(config, history),
            Snapshots(config.run_dir / "snapshots", config),
            resume_points,
        ],
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        default_root_dir=config.run_dir,
    )


def _batches(config: TrainingConfig, corpora: list[TokenisedCorpus], first_step: int) -> BatchStream:
    source, _ = load_vocabularies(config.run_dir / "data")
    plan = BatchPlan(
        weights=tuple(corpus.weight for corpus in config.data.corpora),
        budget_tokens=config.optimisation.budget_tokens,
        seed=config.optimisation.seed,
        pad_id=source.pad_id(),
        bos_id=source.bos_id(),
    )
    return BatchStream(corpora, plan, first_step)


def _finish(config: TrainingConfig, module: TranslationModule, history: History) -> Path:
    paths = snapshot_paths(config.run_dir / "snapshots")
    if paths:
        module.model.load_state_dict(average_snapshots(paths))
    history.plot()
    folder = config.run_dir / "checkpoint"
    save_weights(folder, module.model.eval(), _record(config, module, history, len(paths)))
    for name in (SOURCE_FILE, TARGET_FILE):
        if (config.run_dir / "data" / name).exists():
            shutil.copyfile(config.run_dir / "data" / name, folder / name)
    log.info("checkpoint written to %s", folder)
    return folder


def _record(
    config: TrainingConfig, module: TranslationModule, history: History, num_averaged: int
) -> dict[str, Any]:
    best = history.best()
    return {
        "source_language": config.data.source_language,
        "target_language": config.data.target_language,
        "data": [
            {"name": corpus.name, "weight": corpus.weight, "licence": corpus.licence}
            for corpus in config.data.corpora
        ],
        "steps": config.optimisation.steps,
        "pairs_seen": module.pairs_seen,
        "target_tokens_seen": module.tokens_seen,
        "train_hours": round(module.train_seconds / 3600, 2),
        "averaged_snapshots": num_averaged,
        "machine": f"{platform.machine()}, {config.optimisation.threads} threads",
        "best_validation_bleu_greedy": None if best is None else best.bleu,
        "optimisation": config.optimisation.model_dump(),
    }


def _load_module(module: TranslationModule, resume_point: Path) -> None:
    state = torch.load(resume_point, map_location="cpu", weights_only=True)
    module.load_state_dict(state["state_dict"])
    module.on_load_checkpoint(state)


def _step_of(resume_point: Path | None) -> int:
    """Resume points are named by their step; a version suffix may follow."""
    return NEVER_STARTED if resume_point is None else int(resume_point.stem.split("-")[0])
