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
output, under the config's run_dir:
  data/         vocabulary and token ids, written once
  resume/       the two newest resume points
  snapshots/    the newest weights, averaged at the end
  history.jsonl, history.png
                loss and validation scores, and their plot
  checkpoint/   the result, for `python -m export`

After Ctrl-C, SIGTERM or a kill, the same command continues from the newest resume point.

exit status: 0 the checkpoint is written; 2 error in the config or the data, which the message names;
130 or 143 stopped by Ctrl-C or SIGTERM; the same command continues.

docs/guides/training.md explains recipes.
"""


def main() -> int:
    """Train, and return the exit status that the epilog describes."""
    arguments = _parser().parse_args()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        return exit_status(lambda: train(load_config(arguments.config)))
    except KeyboardInterrupt:
        sys.stderr.write("stopped before the first step; run the same command to start again\n")
        return SIGNALLED + signal.SIGINT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m training",
        description="Train a translation model on parallel text, or resume its training.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "config",
        type=Path,
        help="recipe of the run, a TOML file such as training/recipes/both.toml; "
        "its paths are relative to the current folder",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
