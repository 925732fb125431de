"""docs/reports/experiments.md and its plots: `python -m bench.experiments.page` writes them."""

import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.experiments.plan import PLANS, PUBLISHED_AT, PUBLISHED_BLEU, TIED, TUTORIAL, Plan
from bench.page import RESULTS, origin_line, render, table

PAGE = Path(__file__).parents[2] / "docs" / "reports" / "experiments.md"
NOT_MEASURED = "Not measured yet."
DPI = 110
GREEDY, BEAM = 1, 4
FEW_SEEDS = 2
"""Minimum number of seeds for a range of values."""

Result = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PagePaths:
    """Paths of the results and the page."""

    results_dir: Path
    page: Path

    @classmethod
    def of_project(cls) -> "PagePaths":
        return cls(RESULTS, PAGE)

    @classmethod
    def inside(cls, folder: Path) -> "PagePaths":
        """Return paths inside a folder, for results that do not belong on the project's page."""
        return cls(folder, folder / "experiments.md")

    def results(self, plan: str) -> Path:
        """Return the path of a plan's results."""
        return self.results_dir / f"experiments-{plan}.json"

    def read(self) -> "dict[str, Result]":
        """Read the results so far, by plan."""
        files = {plan: self.results(plan) for plan in PLANS}
        return {plan: json.loads(file.read_text("utf8")) for plan, file in files.items() if file.is_file()}


@dataclass(frozen=True, slots=True)
class Values:
    """One figure of an arm, for each of its seeds."""

    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        return statistics.fmean(self.values)

    def has_overlap(self, other: "Values") -> bool:
        """Return whether the ranges from lowest to highest value have a point in common."""
        return max(min(self.values), min(other.values)) <= min(max(self.values), max(other.values))

    def __str__(self) -> str:
        """Format the mean, and the range if there is one."""
        if len(self.values) < FEW_SEEDS:
            return f"{self.mean:.1f}"
        return f"{self.mean:.1f} ({min(self.values):.1f} to {max(self.values):.1f})"


def write_page(paths: PagePaths) -> None:
    """Write the page, and a plot for each plan whose arms were timed."""
    results = paths.read()
    text = render(PAGE.read_text(encoding="utf8"), all_tables(results))
    paths.page.parent.mkdir(parents=True, exist_ok=True)
    paths.page.write_text(text, encoding="utf8")
    for plan, result in results.items():
        if result["timing"] is not None:
            draw(result, paths.page.parent / figure_of(plan))


def figure_of(plan: str) -> str:
    """Return the path of a plan's plot, relative to the page."""
    return f"figures/experiments-{plan}.png"


def all_tables(results: Mapping[str, Result]) -> dict[str, str]:
    """Render the texts between the page's markers, by name."""
    return {
        f"{name}-{part}": text
        for name, plan in PLANS.items()
        for part, text in _tables(plan, results.get(name)).items()
    }


def _tables(plan: Plan, result: Result | None) -> dict[str, str]:
    if result is None:
        absent = dict.fromkeys(("scores", "answers", "origin"), NOT_MEASURED)
        return {"budget": budget_lines([asdict(arm) for arm in plan.arms]), "plot": "", **absent}
    return {
        "budget": budget_lines(result["arms"]),
        "scores": scores_table(result),
        "plot": plot_line(plan, result),
        "answers": "\n".join(answers(result)),
        "origin": origin_line(result),
    }


def budget_lines(arms: Sequence[Result]) -> str:
    """Render how each group of arms with the same budget is trained."""
    groups: list[tuple[Result, list[str]]] = []
    for arm in arms:
        found = next((labels for budget, labels in groups if budget == arm["budget"]), None)
        if found is None:
            groups.append((arm["budget"], [arm["label"]]))
        else:
            found.append(arm["label"])
    return "\n".join(f"- *{'; '.join(labels)}*: {_budget(budget)}" for budget, labels in groups)


def _budget(budget: Result) -> str:
    kept = budget["average_last"]
    return (
        f"{budget['steps']:,} steps of at most {budget['budget_tokens']:,} padded tokens, source and target "
        f"together; `{budget['optimizer']}`, learning rate {budget['learning_rate']:g}, "
        f"{_schedule(budget)}; labels "
        f"smoothed by {budget['label_smoothing']:g}; `{budget['precision']}`; "
        + (f"the mean of the last {kept} snapshots." if kept > 1 else "the weights after the last step.")
    )


def _schedule(budget: Result) -> str:
    warmup, decay = budget["warmup_steps"], budget["decay_steps"]
    if warmup == decay == 1:
        return "the same at every step"
    return f"reached over {warmup:,} steps and led to zero over the last {decay:,}"


def scores_table(result: Result) -> str:
    """Render a table with a row for each arm that has a run."""
    head = [
        "arm",
        "seeds",
        "BLEU, beam 4",
        "BLEU, greedy",
        "chrF, beam 4",
        "lines cut, greedy / beam 4",
        "parameters, millions",
        "cache, bytes a token, self + cross",
        *(f"ms a sentence, {name}" for name in ("one at a time", "32 at a time")),
        "minutes trained",
    ]
    rows = []
    for arm in result["arms"]:
        runs = runs_of(result, arm["name"])
        if not runs:
            continue
        rows.append(
            [
                arm["label"],
                str(len(runs)),
                str(scores(runs, "bleu", BEAM)),
                str(scores(runs, "bleu", GREEDY)),
                str(scores(runs, "chrf", BEAM)),
                " / ".join(f"{scores(runs, 'cut_by_length', size).mean:.0f}" for size in (GREEDY, BEAM)),
                f"{runs[0]['parameters'] / 1e6:.2f}",
                f"{runs[0]['self_bytes_per_token']:,} + {runs[0]['cross_bytes_per_token']:,}",
                *(_ms(result, arm["name"], batch) for batch in (1, 32)),
                f"{_minutes(runs):.0f}",
            ]
        )
    return table(head, rows)


def plot_line(plan: Plan, result: Result) -> str:
    """Return the link to the plot; empty until the arms are timed."""
    if result["timing"] is None:
        return ""
    return f"![BLEU of the arms against their milliseconds a sentence]({figure_of(plan.name)})"


def answers(result: Result) -> list[str]:
    """Return a sentence for each arm that can be compared with the first one."""
    first, *others = result["arms"]
    base = runs_of(result, first["name"])
    sentences = []
    for arm in others:
        runs = runs_of(result, arm["name"])
        if not runs or not base:
            continue
        if arm["name"] == TUTORIAL.name:
            sentences.append(_compare_with_published(arm, runs))
        else:
            sentences.append(_compare(result, arm, first))
    return sentences or ["Nothing to compare yet: fewer than two arms have a run."]


def _compare(result: Result, arm: Result, first: Result) -> str:
    runs, base = runs_of(result, arm["name"]), runs_of(result, first["name"])
    ours, theirs = scores(runs, "bleu", BEAM), scores(base, "bleu", BEAM)
    share = runs[0]["parameters"] / base[0]["parameters"] - 1
    sentences = (
        f"- **{arm['label']}**, against {first['label']}: BLEU {ours.mean - theirs.mean:+.1f} with beam 4, "
        f"{ours} against {theirs}, {_verdict(ours, theirs)}; {share:+.0%} parameters"
    )
    parts = [sentences]
    if arm["name"] == TIED.name:
        parts.append(
            f"{sum_of_cache(runs[0]):,} bytes of cache for a source and a target token against "
            f"{sum_of_cache(base[0]):,}"
        )
    if arm["budget"]["steps"] != first["budget"]["steps"]:
        parts.append(f"{_effort(arm, runs)} against {_effort(first, base)}")
    times = {batch: (ms(result, arm["name"], batch), ms(result, first["name"], batch)) for batch in (1, 32)}
    compared = [
        f"{mine['median'] / other['median']:.2f} times the time a sentence "
        + ("one at a time" if batch == 1 else f"{batch} at a time")
        for batch, (mine, other) in times.items()
        if mine is not None and other is not None
    ]
    return "; ".join([*parts, *compared]) + "."


def _effort(arm: Result, runs: Sequence[Result]) -> str:
    return f"{arm['budget']['steps']:,} steps in {_minutes(runs):.0f} minutes"


def _minutes(runs: Sequence[Result]) -> float:
    return 60 * statistics.fmean(run["train_hours"] for run in runs)


def _verdict(ours: Values, theirs: Values) -> str:
    if min(len(ours.values), len(theirs.values)) < FEW_SEEDS:
        return "too few seeds to judge"
    return "the seeds' ranges overlap" if ours.has_overlap(theirs) else "the seeds' ranges do not overlap"


def _compare_with_published(arm: Result, runs: Sequence[Result]) -> str:
    lower, cased = scores(runs, "bleu_lower", GREEDY), scores(runs, "bleu", GREEDY)
    return (
        f"- **{arm['label']}**: lower-cased BLEU {lower}, greedy, beside "
        f"[{PUBLISHED_BLEU} as published]({PUBLISHED_AT}); with case {cased}."
    )


def runs_of(result: Result, arm: str) -> list[Result]:
    """Return the runs of an arm in the order in which they were made."""
    return [run for run in result["runs"] if run["arm"] == arm]


def scores(runs: Sequence[Result], metric: str, beam_size: int, precision: str = "fp32") -> Values:
    """Return one figure of each run."""
    return Values(
        tuple(
            score[metric]
            for run in runs
            for score in run["scores"]
            if (score["precision"], score["beam_size"]) == (precision, beam_size)
        )
    )


def sum_of_cache(run: Result) -> int:
    """Return the cache bytes of a source token and a target token together."""
    return int(run["self_bytes_per_token"] + run["cross_bytes_per_token"])


def ms(result: Result, arm: str, batch: int) -> dict[str, float] | None:
    """Return median, least and most milliseconds per sentence; None until the arms are timed."""
    for row in (result["timing"] or {"results": ()})["results"]:
        if (row["arm"], row["batch"]) == (arm, batch):
            spread: dict[str, float] = row["ms_per_sentence"]
            return spread
    return None


def _ms(result: Result, arm: str, batch: int) -> str:
    found = ms(result, arm, batch)
    return "" if found is None else f"{found['median']:.1f}"


def draw(result: Result, to: Path) -> None:
    """Plot BLEU against milliseconds per sentence, both int8 and greedy, one and 32 sentences at a time."""
    figure = Figure(figsize=(12, 4.8), layout="constrained")
    axes: list[Axes] = [figure.add_subplot(1, 2, number + 1) for number in range(2)]
    for each, batch in zip(axes, (1, 32), strict=True):
        for number, arm in enumerate(result["arms"]):
            _draw_arm(each, result, arm, number, batch)
        each.set_xlabel(f"ms a sentence, {'one' if batch == 1 else batch} at a time, one thread")
        each.set_ylabel("BLEU, greedy, int8")
        each.set_xlim(left=0)
        each.grid(visible=True, alpha=0.3)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize="small")
    to.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(to, dpi=DPI)


def _draw_arm(axes: Axes, result: Result, arm: Result, number: int, batch: int) -> None:
    runs, times = runs_of(result, arm["name"]), ms(result, arm["name"], batch)
    if not runs or times is None:
        return
    bleu = scores(runs, "bleu", GREEDY, "int8")
    axes.errorbar(
        [times["median"]],
        [bleu.mean],
        xerr=[[times["median"] - times["least"]], [times["most"] - times["median"]]],
        yerr=[[bleu.mean - min(bleu.values)], [max(bleu.values) - bleu.mean]],
        fmt="osD^vPX"[number % 7],
        capsize=3,
        label=arm["label"],
    )


def main() -> int:
    write_page(PagePaths.of_project())
    return 0


if __name__ == "__main__":
    sys.exit(main())
