"""`python -m export MODEL models/NAME`: export a model as a bundle, with all options.

`dragoman import` is the same for most models. This command also exports those of `python -m training` with
their scores and card.
"""

import argparse
import json
import re
import sys
import time
from pathlib import Path

from dragoman.errors import BundleError
from dragoman.manifest_json import ALIGNMENT_STEPS

try:
    import onnx  # noqa: F401 -- of the packages that only an export needs
except ModuleNotFoundError:
    sys.exit("export: onnx is not installed; install dragoman[export]")

from export.alignment import DEEP
from export.bundle import ExportError
from export.checkpoint_folder import CheckpointError
from export.graph.precision import PRECISIONS
from export.memory import peak_bytes
from export.original import ImportRejectedError, RequestedLanguages
from export.run import MAX_SOURCE_TOKENS, MAX_TARGET_TOKENS, ExportOptions, export_model


def main() -> int:
    """Run the export. Exit status 0: the bundle is in place; 1: rejected; 2: wrong arguments or files."""
    arguments = _parser().parse_args()
    began_s = time.monotonic()
    try:
        folder = export_model(_options(arguments), _log)
    except (ExportError, ImportRejectedError, BundleError) as error:
        _log(f"rejected: {error}")
        return 1
    except (CheckpointError, OSError, json.JSONDecodeError, KeyError) as error:
        _log(f"error: {error}")
        return 2
    size, took_s = _size_bytes(folder) / 1e6, time.monotonic() - began_s
    peak = peak_bytes()
    memory = "" if peak is None else f" with at most {peak / 2**20:.0f} MiB of memory"
    _log(f"{folder}: {size:.1f} MB, in {took_s:.0f} s{memory}")
    return 0


def _options(arguments: argparse.Namespace) -> ExportOptions:
    given = vars(arguments)
    languages = RequestedLanguages(given.pop("source_languages"), given.pop("target_languages"))
    return ExportOptions(**given, languages=languages)  # arguments are called as the options are


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m export", description="Export a model as a bundle that the engine can load."
    )
    parser.add_argument(
        "model",
        metavar="MODEL",
        help="folder written by `python -m training`; Hugging Face folder of a Marian (OPUS-MT), M2M-100, "
        "NLLB or MBart model; folder with Marian's own .npz; folder of CTranslate2; Argos package; .zip or "
        ".tar.gz of a folder; or OWNER/NAME on the Hugging Face hub",
    )
    parser.add_argument("folder", metavar="bundle", type=Path, help="folder to write, such as models/de-en")
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        default=PRECISIONS[0],
        help="int8 (default) for CPUs; fp16 for GPUs; fp32 as trained",
    )
    parser.add_argument("--name", help="name of the bundle; default: the name of its folder")
    for side in ("source", "target"):
        parser.add_argument(
            f"--{side}-lang",
            f"--{side}-language",
            dest=f"{side}_languages",
            type=_parse_codes,
            default=(),
            metavar="CODE[,CODE...]",
            help=f"{side} languages; default: those in the model's files",
        )
    parser.add_argument("--licence", help="licence of the weights; default: the one in the model's files")
    parser.add_argument(
        "--scores", type=Path, help="scores for the manifest: a file written by `python -m bench.quality`"
    )
    parser.add_argument(
        "--shortlist-of",
        type=Path,
        metavar="BUNDLE",
        help="copy the shortlist of a bundle with the same vocabulary",
    )
    parser.add_argument(
        "--reading", type=Path, help="reading.toml for the bundle; default: texts as they are written"
    )
    parser.add_argument(
        "--known-limits", type=Path, help="Markdown file with known limits, for the model card"
    )
    _add_alignment(parser)
    parser.add_argument(
        "--max-source-tokens",
        type=int,
        help=f"maximum source tokens of a segment; default: {MAX_SOURCE_TOKENS}, or the model's lower limit",
    )
    parser.add_argument(
        "--max-target-tokens",
        type=int,
        help=f"maximum target tokens of a segment; default: the model's limit, or {MAX_TARGET_TOKENS}",
    )
    parser.add_argument(
        "--calibration",
        type=Path,
        help="source text to calibrate int8 on, one sentence per line; default: --sentences",
    )
    parser.add_argument(
        "--sentences",
        type=Path,
        help="source text to validate on, in the first source language: 200 or more sentences, one per line; "
        "default: built-in text for German and English, generated text for other languages",
    )
    parser.add_argument(
        "--prove",
        dest="with_pytorch",
        action="store_true",
        help="compare the bundle with the model in PyTorch, too",
    )
    return parser


def _add_alignment(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "word alignment",
        "attention that aligns target tokens with the source; default: the one it was trained for; "
        f"otherwise all heads of one layer: with {DEEP} or more decoder layers the middle one, at the step "
        "that reads the token; with fewer the last one, at the step that predicts it",
    )
    group.add_argument("--alignment-layer", type=int, metavar="L", help="decoder layer; 0 is the first")
    group.add_argument(
        "--alignment-heads",
        type=_parse_heads,
        metavar="H[,H...]",
        help="heads to average; 0 is the first; default: all",
    )
    group.add_argument(
        "--alignment-step",
        choices=tuple(ALIGNMENT_STEPS),
        help="decoder step to use for a token: the one that reads it, or the one before, which predicts it",
    )


def _parse_heads(listed: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\d+(,\d+)*", listed):
        raise argparse.ArgumentTypeError(f"{listed!r} is not a list of heads such as 0,3")
    return tuple(map(int, listed.split(",")))


def _parse_codes(listed: str) -> tuple[str, ...]:
    codes = tuple(code.strip() for code in listed.split(","))
    if not all(codes):
        raise argparse.ArgumentTypeError(f"{listed!r} is not a list of languages such as de,en")
    return codes


def _size_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def _log(message: str) -> None:
    sys.stderr.write(message + "\n")


if __name__ == "__main__":
    sys.exit(main())
