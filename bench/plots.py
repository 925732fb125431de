"""Plots of bench/results for docs/reports; `bench.page` draws them."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.confidence import NAMES
from bench.contenders import REFERENCE
from bench.provenance import read_result
from bench.tables import Result
from export.confidence import GOOD_CHRF

LEGEND_FACTOR = 1.35
"""Factor by which the axis exceeds the highest bar, so that the legend covers none."""


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
            positions = [
                position + (index - (len(engines) - 1) / 2) * width for position in range(len(settings))
            ]
            axes.bar(positions, medians, width, yerr=errors, label=engine, capsize=2)
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
        for way in dict.fromkeys(row["way"] for row in rows):
            points = sorted(_points([row for row in rows if row["way"] == way], "rate", percentile))
            axes.plot(*zip(*points, strict=True), marker="o", label=way)
        axes.legend(fontsize="small")
        axes.set_yscale("log")
        axes.set(xlabel="requests a second, as they come", ylabel=f"{percentile[:3]} latency, ms")


def draw_learning(result: Result, figure: Figure) -> None:
    """Draw BLEU and chrF against the pairs seen, with the end of each run; nothing without a curve."""
    curve = result["curve"]
    points = [{**point, "thousand": point["pairs_seen"] / 1000} for point in curve["points"]]
    if not points:
        return
    axes = figure.add_subplot()
    for run in dict.fromkeys(point["run"] for point in points):
        of_run = [point for point in points if point["run"] == run]
        for metric, colour, name in (("bleu", "tab:blue", "BLEU"), ("chrf", "tab:orange", "chrF")):
            label = name if run == points[0]["run"] else None
            values = zip(*_points(of_run, "thousand", metric), strict=True)
            axes.plot(*values, marker=".", color=colour, label=label)
    ends = curve["run_ends"]
    for number, (begin, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True), start=1):
        axes.axvline(end / 1000, color="grey", linewidth=0.8, linestyle=":")
        middle, position = ((begin + end) / 2000, 0), axes.get_xaxis_transform()
        offset: dict[str, Any] = {"xytext": (0, 4), "textcoords": "offset points"}
        axes.annotate(f"run {number}", middle, xycoords=position, ha="center", color="grey", **offset)
    axes.set(xlabel="thousand pairs seen, all runs", ylabel="held-out lines, greedy search")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, alpha=0.3)
    axes.legend(loc="center right")


def draw_calibration(result: Result, figure: Figure) -> None:
    """Draw the share of good translations against the confidence."""
    axes = figure.add_subplot()
    axes.plot((0, 1), (0, 1), color="grey", linewidth=0.8, label="calibrated")
    for field, name in NAMES.items():
        axes.plot(
            *zip(*_points(result[field]["curve"], "confidence", "good_share"), strict=True), "o-", label=name
        )
    axes.set(xlabel="mean of the bin", ylabel=f"share with chrF of at least {GOOD_CHRF:.0f}")
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.legend(fontsize="small", loc="upper left")


WIDE = (12.0, 4.5)
PLOTS: Mapping[str, tuple[str, Callable[[Result, Figure], None], tuple[float, float], int]] = {
    "speed-real": ("offline-real.json", draw_speed, WIDE, 110),
    "speed-forced": ("offline-forced.json", draw_speed, WIDE, 110),
    "online": ("online.json", draw_online, WIDE, 110),
    "learning-{}": ("card-*.json", draw_learning, (8.0, 4.0), 100),
    "confidence-{}": ("confidence-*.json", draw_calibration, (5.0, 4.0), 100),
}
"""Result files, function, size in inches and resolution of the plots, by their names."""


def draw_all(results: Path, figures: Path) -> list[Path]:
    """Draw all plots that have a result; return the files written."""
    mpl.use("Agg")
    written = []
    for name, (pattern, draw, size_inches, dpi) in PLOTS.items():
        for path in sorted(results.glob(pattern)):
            figure = Figure(figsize=size_inches, layout="constrained")
            draw(read_result(path), figure)
            if figure.axes:
                written.append(figures / f"{name.format(path.stem.partition('-')[2])}.png")
                figures.mkdir(parents=True, exist_ok=True)
                figure.savefig(written[-1], dpi=dpi)
    return written


def _points(rows: Sequence[Mapping[str, Any]], x: str, y: str) -> list[tuple[float, float]]:
    return [(row[x], row[y]) for row in rows]


def _side_by_side(figure: Figure, count: int) -> list[Axes]:
    return [figure.add_subplot(1, count, number + 1) for number in range(count)]
