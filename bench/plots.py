"""Plots of bench/results for docs/reports; `python -m bench.plots` draws all except those of models."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.contenders import REFERENCE
from bench.page import REPORTS, Result, read_result
from bench.provenance import RESULTS

FIGURES = REPORTS / "figures"
LEGEND_FACTOR = 1.35
"""Factor by which the axis exceeds the highest bar, so that the legend covers none."""
Points = Sequence[tuple[float, float]]


def save(
    draw_on: Callable[[Figure], None], to: Path, size_inches: tuple[float, float] = (12, 4.5), dpi: int = 110
) -> None:
    """Draw a figure and write it as PNG."""
    mpl.use("Agg")
    figure = Figure(figsize=size_inches, layout="constrained")
    draw_on(figure)
    to.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(to, dpi=dpi)


def draw_speed(result: Result, figure: Figure) -> None:
    """Draw bars of speed relative to the reference, by setting and engine; one plot per number of workers."""
    workers = sorted({row["workers"] for row in result["results"]})
    for axes, number in zip(_side_by_side(figure, len(workers)), workers, strict=True):
        rows = [row for row in result["results"] if row["workers"] == number]
        settings = list(dict.fromkeys((row["batch"], row["beam_size"]) for row in rows))
        engines = [name for name in dict.fromkeys(row["engine"] for row in rows) if name != REFERENCE]
        width = 0.8 / len(engines)
        for index, engine in enumerate(engines):
            speeds = [row["speed"] for row in rows if row["engine"] == engine]
            medians = [speed["median"] for speed in speeds]
            errors = [[abs(speed[end] - speed["median"]) for speed in speeds] for end in ("least", "most")]
            places = [place + (index - (len(engines) - 1) / 2) * width for place in range(len(settings))]
            axes.bar(places, medians, width, yerr=errors, label=engine, capsize=2)
        axes.axhline(1.0, color="black", linewidth=0.8, label=REFERENCE)
        axes.set_xticks(range(len(settings)), [f"{batch} x {beam}" for batch, beam in settings])
        axes.set(xlabel="batch x beam", ylabel=f"times as fast as {REFERENCE}")
        axes.set_title(f"{number} worker{'s' * (number > 1)}")
        axes.set_ylim(top=LEGEND_FACTOR * axes.get_ylim()[1])
        axes.legend(fontsize="small", loc="upper center", ncols=2)


def draw_online(result: Result, figure: Figure) -> None:
    """Draw latency against the rate of requests."""
    rows = [row for row in result["results"] if row["rate"] is not None]
    for axes, percentile in zip(_side_by_side(figure, 2), ("p50_ms", "p99_ms"), strict=True):
        _lines(axes, _series(rows, "way", "rate", percentile), "o")
        axes.set_yscale("log")
        axes.set(xlabel="requests a second, as they come", ylabel=f"{percentile[:3]} latency, ms")


def draw_growth(result: Result, figure: Figure) -> None:
    """Draw time per sentence by source length and by batch."""
    for axes, by in zip(_side_by_side(figure, 2), ("source_tokens", "batch"), strict=True):
        rows = [row for row in result["growth"] if row["by"] == by]
        _lines(axes, _series(rows, "engine", "size", "ms_per_sentence"), "o")
        if by == "batch":
            axes.set_xscale("log", base=2)
        axes.set_ylim(bottom=0)
        axes.set(xlabel=by.replace("_", " "), ylabel="ms a sentence")


def draw_soak(result: Result, figure: Figure) -> None:
    """Draw latency and memory over time under a constant load."""
    rows = [{**row, "minutes": row["at_s"] / 60} for row in result["served"]["timeline"]]
    latency, memory = _side_by_side(figure, 2)
    names = ("p50_ms", "p95_ms", "p99_ms")
    _lines(
        latency,
        {
            name[:3]: _points([row for row in rows if row[name] is not None], "minutes", name)
            for name in names
        },
    )
    memory.plot(*zip(*_points(rows, "minutes", "resident_mib"), strict=True))
    labels = {latency: "latency, ms", memory: "resident memory of the server, MiB"}
    for axes, label in labels.items():
        axes.set_ylim(bottom=0)
        axes.set(xlabel=f"minutes, {result['clients']} clients", ylabel=label)


def draw_learning(curve: Result, figure: Figure) -> None:
    """Draw BLEU and chrF against the pairs seen, with the end of each run."""
    axes = figure.add_subplot()
    points = [{**point, "thousand": point["pairs_seen"] / 1000} for point in curve["points"]]
    for run in dict.fromkeys(point["run"] for point in points):
        own = [point for point in points if point["run"] == run]
        for metric, colour, name in (("bleu", "tab:blue", "BLEU"), ("chrf", "tab:orange", "chrF")):
            label = name if run == points[0]["run"] else None
            values = zip(*_points(own, "thousand", metric), strict=True)
            axes.plot(*values, marker=".", color=colour, label=label)
    ends = curve["run_ends"]
    for number, (begin, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True), start=1):
        axes.axvline(end / 1000, color="grey", linewidth=0.8, linestyle=":")
        axes.annotate(
            f"run {number}",
            ((begin + end) / 2000, 0),
            xycoords=axes.get_xaxis_transform(),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            color="grey",
        )
    axes.set(xlabel="thousand pairs seen, all runs", ylabel="held-out lines, greedy search")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, alpha=0.3)
    axes.legend(loc="center right")


def draw_arms(arms: Mapping[int, Sequence[tuple[str, float, Sequence[float]]]], figure: Figure) -> None:
    """Draw BLEU against milliseconds per sentence of each arm of an experiment, by batch size."""
    for axes, (batch, rows) in zip(_side_by_side(figure, len(arms)), arms.items(), strict=True):
        for marker, (label, time_ms, scores) in zip("osD^vPX", rows, strict=False):
            mean = statistics.fmean(scores)
            errors = [[mean - min(scores)], [max(scores) - mean]]
            axes.errorbar([time_ms], [mean], yerr=errors, fmt=marker, capsize=3, label=label)
        axes.set(xlabel=f"ms a sentence, {batch} at a time, one thread", ylabel="BLEU, greedy, int8")
        axes.set_xlim(left=0)
        axes.grid(visible=True, alpha=0.3)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)


PLOTS: Mapping[str, tuple[str, Callable[[Result, Figure], None]]] = {
    "speed-real.png": ("offline-real.json", draw_speed),
    "speed-forced.png": ("offline-forced.json", draw_speed),
    "online.png": ("online.json", draw_online),
    "growth.png": ("memory.json", draw_growth),
    "soak.png": ("soak.json", draw_soak),
}


def draw(name: str, result: Result, to: Path) -> None:
    """Draw one of `PLOTS`."""
    save(lambda figure: PLOTS[name][1](result, figure), to)


def draw_all(results: Path, figures: Path) -> list[Path]:
    """Draw all plots that have a result; return the files written."""
    names = [name for name, (file, _) in PLOTS.items() if (results / file).is_file()]
    for name in names:
        draw(name, read_result(results / PLOTS[name][0]), figures / name)
    return [figures / name for name in names]


def _series(rows: Sequence[Result], name: str, x: str, y: str) -> dict[str, Points]:
    names = dict.fromkeys(row[name] for row in rows)
    return {one: sorted(_points([row for row in rows if row[name] == one], x, y)) for one in names}


def _points(rows: Sequence[Mapping[str, Any]], x: str, y: str) -> Points:
    return [(row[x], row[y]) for row in rows]


def _lines(axes: Axes, series: Mapping[str, Points], marker: str = "") -> None:
    for label, points in series.items():
        axes.plot(*zip(*points, strict=True), marker=marker, label=label)
    axes.legend(fontsize="small")


def _side_by_side(figure: Figure, count: int) -> list[Axes]:
    return [figure.add_subplot(1, count, number + 1) for number in range(count)]


if __name__ == "__main__":
    for path in draw_all(RESULTS, FIGURES):
        print(path)
