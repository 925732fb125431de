"""The loop of timed training: one step of each model in turn, at a learning rate that follows the clock."""

import json
import logging
import multiprocessing
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from export.checkpoint import load_checkpoint, load_weights, save_weights, untied_weights
from export.model import TranslationModel, model_class
from export.model_config import ModelConfig
from export.positions import position_table
from training.config import Direction, TrainingConfig
from training.loss import linear_cross_entropy
from training.module import Counters
from training.prepare import WeightedCorpus, corpus_path
from training.run import run_record
from training.timed.device_batches import BatchLimits, DeviceBatch, DeviceBatches
from training.timed.forward import ForwardPass, check_supported
from training.timed.stacked_muon import StackedMuon
from training.timed.stacked_weights import StackedWeights
from training.token_corpus import TokenCorpus
from training.vocabulary import copy_vocabularies

OUTPUT_MAPS = ("self_attention.output.", "feed_forward.outer.")
"""The last maps of a layer's two residual branches."""


def grow_encoder(model: TranslationModel, encoder_layers: int, dropout: float) -> TranslationModel:
    """Return a model whose added encoder layers change nothing at first.

    Each layer is followed by copies of it whose output maps are zero (as in Chen et al. 2015, Net2Net,
    arXiv:1511.05641, and Gong et al. 2019, progressive stacking).

    Args:
        model: pre-norm Transformer.
        encoder_layers: layers of the result, at least those of the model.
        dropout: dropout of the result.
    """
    num_old = model.config.encoder_layers
    config = replace(model.config, encoder_layers=encoder_layers, dropout=dropout)
    weights = untied_weights(model)
    grown = {name: weight for name, weight in weights.items() if not name.startswith("encoder.")}
    origins = [index * num_old // encoder_layers for index in range(encoder_layers)]
    for index, origin in enumerate(origins):
        is_copy = index > 0 and origins[index - 1] == origin
        prefix = f"encoder.{origin}."
        for name, weight in weights.items():
            if name.startswith(prefix):
                part = name.removeprefix(prefix)
                is_zero = is_copy and part.startswith(OUTPUT_MAPS)
                new = torch.zeros_like(weight) if is_zero else weight.clone()
                grown[f"encoder.{index}.{part}"] = new
    result = model_class(config)(config)
    load_weights(result, grown, "the grown model")
    return result


log = logging.getLogger(__name__)

WARM_UP_S = 12.0
SYNCHRONISE_EVERY = 4
"""Steps between waits for the device, so that the clock is the device's."""
AVERAGE_EVERY = 5
"""Steps between the weights of a mean."""


@dataclass(frozen=True, slots=True)
class TimedSettings:
    """Settings of a timed run that are not in its recipe."""

    train_s: float
    """Seconds of training; the learning rate reaches zero at their end."""
    average_share: float = 0.06
    """Share of the time, at its end, over which the weights are averaged."""
    report_every_s: float = 15.0
    save_every_s: float = 90.0


@dataclass(slots=True)
class TimedLane:
    """One model in training with its direction's text."""

    name: str
    direction: Direction
    config: ModelConfig
    weights: StackedWeights
    optimiser: StackedMuon
    batches: DeviceBatches
    stream: Iterator[DeviceBatch]
    positions: Tensor
    start: Path
    pairs: int = 0
    tokens: int = 0
    steps: int = 0
    loss: list[Tensor] = field(default_factory=list)
    mean: list[Tensor] | None = None
    num_in_mean: int = 0


class TimedTrainer:
    """Trains lanes in turn."""

    def __init__(
        self, config: TrainingConfig, lanes: Sequence[tuple[str, Direction, Path, int]], device: torch.device
    ) -> None:
        """Load and grow the models, and read the text that is prepared so far.

        Args:
            config: recipe, whose folder holds the prepared text.
            lanes: name, direction, initial checkpoint and number of encoder layers of each model.
            device: where to train.

        Raises:
            UnsupportedShapeError: a model is no plain pre-norm Transformer.
        """
        self.config, self.device = config, device
        # cuDNN would build a graph on the host for each new shape of a batch.
        torch.backends.cuda.enable_cudnn_sdp(enabled=False)
        self.pool = ProcessPoolExecutor(len(lanes), multiprocessing.get_context("spawn"))
        self._loaded: dict[Path, tuple[int, TokenCorpus]] = {}
        """Corpora by their file, with its time of change."""
        self.dtype = torch.bfloat16 if device.type == "cuda" else torch.float32
        self.lanes = [self._make_lane(*lane) for lane in lanes]

    def _make_lane(self, name: str, direction: Direction, start: Path, encoder_layers: int) -> TimedLane:
        model = grow_encoder(load_checkpoint(start).model, encoder_layers, self.config.model.dropout)
        check_supported(model.config)
        weights = StackedWeights(model, self.device)
        optimisation = self.config.optimisation
        limits = BatchLimits(
            optimisation.budget_tokens, optimisation.seed, model.config.pad_id, model.config.bos_id
        )
        batches = DeviceBatches(partial(self._corpora, direction), limits, self.device, self.pool)
        positions = torch.from_numpy(position_table(model.config)).to(self.device)
        return TimedLane(
            name,
            direction,
            model.config,
            weights,
            StackedMuon(weights, optimisation),
            batches,
            iter(batches),
            positions,
            start,
        )

    def _corpora(self, direction: Direction) -> list[WeightedCorpus]:
        """Return the direction's corpora that are prepared so far."""
        found = []
        for corpus in self.config.data.corpora:
            path = corpus_path(self.config.run_dir / "data", corpus, direction)
            if direction not in self.config.data.directions_of(corpus) or not path.is_file():
                continue
            changed_ns = path.stat().st_mtime_ns
            if self._loaded.get(path, (0, None))[0] != changed_ns:
                self._loaded[path] = changed_ns, TokenCorpus.load(path)
            found.append(WeightedCorpus(self._loaded[path][1], corpus.weight))
        return found

    def train(self, settings: TimedSettings, output: Path) -> None:
        """Train until the time is over, and write a checkpoint of each lane into `output`."""
        output.mkdir(parents=True, exist_ok=True)
        begin = reported = saved = time.monotonic()
        step = 0
        while (elapsed := time.monotonic() - begin) < settings.train_s:
            share = elapsed / settings.train_s
            rate = self.config.optimisation.learning_rate * min(1 - share, (elapsed + 1) / WARM_UP_S)
            for lane in self.lanes:
                self._step(lane, rate)
            step += 1
            if step % SYNCHRONISE_EVERY == 0 and self.device.type == "cuda":
                torch.cuda.current_stream().synchronize()
            if step % AVERAGE_EVERY == 0 and share > 1 - settings.average_share:
                self._average()
            now = time.monotonic()
            if now - reported > settings.report_every_s:
                reported = now
                self._report(now - begin, rate, output)
            if now - saved > settings.save_every_s:
                saved = now
                self._save(output / "partial", elapsed)
        self._report(time.monotonic() - begin, 0.0, output)
        for lane in self.lanes:
            _use_mean(lane)
        self._save(output, time.monotonic() - begin)
        self.pool.shutdown(cancel_futures=True)

    def _step(self, lane: TimedLane, rate: float) -> None:
        batch = next(lane.stream)
        table = lane.weights.tables["source_embedding.weight"]
        forward = ForwardPass(lane.config, lane.weights.cast(self.dtype), lane.positions, lane.config.dropout)
        states = forward(table, batch.source_ids, batch.source_mask, batch.target_in)
        loss = linear_cross_entropy(
            states.flatten(0, 1)[batch.target_positions],
            table,
            lane.weights.tables["output_bias"],
            batch.target_out,
            self.config.optimisation.label_smoothing,
        )
        torch.autograd.backward(loss)
        lane.optimiser.step(rate)
        lane.pairs += batch.pairs
        lane.tokens += batch.target_tokens
        lane.steps += 1
        lane.loss.append(loss.detach())

    @torch.no_grad()
    def _average(self) -> None:
        """Add the weights to each lane's running mean."""
        for lane in self.lanes:
            current = [tensor.detach() for tensor in lane.weights.tensors()]
            lane.num_in_mean += 1
            if lane.mean is None:
                lane.mean = [tensor.clone() for tensor in current]
            else:
                torch._foreach_lerp_(lane.mean, current, 1 / lane.num_in_mean)

    def _report(self, elapsed: float, rate: float, output: Path) -> None:
        row: dict[str, Any] = {"seconds": round(elapsed, 1), "learning_rate": round(rate, 7)}
        for lane in self.lanes:
            loss = torch.stack(lane.loss).mean().item() if lane.loss else None
            row[lane.name] = {"loss": loss, "pairs": lane.pairs, "tokens": lane.tokens, "steps": lane.steps}
            lane.loss.clear()
        log.info("%s", json.dumps(row))
        with (output / "history.jsonl").open("a", encoding="utf8") as file:
            file.write(json.dumps(row) + "\n")

    def _save(self, output: Path, elapsed: float) -> None:
        for lane in self.lanes:
            start = load_checkpoint(lane.start)
            record = {
                **run_record(
                    self.config.model_copy(update={"only_direction": lane.direction.name}),
                    Counters(lane.pairs, lane.tokens, elapsed),
                    best=None,
                ),
                "started_from": start.training,
                "steps": lane.steps,
                "averaged_snapshots": lane.num_in_mean,
            }
            model = model_class(lane.config)(lane.config)
            load_weights(model, dict(lane.weights.named()), lane.name)
            save_weights(output / lane.name, model.half(), record)
            copy_vocabularies(lane.start, output / lane.name)


@torch.no_grad()
def _use_mean(lane: TimedLane) -> None:
    if lane.mean is not None:
        for tensor, mean in zip(lane.weights.tensors(), lane.mean, strict=True):
            tensor.copy_(mean)
