"""Measure what a bundle keeps, invents and repeats in translations of realistic input.

See docs/reports/robustness.md.
"""

from dataclasses import asdict
from itertools import product
from pathlib import Path
from typing import Any

from bench.command import Command, Options, Words, show
from bench.robustness.faults import invented, is_empty, looped
from bench.robustness.inputs import read_inputs
from bench.robustness.page import fault_lines
from bench.robustness.verdicts import (
    BEAM_SIZES,
    Verdict,
    by_kind,
    listed_pairs,
    rates_of,
    translate_and_judge,
)
from bench.tables import Result
from dragoman import Router


def measure(bundle: Path) -> list[dict[str, Any]]:
    """Measure every pair of a bundle that has a list, with greedy and beam search.

    Raises:
        SystemExit: there is no list for any of its pairs.
    """
    results = []
    with Router.open({bundle.name: bundle}) as router:
        for pair, beam_size in product(listed_pairs(router), BEAM_SIZES):
            verdicts = translate_and_judge(router, read_inputs(pair.source), pair, beam_size)
            result: dict[str, Any] = {"source": pair.source, "target": pair.target, "beam_size": beam_size}
            result["all"] = asdict(rates_of(verdicts))
            result["kinds"] = {kind: asdict(rates) for kind, rates in by_kind(verdicts).items()}
            result["failures"] = [failure(verdict) for verdict in verdicts if not verdict.is_good]
            results.append(result)
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
        "unsaid": list(map(str, verdict.unsaid)),
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


def print_result(result: Result) -> None:
    """Print the rates by kind, and the failures."""
    print(f"\n{result['source']} -> {result['target']}, beam {result['beam_size']}")
    show({"kind": kind, **rates} for kind, rates in {**result["kinds"], "all": result["all"]}.items())
    for one in result["failures"]:
        print(f"\n{one['id']}", *map(repr, (one["input"], one["output"])), *fault_lines(one), sep="\n  ")


def main() -> None:
    options: Options = {
        "bundle": Path,
        "--references human translations, to see how often the rules are wrong": Words(
            ("NAME", "SOURCE", "TARGET")
        ),
    }
    command = Command("robustness", __doc__, options)
    arguments = command.parse()
    results = measure(arguments.bundle)
    references = [judge_references(name, (Path(one), Path(two))) for name, one, two in arguments.references]
    for result in results:
        print_result(result)
    show(references)
    command.write(arguments.bundle, {"references": references, "results": results})


if __name__ == "__main__":
    main()
