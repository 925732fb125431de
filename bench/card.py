"""Measure a finished bundle; write result, manifest scores and model card.

The result is written to --output; default: bench/results/card-NAME.json, or the file of --from.

python -m bench.card models/de-en --fp32 runs/fp32 --set NAME SOURCE REFERENCE ...
python -m bench.card models/de-en --from bench/results/card-de-en.json    # without measuring
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import accumulate
from pathlib import Path
from typing import Any

from bench import provenance
from bench.card_measure import measure_all
from bench.card_page import card_sections
from bench.command import Command, Options, Words
from bench.provenance import RESULTS, bundle_sha256, write_json
from bench.quality import SETS, EvaluationSetError, read_sets
from dragoman.bundle import Bundle, open_bundle
from dragoman.errors import BundleError
from dragoman.languages import list_languages
from dragoman.manifest import Manifest
from export.bundle import CARD_FILE, put_card
from export.model_card import (
    EXPORT_FIELDS,
    NO_LIMITS,
    architecture_line,
    read_known_limits,
    render_card,
    training_runs,
)
from training.history import Event, read_events


class CurveError(ValueError):
    """A history cannot be read, has no events, or belongs to none of the model's runs."""


@dataclass(frozen=True, slots=True)
class Point:
    """A validation: greedy search on the lines held out from its run."""

    run: int
    """Number of the run, from 1."""
    pairs_seen: int
    """Number of pairs seen by this run and all before it."""
    bleu: float
    chrf: float


def read_curve(histories: Sequence[tuple[int, Path]], runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return all validations in the direction of the last run, and the pairs seen at the end of each run.

    Args:
        histories: number of the run, from 1, and the file that `training.history` has written; a run may have
            none.
        runs: records of the model's runs, the first one first.

    Raises:
        CurveError: a history cannot be read, is empty, or goes on after the end of its run.
    """
    ends = [*accumulate(int(run.get("pairs_seen", 0)) for run in runs)]
    directions = (None, f"{runs[-1].get('source_language')}-{runs[-1].get('target_language')}")
    points = [
        Point(number, [0, *ends][number - 1] + event.pairs_seen, event.bleu, event.chrf)
        for number, path in sorted(histories)
        for event in _read(path, number, runs)
        if event.bleu is not None and event.chrf is not None and event.direction in directions
    ]
    return {"run_ends": ends, "points": [asdict(point) for point in points]}


def _read(path: Path, number: int, runs: Sequence[Mapping[str, Any]]) -> list[Event]:
    try:
        events = read_events(path)
    except (OSError, ValueError, TypeError) as error:
        raise CurveError(f"{path} is no history of a run: {error}") from error
    if not events:
        raise CurveError(f"{path} has no events")
    pairs_seen = runs[number - 1].get("pairs_seen") or 0 if 0 < number <= len(runs) else 0
    if events[-1].pairs_seen > pairs_seen:
        raise CurveError(f"{path} ends after {events[-1].pairs_seen} pairs, run {number} after {pairs_seen}")
    return events


FP32 = "fp32"


class CardError(ValueError):
    """A card cannot be written; the message says what is inconsistent."""


def main() -> int:
    """Return the exit status: 0 if all is written, 1 after a reported error, 2 for wrong arguments."""
    command = _command()
    arguments = command.parse()
    if problem := _argument_error(arguments):
        command.parser.error(problem)
    try:
        _describe(arguments, str(command))
    except (CardError, CurveError, EvaluationSetError, BundleError, OSError) as error:
        _log(f"rejected: {error}")
        return 1
    return 0


def check_same_model(bundle: Bundle, fp32: Bundle) -> None:
    """Check by the manifests that `fp32` was exported from the same weights as the bundle.

    Raises:
        CardError: they differ; the message says in what.
    """
    if fp32.manifest.precision != FP32:
        raise CardError(f"--fp32: {fp32.path} is a bundle in {fp32.manifest.precision}, not in {FP32}")
    parts, others = _identity(bundle.manifest), _identity(fp32.manifest)
    if differing := [name for name in parts if parts[name] != others[name]]:
        raise CardError(
            f"--fp32: {fp32.path} is not the model of {bundle.path}: {', '.join(differing)} differ; export "
            "both from one checkpoint"
        )


def _identity(manifest: Manifest) -> Mapping[str, object]:
    """Return what all bundles of one checkpoint have in common."""
    tokenizers = (*manifest.source_tokenizer.files, *manifest.target_tokenizer.files)
    return {
        "languages": manifest.languages,
        "sizes": manifest.sizes,
        "tokenizers": [manifest.files[name].sha256 for name in tokenizers],
        "origin": {name: value for name, value in manifest.origin.items() if name not in EXPORT_FIELDS},
    }


def read_result(path: Path, bundle: Bundle) -> dict[str, Any]:
    """Read an earlier result of this bundle.

    Raises:
        CardError: the file is no result, or the result of another bundle.
    """
    try:
        result = provenance.read_result(path)
        measured = result["provenance"]["bundle_sha256"]
    except (ValueError, KeyError, TypeError) as error:
        raise CardError(f"{path} is no result of this command: {error!r}") from error
    if measured != bundle_sha256(bundle.path):
        raise CardError(f"{path} was measured on other files than those of {bundle.path}; measure it again")
    return result


def choose_limits(bundle: Bundle, given: Path | None) -> str:
    """Return known limits as Markdown: those of the file `given`, else those of the bundle's current card."""
    if given is not None:
        return given.read_text(encoding="utf8")
    path = bundle.file(CARD_FILE)
    return (read_known_limits(path.read_text(encoding="utf8")) if path.is_file() else None) or NO_LIMITS


def _describe(arguments: argparse.Namespace, command: str) -> None:
    """Measure, or read an earlier result; then write result, manifest and card."""
    bundle = open_bundle(arguments.bundle)
    limits = choose_limits(bundle, arguments.known_limits)
    earlier: Path | None = getattr(arguments, "from")
    result = _measure(arguments, bundle, command) if earlier is None else read_result(earlier, bundle)
    if earlier is None or arguments.history:
        histories = [(int(run), Path(file)) for run, file in arguments.history]
        result["curve"] = read_curve(histories, training_runs(bundle.manifest.origin))
    output = arguments.output or earlier or RESULTS / f"card-{bundle.path.name}.json"
    write_json(output, result)
    _log(f"wrote {output}")
    described = replace(bundle.manifest, scores=result["scores"])
    put_card(bundle.path, described, render_card(described, limits, card_sections(result)))
    _log(f"wrote {bundle.file(CARD_FILE)} and the manifest's scores")


def _measure(arguments: argparse.Namespace, bundle: Bundle, command: str) -> dict[str, Any]:
    """Measure everything that the card shows beyond the manifest and the curve.

    Raises:
        CardError: the bundles do not match.
    """
    fp32, manifest = open_bundle(arguments.fp32), bundle.manifest
    sets = read_sets(arguments)
    check_same_model(bundle, fp32)
    sources, targets = map(list_languages, (manifest.languages.sources, manifest.languages.targets))
    return {
        "provenance": provenance.provenance(bundle.path, command),
        "fp32_sha256": bundle_sha256(fp32.path),
        "summary": f"Translates {sources} to {targets}. {architecture_line(manifest)}",
        **measure_all(bundle, fp32, sets, arguments),
    }


def _argument_error(arguments: argparse.Namespace) -> str | None:
    """Return what is wrong with the combination of arguments; None if nothing."""
    if not all(run.isdecimal() for run, _ in arguments.history):
        return "--history: the run is a number, from 1"
    if getattr(arguments, "from") is not None:
        return None
    if arguments.fp32 is None or not arguments.set:
        return "--fp32 and at least one --set are needed to measure; --from writes what was measured"
    if arguments.examples and arguments.examples[0] not in {name for name, _, _ in arguments.set}:
        return f"--examples {arguments.examples[0]} is none of the test sets"
    return None


def _command() -> Command:
    options: Options = {
        "bundle whose card is written": Path,
        "--fp32 bundle of the same checkpoint, exported in fp32": Path,
        "--known-limits as Markdown; default: those of the current card": Path,
        "--beside this bundle; the memory of both together is measured, too": Path,
        "--replicas": 2,
        "--rounds of the speed": 3,
        "--history of one of the model's runs, the first of which is 1": Words(("RUN", "HISTORY.jsonl")),
        "--examples of a test set; licence and author of its text": Words(("NAME", "CREDIT"), "once"),
        "--from output of this command: measure nothing; --history and --known-limits may be new": Path,
    }
    return Command("card", __doc__, {**options, **SETS})


def _log(message: str) -> None:
    sys.stderr.write(message + "\n")


if __name__ == "__main__":
    sys.exit(main())
