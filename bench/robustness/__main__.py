"""Measure what a bundle keeps, invents and repeats in translations of realistic input.

See docs/reports/robustness.md.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.provenance import provenance, write_result
from bench.robustness.bars import Bar, bar_of, write_bars
from bench.robustness.faults import invented, is_empty, looped
from bench.robustness.inputs import read_inputs
from bench.robustness.judging import (
    BEAM_SIZES,
    Rates,
    Verdict,
    by_kind,
    listed_pairs,
    rates_of,
    translate_and_judge,
)
from bench.robustness.page import fault_lines, write_page
from dragoman import Translator

_COLUMNS = ("inputs", "good", "things", "kept", "words", "said", "invented", "loop", "empty")


def measure(bundle: Path) -> list[dict[str, Any]]:
    """Measure every pair of a bundle that has a list, with greedy and beam search."""
    results = []
    with Translator.open(bundle) as translator:
        for pair in listed_pairs(translator):
            inputs = read_inputs(pair.source)
            for beam_size in BEAM_SIZES:
                verdicts = translate_and_judge(translator, inputs, pair, beam_size)
                results.append(
                    {
                        "source": pair.source,
                        "target": pair.target,
                        "beam_size": beam_size,
                        "all": rates_of(verdicts),
                        "kinds": by_kind(verdicts),
                        "failures": [failure(verdict) for verdict in verdicts if not verdict.is_good],
                    }
                )
    if not results:
        raise SystemExit(f"{bundle}: there is no list for any of its pairs")
    return results


def failure(verdict: Verdict) -> dict[str, Any]:
    """Return a verdict with faults as in the result file."""
    return {
        "id": verdict.given.id,
        "kind": verdict.given.kind,
        "input": verdict.given.text,
        "output": verdict.output,
        "lost": list(map(str, verdict.lost)),
        "unsaid": list(map(str, verdict.find_missing_words)),
        "invented": verdict.invented,
        "loop": verdict.looped,
        "empty": verdict.is_empty,
    }


def judge_references(name: str, files: tuple[Path, Path]) -> dict[str, Any]:
    """Count faults that the rules find in human translations, which shows how reliable the rules are."""
    sources, targets = (path.read_text(encoding="utf8").splitlines() for path in files)
    pairs = list(zip(sources, targets, strict=True))
    return {
        "test_set": name,
        "pairs": len(pairs),
        "invented": sum(invented(*pair) is not None for pair in pairs),
        "loop": sum(looped(*pair) is not None for pair in pairs),
        "empty": sum(is_empty(*pair) for pair in pairs),
    }


def show(result: dict[str, Any]) -> None:
    """Print a table by kind, and the failures."""
    print(f"\n{result['source']} -> {result['target']}, beam {result['beam_size']}")
    print(f"{'':16}" + "".join(f"{name:>10}" for name in _COLUMNS))
    for kind, rates in {**result["kinds"], "all": result["all"]}.items():
        print(f"{kind:16}" + "".join(f"{_cell(rates, name):>10}" for name in _COLUMNS))
    for one in result["failures"]:
        print(f"\n{one['id']}\n  {one['input']!r}\n  {one['output']!r}")
        print("".join(f"    {line}\n" for line in fault_lines(one)), end="")


def _cell(rates: Rates, name: str) -> str:
    value = getattr(rates, name)
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.0%}"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.robustness", description=__doc__)
    parser.add_argument("bundle", type=Path, nargs="?")
    parser.add_argument("--output", type=Path, help="JSON file, such as bench/results/robustness-de-en.json")
    parser.add_argument("--bars", action="store_true", help="hold tests to what is measured now")
    parser.add_argument("--page", action="store_true", help="write the tables of docs/reports/robustness.md")
    parser.add_argument(
        "--references",
        nargs=3,
        action="append",
        default=[],
        metavar=("NAME", "SOURCE", "TARGET"),
        help="translations by people, to see how often the rules are wrong; may be given several times",
    )
    arguments = parser.parse_args()
    if arguments.bundle is None and not arguments.page:
        parser.error("a bundle is wanted, or --page, or both")
    if arguments.bundle is not None:
        _measure_and_write(arguments)
    if arguments.page:
        write_page()
    return 0


def _measure_and_write(arguments: argparse.Namespace) -> None:
    results = measure(arguments.bundle)
    references = [
        judge_references(name, (Path(source), Path(target))) for name, source, target in arguments.references
    ]
    for result in results:
        show(result)
    for reference in references:
        print(reference)
    if arguments.bars:
        write_bars(_bars(arguments.bundle.name, results))
    if arguments.output:
        named = "".join(
            f" --references {name} {Path(source).name} {Path(target).name}"
            for name, source, target in arguments.references
        )
        command = f"python -m bench.robustness {arguments.bundle}{named}"
        figures = {"references": references, "results": [_plain(result) for result in results]}
        write_result(arguments.output, provenance(arguments.bundle, command), figures)


def _bars(bundle: str, results: Sequence[dict[str, Any]]) -> list[Bar]:
    return [
        bar_of(bundle, result["source"], result["target"], result["beam_size"], result["all"])
        for result in results
    ]


def _plain(result: dict[str, Any]) -> dict[str, Any]:
    kinds = {kind: asdict(rates) for kind, rates in result["kinds"].items()}
    return {**result, "all": asdict(result["all"]), "kinds": kinds}


if __name__ == "__main__":
    sys.exit(main())
