"""Tables of docs/reports/robustness.md from bench/results, by `python -m bench.robustness --page`."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.page import RESULTS, origin_line, render, table
from bench.robustness.inputs import TARGETS, Rule

PAGE = Path(__file__).parents[2] / "docs" / "reports" / "robustness.md"
MAX_SHOWN = 90
"""Maximum number of characters shown of an input or output."""
_NOT_MEASURED = "Not measured yet: `python -m bench.robustness models/{name} --output {path}`."

Result = Mapping[str, Any]


def write_page() -> None:
    """Replace every marked table of the page."""
    PAGE.write_text(render(PAGE.read_text(encoding="utf8"), all_tables()), encoding="utf8")


def all_tables(results: Path = RESULTS) -> dict[str, str]:
    """Render all tables by their names on the page; a table without a result becomes a sentence."""
    tables = {}
    for source, target in TARGETS.items():
        name = f"{source}-{target}"
        path = results / f"robustness-{name}.json"
        made = _tables_of(json.loads(path.read_text(encoding="utf8"))) if path.is_file() else {}
        for part in ("origin", "references", "rates", "failures"):
            tables[f"{name}-{part}"] = made.get(
                part, _NOT_MEASURED.format(name=name, path=f"bench/results/{path.name}")
            )
    return tables


def _tables_of(result: Result) -> dict[str, str]:
    return {
        "origin": origin_line(result),
        "references": _references_table(result["references"]),
        "rates": rates_table(result["results"]),
        "failures": failures_table(result["results"][-1]),
    }


def _references_table(references: Sequence[Result]) -> str:
    names = ("invented", "loop", "empty")
    rows = ([row["test_set"], str(row["pairs"]), *(str(row[name]) for name in names)] for row in references)
    return table(["translations by people", "pairs", *names], rows)


def rates_table(results: Sequence[Result]) -> str:
    """Render a table with a row per kind; a cell has the values of all beam sizes."""
    beams = [row["beam_size"] for row in results]
    searches = " · ".join("greedy" if beam_size == 1 else f"beam {beam_size}" for beam_size in beams)
    names = ("inputs", "no fault", "things", "kept", "words", "said", "invented", "loop", "empty")
    head = [f"kind ({searches})", *names]
    kinds = [("**all**", [row["all"] for row in results])]
    kinds += [(kind, [row["kinds"][kind] for row in results]) for kind in results[0]["kinds"]]
    return table(head, (_rates_row(kind, rates) for kind, rates in kinds))


def _rates_row(kind: str, rates: Sequence[Result]) -> list[str]:
    first = rates[0]

    def cell(name: str) -> str:
        return " · ".join("-" if one[name] is None else f"{100 * one[name]:.0f}" for one in rates)

    return [
        kind,
        str(first["inputs"]),
        cell("good"),
        str(first["things"]),
        cell("kept"),
        str(first["words"]),
        cell("said"),
        *(cell(name) for name in ("invented", "loop", "empty")),
    ]


def failures_table(result: Result) -> str:
    """Render the first failure of each kind."""
    first: dict[str, Result] = {}
    for failure in result["failures"]:
        first.setdefault(failure["kind"], failure)
    return table(
        ["kind", "input", "output", "fault"],
        (
            [kind, _shorten(one["input"]), _shorten(one["output"]), _escape("; ".join(fault_lines(one)))]
            for kind, one in first.items()
        ),
    )


def fault_lines(failure: Result) -> Iterator[str]:
    """Yield a description of each fault."""
    if failure["lost"]:
        yield f"lost {', '.join(failure['lost'])}"
    if failure["unsaid"]:
        yield f"not said {', '.join(thing.removeprefix(f'{Rule.SAYS}:') for thing in failure['unsaid'])}"
    if failure["invented"]:
        yield f"invented, {failure['invented']}"
    if failure["loop"]:
        yield f"loop, {failure['loop']}"
    if failure["empty"]:
        yield "empty"


def _shorten(text: str) -> str:
    visible = text.replace("\n", "⏎").replace("\t", "⇥")
    return _escape(visible if len(visible) <= MAX_SHOWN else visible[: MAX_SHOWN - 1] + "…")


def _escape(text: str) -> str:
    """Escape a text for Markdown, including code spans and tags."""
    for sign in "\\`*_<>[]&|":
        text = text.replace(sign, f"\\{sign}")
    return text
