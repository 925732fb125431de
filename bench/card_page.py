"""Sections of a model card, and docs/reports/models.md, generated from `bench/results/card-*.json`."""

from collections.abc import Sequence
from pathlib import Path

from bench.confidence import render_calibration
from bench.processes import MIB
from bench.provenance import RESULTS, read_result
from bench.tables import Result, origin_line
from export.markdown import cell, table
from export.model_card import CardSection, score_table, search_name

MAX_POINTS = 10
"""Maximum number of validations that a card shows; the plot shows all."""
_HEAD = """\
# Bundled models

One section for each model in `models/`: how good it is, how fast, and how it learned. This page is made of
`bench/results/card-*.json` by `python -m bench.page`; those files, and the models' cards, are written
by `python -m bench.card MODEL`. The card, README.md in the model's folder, tells the rest: how to try it,
examples, training data and their licences, known limits.
"""


def card_sections(result: Result) -> list[CardSection]:
    """Return the sections of a card that are not made from the manifest."""
    sections = [CardSection("Speed, size and memory", cost(result))]
    if result["examples"] is not None:
        sections.append(CardSection("Examples", examples(result["examples"])))
    if result["curve"]["points"]:
        sections.append(CardSection("Learning curve", curve(result["curve"])))
    return sections


def cost(result: Result) -> str:
    """Render sentences per second of each test set, size on disk and in memory, and the machine."""
    by_set: dict[str, list[Result]] = {}
    for row in result["speed"]:
        by_set.setdefault(row["test_set"], []).append(row)
    searches = list(dict.fromkeys(row["beam_size"] for row in result["speed"]))
    head = ["test set", *(f"{search_name(beam_size)}, sentences/s" for beam_size in searches)]
    rows = [(name, *(_rate(row) for row in measured)) for name, measured in by_set.items()]
    memory = result["memory"]
    sizes = {
        "memory after loading": memory["loaded_bytes"],
        "of that, Python and its libraries": memory["before_bytes"],
    }
    if memory["beside"] is not None:
        sizes[f"with {memory['beside']['name']} beside it"] = memory["beside"]["loaded_bytes"]
    facts = [("size", f"{result['size_bytes'] / 1e6:.1f} MB")]
    facts += [(name, f"{size_bytes / MIB:.0f} MiB") for name, size_bytes in sizes.items()]
    rounds = max(row["rounds"] for row in result["speed"])
    times = f"median of {rounds} rounds (least to most)" if rounds > 1 else "one round"
    return (
        f"All lines of a test set at once, {result['replicas']} replicas of one thread, as shipped; "
        f"{times}.\n\n{table(head, rows)}\n\n{table(('', ''), facts)}\n\n"
        f"Measured on {cell(origin_line(result))}"
    )


def examples(drawn: Result) -> str:
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


def curve(recorded: Result) -> str:
    """Render an evenly spaced selection of the validations, with the first and the last."""
    points = recorded["points"]
    rows = [
        (point["run"], f"{point['pairs_seen']:,}", f"{point['bleu']:.1f}", f"{point['chrf']:.1f}")
        for point in (points[index] for index in _evenly(len(points), MAX_POINTS))
    ]
    shown = table(("run", "pairs seen", "BLEU", "chrF"), rows)
    return f"{curve_caption(recorded)} A picture is in the project's docs/reports/models.md.\n\n{shown}"


def curve_caption(recorded: Result) -> str:
    """Return the curve's caption, which names the runs without history."""
    known = {point["run"] for point in recorded["points"]}
    missing = [str(run) for run in range(1, len(recorded["run_ends"]) + 1) if run not in known]
    gap = f" No history was kept of run {', '.join(missing)}." if missing else ""
    return f"Greedy search on the lines that each run held out, by the pairs seen in all runs.{gap}"


def read_results(folder: Path = RESULTS) -> dict[str, Result]:
    """Read all results, by the name of the bundle's folder, in order, with what other measurements stored."""
    results: dict[str, Result] = {}
    for path in sorted(folder.glob("card-*.json")):
        result = read_result(path)
        name = result["provenance"]["bundle"]
        stored = {"calibration": "confidence", "reading": "reading"}
        others = {key: folder / f"{prefix}-{name}.json" for key, prefix in stored.items()}
        results[name] = result | {key: read_result(path) for key, path in others.items() if path.is_file()}
    return results


def render_page(results: dict[str, Result]) -> str:
    """Render the page as Markdown."""
    return "\n".join([_HEAD, *(_model(name, result) for name, result in results.items())])


def _model(name: str, result: Result) -> str:
    parts = [
        f"## {cell(name)}",
        f"{result['summary']} [Its card](../../models/{name}/README.md).",
        "### Quality",
        score_table(result["scores"]),
        "### Cost",
        cost(result),
    ]
    if result["curve"]["points"]:
        picture = f"![BLEU and chrF of {cell(name)} against the pairs seen](figures/learning-{name}.png)"
        parts += ["### Learning", picture, curve_caption(result["curve"])]
    if "calibration" in result:
        picture = (
            f"![Share of good translations of {cell(name)} by confidence](figures/confidence-{name}.png)"
        )
        parts += ["### Confidence", picture, render_calibration(result["calibration"])]
    if "reading" in result:
        parts += ["### Reading", _reading(result["reading"])]
    return "\n\n".join(parts) + "\n"


def _reading(result: Result) -> str:
    """Render how many sentences come out right with and without the bundle's `reading.toml`."""
    totals = result["totals"]
    return (
        f"`reading.toml` has {result['entries']} entries. Of {totals['sentences']} sentences that hold one, "
        f"{totals['with']} are right with it and {totals['without']} without it."
    )


def _rate(row: Result) -> str:
    rate = row["sentences_per_s"]
    between = f" ({rate['least']:.0f} to {rate['most']:.0f})" if row["rounds"] > 1 else ""
    return f"{rate['median']:.0f}{between}"


def _evenly(count: int, most: int) -> Sequence[int]:
    """Return the indexes of at most `most` evenly spaced items out of `count`."""
    if count <= most:
        return range(count)
    return [round(step * (count - 1) / (most - 1)) for step in range(most)]
