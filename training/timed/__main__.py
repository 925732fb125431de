"""`python -m training.timed RECIPE -o OUT --seconds S --lane de-en=CHECKPOINT`: train for a fixed time."""

import argparse
import logging
import sys
from pathlib import Path

import torch

from training.config import Direction, TrainingConfig, load_config
from training.exit_status import exit_status
from training.timed.trainer import TimedSettings, TimedTrainer


def _lane(text: str, config: TrainingConfig) -> tuple[str, Direction, Path, int]:
    """Parse `de-en=CHECKPOINT[:layers]`."""
    name, _, rest = text.partition("=")
    folder, _, layers = rest.partition(":")
    direction = next(one for one in config.data.directions if name.startswith(one.name))
    return name, direction, Path(folder), int(layers or config.model.encoder_layers)


def main() -> int:
    """Train, and return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m training.timed", description="Train models of several directions for a fixed time."
    )
    parser.add_argument("config", type=Path, help="recipe, a TOML file, whose text is prepared")
    parser.add_argument("-o", "--output", type=Path, required=True, help="folder of the checkpoints")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--lane", action="append", required=True, metavar="DIRECTION=CHECKPOINT[:LAYERS]")
    parser.add_argument("--device", default="cuda")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")

    def run() -> None:
        config = load_config(arguments.config)
        lanes = [_lane(text, config) for text in arguments.lane]
        trainer = TimedTrainer(config, lanes, torch.device(arguments.device))
        trainer.train(TimedSettings(arguments.seconds), arguments.output)

    return exit_status(run)


if __name__ == "__main__":
    sys.exit(main())
