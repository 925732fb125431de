"""Sections of a model card and of docs/reports/models.md, generated from `bench/results/card-*.json`."""

from collections.abc import Mapping, Sequence
from typing import Any

from bench.page import origin_line
from export.markdown import cell, table
from export.model_card import Section, search_name

MEBIBYTE = 2**20
MAX_POINTS = 10
"""Maximum number of validations that a card shows; the plot shows all."""
PAGE = "docs/reports/models.md"

Result = Mapping[str, Any]


def card_sections(result: Result) -> list[Section]:
    """Return the sections of a card that are not made from the manifest."""
    sections = [Section("Speed, size and memory", cost(result))]
    if result["examples"] is not None:
        sections.append(Section("Examples", examples(result["examples"])))
    if result["curve"]["points"]:
        sections.append(Section("Learning curve", curve(result["curve"])))
    return sections


def cost(result: Result) -> str:
    """Render sentences per second of each test set, size on disk and in memory, and the machine."""
    by_set: dict[str, list[Mapping[str, Any]]] = {}
    for row in result["speed"]:
        by_set.setdefault(row["test_set"], []).append(row)
    searches = list(dict.fromkeys(row["beam_size"] for row in result["speed"]))
    head = ["test set", *(f"{search_name(beam_size)}, sentences/s" for beam_size in searches)]
    rows = [(name, *(_rate(row) for row in measured)) for name, measured in by_set.items()]
    memory = result["memory"]
    facts = [
        ("size", f"{result['size_bytes'] / 1e6:.1f} MB"),
        ("memory after loading", _mebibytes(memory["loaded_bytes"])),
        ("of that, Python and its libraries", _mebibytes(memory["before_bytes"])),
    ]
    if memory["beside"] is not None:
        beside = memory["beside"]
        facts.append((f"with {beside['name']} beside it", _mebibytes(beside["loaded_bytes"])))
    rounds = max(row["rounds"] for row in result["speed"])
    times = f"median of {rounds} rounds (least to most)" if rounds > 1 else "one round"
    return (
        f"All lines of a test set at once, {result['replicas']} replicas of one thread, as shipped; "
        f"{times}.\n\n{table(head, rows)}\n\n{table(('', ''), facts)}\n\n"
        f"Measured on {cell(origin_line(result))}"
    )


def examples(drawn: Mapping[str, Any]) -> str:
    """Render source, translation and reference of each example, best first."""
    rows = [
        (number, f"{line['chrf']:.0f}", line["source"], line["translation"], line["reference"])
        for number, line in enumerate(drawn["lines"], start=1)
    ]
    search = search_name(drawn["beam_size"])
    return (
        f"Of {cell(drawn['test_set'])} ({cell(drawn['credit'])}), {search}, as shipped. {drawn['rule']}\n\n"
        + table(("", "chrF", "source", "translation", "reference"), rows)
    )


def curve(recorded: Mapping[str, Any]) -> str:
    """Render an evenly spaced selection of the validations, with the first and the last."""
    points = recorded["points"]
    rows = [
        (point["run"], f"{point['pairs_seen']:,}", f"{point['bleu']:.1f}", f"{point['chrf']:.1f}")
        for point in (points[place] for place in _evenly(len(points), MAX_POINTS))
    ]
    head = ("run", "pairs seen", "BLEU", "chrF")
    return f"{curve_caption(recorded)} A picture is in the project's {PAGE}.\n\n{table(head, rows)}"


def curve_caption(recorded: Mapping[str, Any]) -> str:
    """Return the curve's caption, which names the runs without history."""
    known = {point["run"] for point in recorded["points"]}
    missing = [str(run) for run in range(1, len(recorded["run_ends"]) + 1) if run not in known]
    gap = f" No history was kept of run {', '.join(missing)}." if missing else ""
    return f"Greedy search on the lines that each run held out, by the pairs seen in all runs.{gap}"


def _rate(row: Mapping[str, Any]) -> str:
    rate = row["sentences_per_s"]
    between = f" ({rate['least']:.0f} to {rate['most']:.0f})" if row["rounds"] > 1 else ""
    return f"{rate['median']:.0f}{between}"


def _mebibytes(size_bytes: int) -> str:
    return f"{size_bytes / MEBIBYTE:.0f} MiB"


def _evenly(count: int, most: int) -> Sequence[int]:
    """Return the indexes of at most `most` evenly spaced items out of `count`."""
    if count <= most:
        return range(count)
    return [round(step * (count - 1) / (most - 1)) for step in range(most)]
