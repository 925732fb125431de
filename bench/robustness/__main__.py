"""Measure what a bundle keeps, invents and repeats in translations of realistic input.

See docs/reports/robustness.md.
"""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.command import Command, Options, show
from bench.page import Result, write_page
from bench.robustness import judging
from bench.robustness.bars import bar_of, write_bars
from bench.robustness.faults import invented, is_empty, looped
from bench.robustness.inputs import read_inputs
from bench.robustness.page import PAGE, all_tables, fault_lines
from dragoman import Translator


def measure(bundle: Path) -> list[dict[str, Any]]:
    """Measure every pair of a bundle that has a list, with greedy and beam search."""
    results = []
    with Translator.open(bundle) as translator:
        for pair in judging.listed_pairs(translator):
            inputs = read_inputs(pair.source)
            for beam_size in judging.BEAM_SIZES:
                verdicts = judging.translate_and_judge(translator, inputs, pair, beam_size)
                kinds = {kind: asdict(rates) for kind, rates in judging.by_kind(verdicts).items()}
                result = {"source": pair.source, "target": pair.target, "beam_size": beam_size}
                result |= {"all": asdict(judging.rates_of(verdicts)), "kinds": kinds}
                failures = [failure(verdict) for verdict in verdicts if not verdict.is_good]
                results.append(result | {"failures": failures})
    if not results:
        raise SystemExit(f"{bundle}: there is no list for any of its pairs")
    return results


def failure(verdict: judging.Verdict) -> dict[str, Any]:
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
        "[bundle]": Path,
        "--bars hold tests to what is measured now": False,
        "--page is written: the tables of docs/reports/robustness.md": False,
    }
    command = Command("robustness", __doc__, options)
    names = ("NAME", "SOURCE", "TARGET")
    explained = "human translations, to see how often the rules are wrong; may be given several times"
    command.parser.add_argument(
        "--references", nargs=3, action="append", default=[], metavar=names, help=explained
    )
    arguments = command.parse()
    if arguments.bundle is None and not arguments.page:
        command.parser.error("a bundle is wanted, or --page, or both")
    if arguments.bundle is not None:
        results = measure(arguments.bundle)
        references = [
            judge_references(name, (Path(one), Path(two))) for name, one, two in arguments.references
        ]
        for result in results:
            print_result(result)
        show(references)
        if arguments.bars:
            for one in results:
                case = (arguments.bundle.name, one["source"], one["target"], one["beam_size"])
                write_bars([bar_of(*case, judging.Rates(**one["all"]))])
        command.write(arguments.bundle, {"references": references, "results": results})
    if arguments.page:
        write_page(PAGE, all_tables())


if __name__ == "__main__":
    main()
