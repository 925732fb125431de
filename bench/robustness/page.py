"""Tables of docs/reports/robustness.md; `bench.page` writes them."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from bench.robustness.inputs import Rule
from bench.tables import Result, table

MAX_SHOWN = 90
"""Maximum number of characters shown of an input or output."""


def references_table(result: Result) -> str:
    """Render the faults that the rules find in human translations."""
    head = "translations by people | pairs | invented | loop | empty"
    return table(head, "{test_set} | {pairs} | {invented} | {loop} | {empty}", result["references"])


def rates_table(result: Result) -> str:
    """Render a table with a row per kind; a cell has the values of all beam sizes."""
    results = result["results"]
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
    for failure in result["results"][-1]["failures"]:
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


TABLES: Mapping[str, Callable[[Result], str]] = {
    "references": references_table,
    "rates": rates_table,
    "failures": failures_table,
}
