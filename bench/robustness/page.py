"""Tables of docs/reports/robustness.md from bench/results, by `python -m bench.robustness --page`."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.page import REPORTS, Result, origin_line, read_result, table
from bench.provenance import RESULTS
from bench.robustness.inputs import TARGETS, Rule

PAGE = REPORTS / "robustness.md"
MAX_SHOWN = 90
"""Maximum number of characters shown of an input or output."""
_NOT_MEASURED = "Not measured yet: `python -m bench.robustness models/{name} --output {path}`."


def all_tables(results: Path = RESULTS) -> dict[str, str]:
    """Render all tables by their names on the page; a table without a result becomes a sentence."""
    tables: dict[str, str] = {}
    for source, target in TARGETS.items():
        name = f"{source}-{target}"
        path = results / f"robustness-{name}.json"
        missing = _NOT_MEASURED.format(name=name, path=f"bench/results/{path.name}")
        made = dict.fromkeys(("origin", "references", "rates", "failures"), missing)
        if path.is_file():
            made = _tables_of(read_result(path))
        tables |= {f"{name}-{part}": text for part, text in made.items()}
    return tables


def _tables_of(result: Result) -> dict[str, str]:
    head = "translations by people | pairs | invented | loop | empty"
    cells = "{test_set} | {pairs} | {invented} | {loop} | {empty}"
    return {
        "origin": origin_line(result),
        "references": table(head, cells, result["references"]),
        "rates": rates_table(result["results"]),
        "failures": failures_table(result["results"][-1]),
    }


def rates_table(results: Sequence[Result]) -> str:
    """Render a table with a row per kind; a cell has the values of all beam sizes."""
    beams = [row["beam_size"] for row in results]
    searches = " · ".join("greedy" if beam_size == 1 else f"beam {beam_size}" for beam_size in beams)
    kinds = {"**all**": [row["all"] for row in results]}
    kinds |= {kind: [row["kinds"][kind] for row in results] for kind in results[0]["kinds"]}
    return table(
        f"kind ({searches}) | inputs | no fault | things | kept | words | said | invented | loop | empty",
        "{kind} | {inputs} | {good} | {things} | {kept} | {words} | {said} | {invented} | {loop} | {empty}",
        ({"kind": kind} | {name: _cell(rates, name) for name in rates[0]} for kind, rates in kinds.items()),
    )


def _cell(rates: Sequence[Result], name: str) -> str:
    if name in {"inputs", "things", "words"}:
        return str(rates[0][name])
    return " · ".join("-" if one[name] is None else f"{100 * one[name]:.0f}" for one in rates)


def failures_table(result: Result) -> str:
    """Render the first failure of each kind."""
    first: dict[str, Result] = {}
    for failure in result["failures"]:
        first.setdefault(failure["kind"], failure)
    rows = (
        {
            "kind": kind,
            "input": _shorten(one["input"]),
            "output": _shorten(one["output"]),
            "fault": _escape("; ".join(fault_lines(one))),
        }
        for kind, one in first.items()
    )
    return table("kind | input | output | fault", "{kind} | {input} | {output} | {fault}", rows)


def fault_lines(failure: Result) -> Iterator[str]:
    """Yield a description of each fault."""
    if failure["lost"]:
        yield f"lost {', '.join(failure['lost'])}"
    if failure["unsaid"]:
        yield f"not said {', '.join(thing.removeprefix(f'{Rule.SAYS}:') for thing in failure['unsaid'])}"
    for name in ("invented", "loop"):
        if failure[name]:
            yield f"{name}, {failure[name]}"
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
