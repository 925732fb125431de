"""Measure a finished bundle; write result, manifest scores, model card and docs/reports/models.md.

The result is written to --output; default: bench/results/card-NAME.json, or the file of --from.

python -m bench.card models/de-en --fp32 runs/fp32 --set NAME SOURCE REFERENCE ... [--page]
python -m bench.card models/de-en --from bench/results/card-de-en.json    # without measuring
python -m bench.card --page                                               # docs/reports/models.md only
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bench.card_checks import CardError, check_same_model, read_result
from bench.card_curve import CurveError, read_curve
from bench.card_measure import Plan, measure_all
from bench.card_page import card_sections, read_results, write_page
from bench.command import Command, Options
from bench.page import Result
from bench.provenance import RESULTS, Provenance, provenance, write_result
from bench.quality import EvaluationSetError, add_sets, read_sets
from dragoman.bundle import Bundle, open_bundle
from dragoman.errors import BundleError
from dragoman.languages import list_languages
from dragoman.manifest import Manifest
from export.bundle import CARD_FILE, SHAPE_FIELD, put_card
from export.model_card import NO_LIMITS, architecture_line, read_known_limits, render_card, training_runs


def main() -> int:
    """Return the exit status: 0 if all is written, 1 after a reported error, 2 for wrong arguments."""
    command = _command()
    arguments = command.parse()
    if problem := _argument_error(arguments):
        command.parser.error(problem)
    try:
        if arguments.bundle is not None:
            _describe(arguments, str(command))
        if arguments.page:
            for path in write_page(read_results()):
                _log(f"wrote {path}")
    except (CardError, CurveError, EvaluationSetError, BundleError, OSError) as error:
        _log(f"refused: {error}")
        return 1
    return 0


def measure(plan: Plan, histories: Sequence[Path], command: str) -> dict[str, Any]:
    """Measure everything that the card shows beyond the manifest; return it as JSON for bench/results.

    Raises:
        CardError: the bundles do not match.
        CurveError: a history cannot be read or belongs to none of the model's runs.
    """
    check_same_model(plan.bundle, plan.fp32)
    manifest, languages = plan.bundle.manifest, plan.bundle.manifest.languages
    shape = manifest.origin.get(SHAPE_FIELD, plan.fp32.manifest.origin.get(SHAPE_FIELD))
    architecture = architecture_line(_with_shape(manifest, shape))
    curve = learning(histories, manifest)
    return {
        "provenance": asdict(provenance(plan.bundle.path, command)),
        "fp32_sha256": provenance(plan.fp32.path, command).bundle_sha256,
        "summary": f"Translates {list_languages(languages.sources)} to {list_languages(languages.targets)}. "
        f"{architecture}",
        "shape": shape,
        **measure_all(plan),
        "curve": curve,
    }


def learning(histories: Sequence[Path], manifest: Manifest) -> dict[str, Any]:
    """Return the validations of all runs, and the number of pairs seen at the end of each run."""
    runs = training_runs(manifest.origin)
    ends = [sum(run.get("pairs_seen", 0) for run in runs[:number]) for number in range(1, len(runs) + 1)]
    return {"run_ends": ends, "points": [asdict(point) for point in read_curve(histories, runs)]}


def write_card(bundle: Bundle, result: Result, known_limits: str) -> None:
    """Write the card and the scores of a bundle from its result."""
    described = replace(_with_shape(bundle.manifest, result["shape"]), scores=result["scores"])
    put_card(bundle.path, described, render_card(described, known_limits, card_sections(result)))


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
    if arguments.result is None:
        result = measure(_plan(arguments, bundle), arguments.history, command)
    else:
        result = read_result(arguments.result, bundle)
        if arguments.history:
            result["curve"] = learning(arguments.history, bundle.manifest)
    output = arguments.output or arguments.result or RESULTS / f"card-{bundle.path.name}.json"
    figures = {name: value for name, value in result.items() if name != "provenance"}
    write_result(output, Provenance(**result["provenance"]), figures)
    _log(f"wrote {output}")
    write_card(bundle, result, limits)
    _log(f"wrote {bundle.file(CARD_FILE)} and the manifest's scores")


def _plan(arguments: argparse.Namespace, bundle: Bundle) -> Plan:
    return Plan(
        bundle=bundle,
        fp32=open_bundle(arguments.fp32),
        sets=read_sets(arguments),
        examples=arguments.examples,
        beside=arguments.beside,
        replicas=arguments.replicas,
        rounds=arguments.rounds,
    )


def _with_shape(manifest: Manifest, shape: object) -> Manifest:
    """Add the model's shape to the record, which older exports did not write."""
    return manifest if shape is None else replace(manifest, origin={**manifest.origin, SHAPE_FIELD: shape})


def _argument_error(arguments: argparse.Namespace) -> str | None:
    """Return what is wrong with the combination of arguments; None if nothing."""
    if arguments.bundle is None:
        return None if arguments.page else "give a bundle, or --page"
    if arguments.result is not None:
        return None
    if arguments.fp32 is None or not arguments.sets:
        return "--fp32 and at least one --set are needed to measure; --from writes what was measured"
    if arguments.examples and arguments.examples[0] not in {name for name, _, _ in arguments.sets}:
        return f"--examples {arguments.examples[0]} is none of the test sets"
    return None


def _command() -> Command:
    options: Options = {
        "[bundle] whose card is written": Path,
        "--fp32 bundle of the same checkpoint, exported in fp32": Path,
        "--known-limits as Markdown; default: those of the current card": Path,
        "--beside this bundle; the memory of both together is measured, too": Path,
        "--replicas": 2,
        "--rounds of the speed": 3,
        "--history files of the model's runs, history.jsonl": [Path],
        "--page is written, too: docs/reports/models.md": False,
    }
    command = Command("card", __doc__, options)
    add_sets(command.parser)
    add = command.parser.add_argument
    explained = "test set to draw examples from; licence and author of its text"
    add("--examples", nargs=2, metavar=("NAME", "CREDIT"), help=explained)
    explained = "output of this command: measure nothing; --history and --known-limits may be given again"
    add("--from", dest="result", type=Path, metavar="FILE", help=explained)
    return command


def _log(message: str) -> None:
    sys.stderr.write(message + "\n")


if __name__ == "__main__":
    sys.exit(main())
