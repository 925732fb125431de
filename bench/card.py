"""Measure a finished bundle; write result, manifest scores, model card and docs/reports/models.md.

python -m bench.card models/de-en --fp32 runs/fp32 --set NAME SOURCE REFERENCE ... [--page]
python -m bench.card models/de-en --from bench/results/card-de-en.json    # without measuring
python -m bench.card --page                                               # docs/reports/models.md only
"""

import argparse
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bench.card_checks import CardError, check_same_model, check_sets, read_result
from bench.card_curve import CurveError, read_curve
from bench.card_measure import EvaluationSet, ExampleSource, Plan, measure_all
from bench.card_page import RESULTS, read_results, write_page
from bench.card_tables import Result, card_sections
from bench.provenance import Provenance, provenance, write_result
from dragoman.bundle import Bundle, open_bundle
from dragoman.errors import BundleError
from dragoman.languages import list_languages
from dragoman.manifest import Manifest
from export.bundle import CARD_FILE, SHAPE_FIELD, put_card
from export.model_card import NO_LIMITS, architecture_line, read_known_limits, render_card, training_runs


def main() -> int:
    """Return the exit status: 0 if all is written, 1 after a reported error, 2 for wrong arguments."""
    parser = _parser()
    arguments = parser.parse_args()
    if problem := _argument_error(arguments):
        parser.error(problem)
    try:
        if arguments.bundle is not None:
            _describe(arguments)
        if arguments.page:
            for path in write_page(read_results()):
                _log(f"wrote {path}")
    except (CardError, CurveError, BundleError, OSError) as error:
        _log(f"refused: {error}")
        return 1
    return 0


def measure(plan: Plan, histories: Sequence[Path], command: str) -> dict[str, Any]:
    """Measure everything that the card shows beyond the manifest; return it as JSON for bench/results.

    Raises:
        CardError: the bundles do not match, or a test set cannot be used.
        CurveError: a history cannot be read or belongs to none of the model's runs.
    """
    check_same_model(plan.bundle, plan.fp32)
    check_sets(plan.sets)
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


def _describe(arguments: argparse.Namespace) -> None:
    """Measure, or read an earlier result; then write result, manifest and card."""
    bundle = open_bundle(arguments.bundle)
    limits = choose_limits(bundle, arguments.known_limits)
    if arguments.result is None:
        result = measure(_plan(arguments, bundle), arguments.histories, _command(arguments))
    else:
        result = read_result(arguments.result, bundle)
        if arguments.histories:
            result["curve"] = learning(arguments.histories, bundle.manifest)
    output = arguments.output or arguments.result or RESULTS / f"card-{bundle.path.name}.json"
    figures = {name: value for name, value in result.items() if name != "provenance"}
    write_result(output, Provenance(**result["provenance"]), figures)
    _log(f"wrote {output}")
    write_card(bundle, result, limits)
    _log(f"wrote {bundle.file(CARD_FILE)} and the manifest's scores")


def _plan(arguments: argparse.Namespace, bundle: Bundle) -> Plan:
    sets = tuple(
        EvaluationSet(name, Path(source), Path(reference)) for name, source, reference in arguments.sets
    )
    examples = None
    if arguments.examples is not None:
        set_name, credit = arguments.examples
        examples = ExampleSource(next(one for one in sets if one.name == set_name), credit)
    return Plan(
        bundle=bundle,
        fp32=open_bundle(arguments.fp32),
        sets=sets,
        examples=examples,
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


def _command(arguments: argparse.Namespace) -> str:
    """Return the command line for the record, without folders that have no meaning on other machines."""
    words = ["python", "-m", "bench.card", _short(arguments.bundle), "--fp32", _short(arguments.fp32)]
    for name, source, reference in arguments.sets:
        words += ["--set", name, Path(source).name, Path(reference).name]
    if arguments.examples is not None:
        words += ["--examples", *arguments.examples]
    if arguments.beside is not None:
        words += ["--beside", _short(arguments.beside)]
    if arguments.histories:
        words += ["--history", *map(_short, arguments.histories)]
    return shlex.join([*words, "--replicas", str(arguments.replicas), "--rounds", str(arguments.rounds)])


def _short(path: Path) -> str:
    """Return a relative path as it is, and the last two names of an absolute one."""
    return str(Path(*path.parts[-2:])) if path.is_absolute() else str(path)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.card", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bundle", type=Path, nargs="?", help="whose card is written")
    parser.add_argument("--fp32", type=Path, metavar="BUNDLE", help="the same checkpoint, exported in fp32")
    parser.add_argument(
        "--set",
        dest="sets",
        nargs=3,
        action="append",
        default=[],
        metavar=("NAME", "SOURCE", "REFERENCE"),
        help="a test set, a line each; may be given several times",
    )
    parser.add_argument(
        "--examples",
        nargs=2,
        metavar=("NAME", "CREDIT"),
        help="the test set to show lines of; its licence, and whom it is owed to",
    )
    parser.add_argument(
        "--history",
        dest="histories",
        nargs="+",
        action="extend",
        type=Path,
        default=[],
        metavar="FILE",
        help="history.jsonl of the model's runs, as many as there are",
    )
    parser.add_argument(
        "--known-limits", type=Path, metavar="FILE", help="Markdown; default: those of the card that is there"
    )
    parser.add_argument(
        "--beside", type=Path, metavar="BUNDLE", help="measure the memory of both together, too"
    )
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="of the speed")
    parser.add_argument(
        "--output", type=Path, help="default: bench/results/card-NAME.json, or that of --from"
    )
    parser.add_argument(
        "--from",
        dest="result",
        type=Path,
        metavar="FILE",
        help="an output of this command: measure nothing; --history and --known-limits may be given anew",
    )
    parser.add_argument("--page", action="store_true", help="also write docs/reports/models.md")
    return parser


def _log(message: str) -> None:
    sys.stderr.write(message + "\n")


if __name__ == "__main__":
    sys.exit(main())
