"""`python -m training.trunk begin|branch|save RECIPE ...`: commands for a run that never ends.

A *trunk* is a run without decay steps: after the warm-up its learning rate stays constant, so that it can
always continue. A *branch* continues from the trunk's newest resume point, decays the learning rate to zero
and averages its last snapshots, which gives a model to release. Warmup, stable, decay: Hu et al. 2024
(arXiv:2404.06395), Hägele et al. 2024 (arXiv:2405.18392).

`save` writes a trunk's 16-bit weights and history to the recipe's `start_from`, from which the same recipe
starts again in another run folder. `begin` makes the first such folder from a model with another vocabulary.
"""

import argparse
import logging
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from export.checkpoint import save_weights
from training.config import TrainingConfig, load_config
from training.errors import ConfigError, RunFolderError
from training.exit_status import exit_status
from training.history import HISTORY_FILE, History, read_events, write_events
from training.module import Counters
from training.prepare import corpus_pairs
from training.resume import ResumePoint, resume_points
from training.run import make_model, run_record, train
from training.start import load_with_new_vocabulary, start_record
from training.vocabulary import copy_vocabularies, load_vocabularies, train_vocabularies

CONFIG_FILE = "branch.json"
TOTALS = ("pairs_seen", "target_tokens_seen", "train_hours", "steps")
"""Fields of a record that are added up over the run folders of a trunk."""


def begin(config: TrainingConfig, checkpoint: Path) -> Path:
    """Make `start_from`: train a vocabulary on the recipe's corpora and move a checkpoint's weights to it.

    Raises:
        TrainingError: the recipe has no `start_from`, the folder exists, or the checkpoint does not fit.
    """
    folder = _start_folder(config)
    if folder.exists():
        raise RunFolderError(f"{folder} is there already; remove it, or train on from it")
    partial = folder.with_name(f"{folder.name}.partial")
    partial.mkdir(parents=True, exist_ok=True)
    pairs = {corpus.name: list(corpus_pairs(corpus, config)) for corpus in config.data.corpora}
    train_vocabularies(config, pairs, partial)
    processors = load_vocabularies(partial)
    torch.manual_seed(config.optimisation.seed)
    model = make_model(config, processors)
    earlier = load_with_new_vocabulary(checkpoint, model, processors[0])
    record = run_record(config, Counters(), None) | {"controls": {}, "steps": 0, "started_from": earlier}
    save_weights(partial, model.half(), record)
    partial.rename(folder)
    return folder


def branch(config: TrainingConfig, run_dir: Path, num_steps: int, direction: str | None) -> Path:
    """Train on from a trunk's newest resume point while the learning rate falls to zero.

    If `run_dir` has a branch already, resume it with its own steps and direction.

    Args:
        config: config of the trunk.
        run_dir: run folder of the branch.
        num_steps: number of steps over which the learning rate falls.
        direction: the only direction to draw pairs of, such as `de-en`; None for all of the trunk's.

    Returns:
        The checkpoint folder.

    Raises:
        TrainingError: the trunk has no resume point or not this direction, or `train` raises it.
        TrainingStopped: `train` raises it.
    """
    path = run_dir / CONFIG_FILE
    if not path.exists():
        point = _newest(config)
        settings = config.model_dump(mode="json") | {"run_dir": str(run_dir), "only_direction": direction}
        settings["optimisation"] |= {
            "steps": point.step + num_steps,
            "decay_steps": num_steps,
            "sampled_pieces": 0,  # what is released is trained on the exact loss last
        }
        try:
            branched = TrainingConfig.model_validate(settings)
        except ValueError as error:
            raise ConfigError(f"branch of {config.run_dir}: {error}") from error
        (run_dir / "resume").mkdir(parents=True)
        shutil.copyfile(point.path, run_dir / "resume" / point.path.name)
        (run_dir / "data").symlink_to(os.path.relpath(config.run_dir / "data", run_dir))
        path.write_text(branched.model_dump_json(indent=2), encoding="utf8")
    return train(TrainingConfig.model_validate_json(path.read_bytes()))


def save(config: TrainingConfig) -> Path:
    """Write the trunk's newest weights in 16 bits to `start_from`, with record and history of all its runs.

    Raises:
        TrainingError: the recipe has no `start_from`, or the trunk has no resume point.
    """
    folder, point = _start_folder(config), _newest(config)
    processors = load_vocabularies(config.run_dir / "data")
    state = torch.load(point.path, map_location="cpu", weights_only=True)
    model = make_model(config, processors)
    weights = {name.removeprefix("model."): tensor for name, tensor in state["state_dict"].items()}
    model.load_state_dict(weights)
    counters, earlier = Counters(**state["counters"]), start_record(config)
    record = run_record(config, counters, History(config.run_dir).best()) | {"steps": point.step}
    record |= {name: round(record[name] + earlier.get(name, 0), 2) for name in TOTALS}
    record |= {"started_from": earlier["started_from"]} if "started_from" in earlier else {}
    _save_history(config, folder / HISTORY_FILE, earlier)
    save_weights(folder, model.half(), record)
    if not (folder / "source.spm").exists():
        copy_vocabularies(config.run_dir / "data", folder)
    return folder


def _save_history(config: TrainingConfig, path: Path, earlier: dict[str, Any]) -> None:
    """Write the events of the trunk's earlier runs and of this one, whose counts continue theirs."""
    steps, pairs = earlier.get("steps", 0), earlier.get("pairs_seen", 0)
    seconds = 3600.0 * earlier.get("train_hours", 0.0)
    before = [event for event in read_events(path) if event.pairs_seen <= pairs]
    added = [
        replace(
            event,
            step=event.step + steps,
            pairs_seen=event.pairs_seen + pairs,
            train_seconds=round(event.train_seconds + seconds, 1),
        )
        for event in History(config.run_dir).events
    ]
    write_events(path, [*before, *added])


def _start_folder(config: TrainingConfig) -> Path:
    if config.start_from is None:
        raise ConfigError("a trunk is kept in start_from: the recipe has to name it")
    return config.start_from


def _newest(config: TrainingConfig) -> ResumePoint:
    points = resume_points(config.run_dir)
    if not points:
        raise RunFolderError(f"{config.run_dir} has no resume point: train the trunk first")
    return points[-1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return 0, 2 after an error that can be fixed, or 128 plus the number of a signal."""
    options = _parser().parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")

    def run() -> None:
        config = load_config(options.recipe)
        if options.command == "begin":
            folder = begin(config, options.checkpoint)
        elif options.command == "branch":
            folder = branch(config, options.run_dir, options.steps, options.direction)
        else:
            folder = save(config)
        sys.stdout.write(f"{folder}\n")

    return exit_status(run)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m training.trunk", description="Begin, branch or save a run that never ends."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser(
        "begin", help="create the recipe's start_from from a model with another vocabulary"
    )
    make.add_argument("recipe", type=Path)
    make.add_argument("checkpoint", type=Path, help="folder of the model's checkpoint")
    part = commands.add_parser("branch", help="train a model to release: decay the learning rate to zero")
    part.add_argument("recipe", type=Path)
    part.add_argument("run_dir", type=Path, help="run folder of the branch")
    part.add_argument(
        "--steps", type=int, required=True, help="number of steps over which the learning rate falls"
    )
    part.add_argument(
        "--direction", help="the only direction to train, such as de-en; default: all of the trunk's"
    )
    keep = commands.add_parser("save", help="write the trunk's weights and history to its start_from")
    keep.add_argument("recipe", type=Path)
    return parser


if __name__ == "__main__":
    sys.exit(main())
