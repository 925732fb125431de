"""`python -m export CHECKPOINT models/NAME`: write, validate, put in place."""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dragoman.bundle import Limits
from dragoman.contract import SHORTLIST_PRECISIONS
from dragoman.errors import BundleError
from dragoman.text.tokenise import Tokenizer
from export.bundle import BundleFacts, ExportError, staged_folder, write_bundle
from export.checkpoint import Checkpoint, CheckpointError, load_checkpoint
from export.graph.precision import PRECISIONS
from export.model_card import architecture_line, render_model_card
from export.shortlist.install import take_shortlist
from export.validation import Report, validate_in_fresh_process

SENTENCES = Path(__file__).parent / "sentences"
SCORED_BEAM_SIZE = 4
KNOWN_LIMITS = "No known limits were written down for this model."


def main() -> int:
    """Exit status 0: the bundle stands. 1: it was refused. 2: wrong arguments or checkpoint."""
    arguments = _parser().parse_args()
    try:
        if arguments.shortlist_of:
            _check_takes_shortlists(arguments.precision)
        checkpoint = load_checkpoint(arguments.checkpoint)
        facts = _facts(arguments, checkpoint)
        sentences = _sentences(arguments.sentences, facts.source_language)
        with staged_folder(arguments.bundle) as staging:
            _say(f"writing {facts.name} ({arguments.precision})")
            sources = _read_sources(arguments.calibration or sentences, checkpoint)
            write_bundle(staging, checkpoint, arguments.precision, facts, sources)
            if arguments.shortlist_of:
                take_shortlist(staging, arguments.shortlist_of)
            _say("validating in a fresh process")
            report = validate_in_fresh_process(staging, arguments.checkpoint, sentences)
            _say(json.dumps(asdict(report), indent=2))
            _refuse_if_different(report)
    except (ExportError, BundleError) as error:
        _say(f"refused: {error}")
        return 1
    except (CheckpointError, FileNotFoundError, json.JSONDecodeError, KeyError) as error:
        _say(f"error: {error}")
        return 2
    _say(f"{arguments.bundle}: {_size_bytes(arguments.bundle) / 1e6:.1f} MB")
    return 0


def _refuse_if_different(report: Report) -> None:
    if report.problems:
        raise ExportError("the bundle does not answer like its model; see problems above")


def _check_takes_shortlists(precision: str) -> None:
    if precision not in SHORTLIST_PRECISIONS:
        raise ExportError(
            f"--shortlist-of: {precision} bundles take none, {' and '.join(SHORTLIST_PRECISIONS)} do"
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m export", description="Turn a trained checkpoint into a bundle that the engine serves."
    )
    parser.add_argument("checkpoint", type=Path, help="folder written by `python -m training`")
    parser.add_argument("bundle", type=Path, help="folder to write, such as models/de-en")
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        default=PRECISIONS[0],
        help="int8 (default) for CPUs; int4 for few rows at a time there; fp16 for GPUs; fp32 as trained",
    )
    parser.add_argument("--name", help="default: the bundle folder's name")
    parser.add_argument("--source-language", help="default: from the training record")
    parser.add_argument("--target-language", help="default: from the training record")
    parser.add_argument(
        "--licence", default="unspecified", help="of the weights, for manifest and model card"
    )
    parser.add_argument("--scores", type=Path, help="file written by `python -m bench.quality`")
    parser.add_argument(
        "--shortlist-of",
        type=Path,
        metavar="BUNDLE",
        help="take the shortlist of a bundle with the same vocabulary",
    )
    parser.add_argument("--known-limits", type=Path, help="Markdown for the model card")
    parser.add_argument("--max-source-tokens", type=int, default=200)
    parser.add_argument("--max-target-tokens", type=int, default=400)
    parser.add_argument(
        "--calibration",
        type=Path,
        help="source text, a sentence a line, that int8 and int4 are measured on; default: --sentences",
    )
    parser.add_argument(
        "--sentences",
        type=Path,
        help="200 or more source sentences to validate on, one a line; some are built in",
    )
    return parser


def _facts(arguments: argparse.Namespace, checkpoint: Checkpoint) -> BundleFacts:
    training = checkpoint.training
    source = arguments.source_language or training.get("source_language")
    target = arguments.target_language or training.get("target_language")
    if not source or not target:
        raise ExportError("the training record names no languages; give --source-language, --target-language")
    scores = read_scores(arguments.scores) if arguments.scores else {}
    limits = Limits(arguments.max_source_tokens, arguments.max_target_tokens)
    name = arguments.name or arguments.bundle.name
    fields = {
        "name": name,
        "source": source,
        "target": target,
        "architecture": architecture_line(checkpoint.model.config),
        "precision": arguments.precision,
        "licence": arguments.licence,
        "max_source_tokens": str(limits.max_source_tokens),
        "limits": arguments.known_limits.read_text(encoding="utf8")
        if arguments.known_limits
        else KNOWN_LIMITS,
    }
    return BundleFacts(
        name=name,
        source_language=source,
        target_language=target,
        licence=arguments.licence,
        origin={"tool": "dragoman training", **training},
        scores=scores,
        limits=limits,
        model_card=render_model_card(fields, training, scores),
    )


def read_scores(path: Path) -> dict[str, Any]:
    """Beam 4 figures of a file that `python -m bench.quality` wrote, by test set."""
    results = json.loads(path.read_text(encoding="utf8"))["results"]
    return {
        result["test_set"]: {
            "bleu": result["bleu"],
            "chrf": result["chrf"],
            "beam_size": result["beam_size"],
            "bleu_signature": result["bleu_signature"],
        }
        for result in results
        if result["beam_size"] == SCORED_BEAM_SIZE
    }


def _sentences(given: Path | None, language: str) -> Path:
    path = given or SENTENCES / f"{language}.txt"
    if not path.is_file():
        raise ExportError(
            f"{path} not found: give --sentences FILE with 200 or more lines of {language} text"
        )
    return path


def _read_sources(path: Path, checkpoint: Checkpoint) -> list[list[int]]:
    """Ids of the lines that are not blank."""
    lines = [line for line in path.read_text(encoding="utf8").splitlines() if line.strip()]
    return Tokenizer.load(checkpoint.source_tokenizer).encode(lines)


def _size_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def _say(message: str) -> None:
    sys.stderr.write(message + "\n")


if __name__ == "__main__":
    sys.exit(main())
