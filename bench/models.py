"""One checkpoint for everybody: `python -m bench.models CHECKPOINT FOLDER` writes it in every engine's form.

FOLDER/
  checkpoint/            a copy, for Transformers
  int8/  fp32/           bundles
  ct2-int8/  ct2-fp32/   CTranslate2 models
"""

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

from bench.checkpoints import write_random_checkpoint
from dragoman.bundle import Limits, sha256_of
from export.bundle import BundleFacts, staged_folder, write_bundle
from export.checkpoint import WEIGHTS_FILE, load_checkpoint

PEERS_PYTHON = Path(".venv-bench/bin/python")
CHECKPOINT = "checkpoint"
TOKENIZER = "checkpoint/source.spm"
INT8, FP32 = "int8", "fp32"
CTRANSLATE2_INT8, CTRANSLATE2_FLOAT32 = "ct2-int8", "ct2-fp32"
CALIBRATION = ([4, 5, 6, 7, 8, 9, 10, 3],)
"""Ids of a source; the int8 ranges of random weights mean nothing, they must only be there."""
MAX_RANDOM_TOKENS = 500
OPUS_SIZE = "opus-size"
COMPLETE = "complete"
"""Written last, and says what the folder was made of."""


def origin_of(checkpoint: str) -> str:
    """What tells a checkpoint from another: the hash of its weights."""
    return checkpoint if checkpoint == OPUS_SIZE else sha256_of(Path(checkpoint) / WEIGHTS_FILE)


def is_made_of(folder: Path, origin: str) -> bool:
    """Whether the folder is finished, and of this origin."""
    complete = folder / COMPLETE
    return complete.is_file() and complete.read_text(encoding="utf8") == origin


def export_trained(folder: Path) -> None:
    """Bundles of FOLDER/checkpoint, as anyone makes them."""
    for precision in (INT8, FP32):
        command = [sys.executable, "-m", "export", str(folder / CHECKPOINT), str(folder / precision)]
        _run([*command, "--precision", precision])


def export_random(folder: Path) -> None:
    """Bundles of random weights: not validated, since such a model never ends a sentence."""
    for precision in (INT8, FP32):
        sys.stderr.write(f"writing {folder / precision}\n")
        facts = BundleFacts(
            name=f"{folder.name}-{precision}",
            source_language="de",
            target_language="en",
            licence="CC0-1.0",
            origin={"tool": "bench.models", "weights": "random"},
            scores={},
            limits=Limits(MAX_RANDOM_TOKENS, MAX_RANDOM_TOKENS),
        )
        with staged_folder(folder / precision) as staging:
            write_bundle(staging, load_checkpoint(folder / CHECKPOINT), precision, facts, CALIBRATION)


def convert(folder: Path) -> None:
    """CTranslate2 models of FOLDER/checkpoint."""
    for name, quantization in ((CTRANSLATE2_INT8, "int8"), (CTRANSLATE2_FLOAT32, "float32")):
        command = [str(PEERS_PYTHON), "-m", "bench.peers.ctranslate2_convert"]
        _run([*command, str(folder / CHECKPOINT), str(folder / name), "--quantization", quantization])


def _run(command: list[str]) -> None:
    sys.stderr.write(" ".join(command) + "\n")
    subprocess.run(command, check=True)  # noqa: S603 -- our own modules


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.models", description=__doc__)
    parser.add_argument(
        "checkpoint", help="a checkpoint's folder, or `opus-size`: random weights in OPUS-MT's shape"
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument(
        "--tokenizer", type=Path, default=Path("models/de-en/source.spm"), help="that `opus-size` grows"
    )
    parser.add_argument(
        "--fresh", action="store_true", help="even if they are there: the exporter may be new"
    )
    arguments = parser.parse_args()
    folder: Path = arguments.folder
    origin = origin_of(arguments.checkpoint)
    if not arguments.fresh and is_made_of(folder, origin):
        sys.stderr.write(f"{folder} is there already\n")
        return 0
    shutil.rmtree(folder, ignore_errors=True)
    if arguments.checkpoint == OPUS_SIZE:
        write_random_checkpoint(folder / CHECKPOINT, arguments.tokenizer)
        export_random(folder)
    else:
        shutil.copytree(arguments.checkpoint, folder / CHECKPOINT)
        export_trained(folder)
    convert(folder)
    (folder / COMPLETE).write_text(origin, encoding="utf8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
