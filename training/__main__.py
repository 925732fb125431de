"""`python -m training CONFIG.toml`: train or go on training."""

import argparse
import logging
import sys
from pathlib import Path

from pydantic import ValidationError

from training.config import load_config
from training.corpus import CorpusError
from training.prepare import RunFolderError
from training.run import train


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m training", description="Train a model, or go on training it.")
    parser.add_argument("config", type=Path, help="TOML file; training/recipes holds examples")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        train(load_config(arguments.config))
    except (ValidationError, CorpusError, RunFolderError, FileNotFoundError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
