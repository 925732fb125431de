"""`python -m training CONFIG.toml`: train a model, or resume its training."""

import argparse
import logging
import signal
import sys
from pathlib import Path

from training.config import load_config
from training.exit_status import SIGNALLED, exit_status
from training.run import train

EPILOG = """\
what is written, all under the config's run_dir:
  data/         vocabulary and token ids, made once
  resume/       the two newest resume points
  snapshots/    the newest weights, averaged at the end
  history.jsonl, history.png
                loss and validation scores, and their plot
  checkpoint/   the result: what `python -m export` reads

The same command after Ctrl-C, SIGTERM or a kill goes on from the newest resume point.

exit status: 0 the checkpoint is written; 2 config or data must be fixed first, the message says where;
130 or 143 stopped by Ctrl-C or SIGTERM, to be gone on with.

docs/guides/training.md explains a recipe.
"""


def main() -> int:
    """Train, and return the exit status that the epilog describes."""
    arguments = _parser().parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        return exit_status(lambda: train(load_config(arguments.config)))
    except KeyboardInterrupt:
        sys.stderr.write("stopped before the first step; the same command starts again\n")
        return SIGNALLED + signal.SIGINT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m training",
        description="Train a translation model on parallel text, or go on training it.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "config",
        type=Path,
        help="the run as a TOML file, such as training/recipes/de-en.toml; "
        "paths in it are relative to the current folder",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
