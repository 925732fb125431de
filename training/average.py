"""`python -m training.average CHECKPOINT... -o OUT`: average the weights of several checkpoints.

Made for runs with a common ancestor, such as a run and the one it started from. Their mean often translates
the texts of both better than either model (Wortsman et al. 2022, "Model soups", arXiv:2203.05482).
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from export.checkpoint import load_checkpoint, load_weights, save_weights, untied_weights
from export.checkpoint_folder import Checkpoint, CheckpointError
from export.model import TranslationModel
from training.exit_status import exit_status
from training.vocabulary import copy_vocabularies


def average(folders: Sequence[Path], output: Path) -> None:
    """Write the unweighted mean of the checkpoints' weights in 16 bits; convert a single checkpoint.

    The output has the first checkpoint's tokenizers and the last one's record, plus a note if there are more.

    Raises:
        CheckpointError: a folder is no checkpoint, or its shape or vocabulary differs from the first one's.
    """
    checkpoints = [load_checkpoint(folder) for folder in folders]
    first = checkpoints[0]
    for folder, other in zip(folders[1:], checkpoints[1:], strict=True):
        if not _is_compatible(first, other):
            raise CheckpointError(f"{folder} has another shape or vocabulary than {folders[0]}")
    states = [untied_weights(checkpoint.model) for checkpoint in checkpoints]
    mean = {name: torch.stack([state[name] for state in states]).mean(dim=0) for name in states[0]}
    load_weights(first.model, mean, str(output))
    save_weights(output, first.model.half(), _record(checkpoints))
    copy_vocabularies(folders[0], output)


def _is_compatible(one: Checkpoint[TranslationModel], other: Checkpoint[TranslationModel]) -> bool:
    return (
        one.model.config == other.model.config
        and one.source_tokenizer.read_bytes() == other.source_tokenizer.read_bytes()
        and one.target_tokenizer.read_bytes() == other.target_tokenizer.read_bytes()
    )


def _record(checkpoints: Sequence[Checkpoint[TranslationModel]]) -> dict[str, Any]:
    if len(checkpoints) == 1:
        return checkpoints[0].training
    record = {name: value for name, value in checkpoints[-1].training.items() if name != "validation"}
    return record | {
        "note": f"the mean of the weights of {len(checkpoints)} checkpoints, this run's the last"
    }


def main() -> int:
    """Average, and return the exit status: 2 if a checkpoint cannot be used."""
    parser = argparse.ArgumentParser(
        prog="python -m training.average", description="Average the weights of checkpoints."
    )
    parser.add_argument("checkpoints", type=Path, nargs="+")
    parser.add_argument("-o", "--output", type=Path, required=True)
    arguments = parser.parse_args()
    return exit_status(lambda: average(arguments.checkpoints, arguments.output))


if __name__ == "__main__":
    sys.exit(main())
