"""A training run: prepare, train or resume, average, write the checkpoint."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import lightning
import sentencepiece
import torch
from lightning.fabric.utilities.exceptions import MisconfigurationException
from torch.utils.data import DataLoader

from export.checkpoint import save_weights
from export.model import ModelConfig, TranslationModel, model_class
from training.batches import BatchSettings, BatchStream
from training.callbacks import (
    ProgressCallback,
    SnapshotCallback,
    ValidationCallback,
    average_snapshots,
    snapshot_paths,
)
from training.config import TrainingConfig
from training.controls import controls_record
from training.errors import ConfigError, TrainingStopped
from training.history import Event, History
from training.machine import describe_machine
from training.module import Counters, TranslationModule
from training.parallel import ProcessGroup, meet, start_workers
from training.prepare import WeightedCorpus, prepare
from training.resume import (
    ResumePointCallback,
    StopCallback,
    check_resume_point,
    load_resume_point,
    resume_points,
)
from training.start import data_seed, load_start_weights
from training.stopping import StopRequest, ignore_stop_signals
from training.validation import HeldOut, validate
from training.vocabulary import copy_vocabularies, load_vocabularies

log = logging.getLogger(__name__)

Processors = tuple[sentencepiece.SentencePieceProcessor, sentencepiece.SentencePieceProcessor]

PREFETCHED_BATCHES = 8
"""Number of batches that each data process holds ready: drawing a round takes as long as some of them."""

IGNORED_WARNINGS = (
    r".*does not have many workers.*",  # `data_processes` decides that
    r".*Be aware that when using `ckpt_path`.*",  # resume points of older releases name another callback
    r".*GPU available but not used.*",  # `accelerator` decides that
    r".*LeafSpec.*",  # Lightning's own use of torch
)


def train(config: TrainingConfig) -> Path:
    """Train to the last step, starting from the newest resume point; return the checkpoint folder.

    After a signal or a kill the same call resumes the run: resume points are at most
    `checkpoints.every_minutes` apart. On a CPU the resumed run is bit-identical to an uninterrupted one.

    Raises:
        TrainingError: config or data must be fixed first.
        TrainingStopped: SIGTERM or SIGINT arrived; a resume point was written.
    """
    held_out = [HeldOut.of(config, direction) for direction in config.trained_directions]
    torch.set_num_threads(config.optimisation.threads)
    corpora = prepare(config)
    processors = load_vocabularies(config.run_dir / "data")
    for lines in held_out:
        lines.check_lengths(processors[0], config.model.max_positions)
    history = History(config.run_dir)
    stop = StopRequest("stopping after this step")
    callbacks = [
        ProgressCallback(config, history),
        ValidationCallback(config, history, held_out, processors),
        SnapshotCallback(config),
        ResumePointCallback(config),
    ]
    with _silence_lightning(), stop.listening(), start_workers(config, follow) as workers:
        module, start_record = _make_module(config, processors, workers, stop)
        trainer = _trainer(config, callbacks)
        last_step = _fit(config, trainer, module, processors, corpora)
    log.info("averaging snapshots and translating the held-out lines")
    num_averaged = _average(config, module)
    module.model.to(trainer.strategy.root_device)
    scores = [validate(module.model, lines, *processors) for lines in held_out]
    for lines, found in zip(held_out, scores, strict=True):
        log.info("final model, %s: BLEU %.2f, chrF %.2f, greedy", lines.direction, found.bleu, found.chrf)
    history.plot()
    record = run_record(config, module.counters, history.best()) | {
        **({} if start_record is None else {"started_from": start_record}),
        "steps": last_step,
        "averaged_snapshots": num_averaged,
        "machine": describe_machine(trainer.strategy.root_device, config.optimisation.threads),
        "validation": {**asdict(scores[0]), "lines": len(held_out[0].sources), "search": "greedy"},
    }
    return _write_checkpoint(config, module, record)


def follow(config: TrainingConfig, rank: int, port: int) -> None:
    """Train in another process than the first one, until the run ends or has to stop.

    Args:
        config: config of the run, whose data are already prepared.
        rank: rank of this process, from 1.
        port: port on which the first process waits for the others.
    """
    torch.set_num_threads(config.optimisation.threads)
    corpora = prepare(config)
    processors = load_vocabularies(config.run_dir / "data")
    stop = StopRequest()
    with (
        _silence_lightning(),
        stop.listening(),
        meet(port, rank, config.optimisation.processes) as workers,
        suppress(TrainingStopped),
    ):
        module, _ = _make_module(config, processors, workers, stop)
        _fit(config, _trainer(config, [StopCallback(config)]), module, processors, corpora)


def make_model(config: TrainingConfig, processors: Processors) -> TranslationModel:
    """Return a newly initialised model with the config's shape and the run's vocabulary sizes."""
    source, target = processors
    shape = ModelConfig(
        source_vocab_size=source.vocab_size(),
        target_vocab_size=target.vocab_size(),
        shared_vocab=config.vocabulary.is_shared,
        pad_id=source.pad_id(),
        unk_id=source.unk_id(),
        bos_id=source.bos_id(),
        eos_id=source.eos_id(),
        **config.model.shape,
    )
    return model_class(shape)(shape)


def _make_module(
    config: TrainingConfig, processors: Processors, workers: ProcessGroup, stop: StopRequest
) -> tuple[TranslationModule, dict[str, Any] | None]:
    """Return the module with initial weights, and the record of the checkpoint they come from, if any."""
    torch.manual_seed(config.optimisation.seed)
    model = make_model(config, processors)
    start_record = load_start_weights(config.start_from, model)
    return TranslationModule(model, config.optimisation, workers, stop), start_record


def _fit(
    config: TrainingConfig,
    trainer: lightning.Trainer,
    module: TranslationModule,
    processors: Processors,
    corpora: list[WeightedCorpus],
) -> int:
    """Run the remaining steps; return the number of the last one."""
    point = next(reversed(resume_points(config.run_dir)), None)
    workers, step = module.workers, 0 if point is None else point.step
    plan = BatchSettings(
        weights=tuple(corpus.weight for corpus in corpora),
        budget_tokens=config.optimisation.budget_tokens,
        seed=data_seed(config),
        pad_id=processors[0].pad_id(),
        bos_id=processors[0].bos_id(),
    )
    first = step * workers.count + workers.rank
    stream = BatchStream([corpus.tokenised for corpus in corpora], plan, first, workers.count)
    num_workers = config.optimisation.data_processes
    loader = DataLoader(
        stream,
        batch_size=None,
        num_workers=num_workers,
        worker_init_fn=ignore_stop_signals,
        prefetch_factor=PREFETCHED_BATCHES if num_workers else None,
        pin_memory=trainer.strategy.root_device.type == "cuda",
    )
    if point is None:
        trainer.fit(module, loader)
        return config.optimisation.steps
    check_resume_point(point, module)
    if point.step >= config.optimisation.steps:
        log.info("all %d steps are done", point.step)
        load_resume_point(point, module)
        return point.step
    log.info("resuming from step %d", point.step)
    trainer.fit(module, loader, ckpt_path=point.path, weights_only=True)
    return config.optimisation.steps


def _trainer(config: TrainingConfig, callbacks: list[lightning.Callback]) -> lightning.Trainer:
    settings = config.optimisation
    try:
        return lightning.Trainer(
            accelerator=settings.accelerator,
            devices=1,
            precision="32-true",  # the module casts to bfloat16 itself, which is faster than autocast
            max_steps=settings.steps,
            max_epochs=-1,
            gradient_clip_val=settings.clip_norm,
            callbacks=callbacks,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=config.run_dir,
        )
    except MisconfigurationException as error:
        raise ConfigError(f"optimisation.accelerator {settings.accelerator}: {error}") from error


@contextmanager
def _silence_lightning() -> Iterator[None]:
    """Silence Lightning's advice and notices, but no other warnings."""
    logger = logging.getLogger("lightning.pytorch")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        with warnings.catch_warnings():
            for message in IGNORED_WARNINGS:
                warnings.filterwarnings("ignore", message)
            yield
    finally:
        logger.setLevel(level)


def _average(config: TrainingConfig, module: TranslationModule) -> int:
    """Load the mean of the newest snapshots into the model; return their number."""
    paths = snapshot_paths(config.run_dir / "snapshots")[-config.checkpoints.average_last :]
    if paths:
        module.model.load_state_dict(average_snapshots(paths))
    return len(paths)


def _write_checkpoint(config: TrainingConfig, module: TranslationModule, record: dict[str, Any]) -> Path:
    folder = config.run_dir / "checkpoint"
    save_weights(folder, module.model.eval(), record)
    copy_vocabularies(config.run_dir / "data", folder)
    log.info("checkpoint written to %s", folder)
    return folder


def run_record(config: TrainingConfig, counters: Counters, best: Event | None) -> dict[str, Any]:
    """Return a checkpoint's record of its run: languages, data, controls, counters, scores, optimisation."""
    direction = config.trained_directions[0]
    return {
        "source_language": direction.source,
        "target_language": direction.target,
        "data": [
            {"name": corpus.name, "weight": corpus.weight, "licence": corpus.licence}
            for corpus in config.data.corpora
            if set(config.data.directions_of(corpus)) & set(config.trained_directions)
        ],
        "controls": controls_record(config),
        "pairs_seen": counters.pairs_seen,
        "target_tokens_seen": counters.tokens_seen,
        "train_hours": round(counters.train_seconds / 3600, 2),
        "best_validation_bleu_greedy": None if best is None else best.bleu,
        "optimisation": config.optimisation.model_dump(),
    }
