"""Plots of bench/results for docs/reports/performance.md: `python -m bench.plots`."""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.contenders import REFERENCE
from bench.page import RESULTS

FIGURES = Path(__file__).parents[1] / "docs" / "reports" / "figures"
DPI = 110
LEGEND_FACTOR = 1.35
"""Factor by which the axis exceeds the highest bar, so that the legend covers none."""
Result = Mapping[str, Any]


def draw_speed(result: Result, figure: Figure) -> None:
    """Draw bars of speed relative to the reference, by setting and engine; one plot per number of workers."""
    workers = sorted({row["workers"] for row in result["results"]})
    for axes, number in zip(_side_by_side(figure, len(workers)), workers, strict=True):
        rows = [row for row in result["results"] if row["workers"] == number]
        settings = list(dict.fromkeys((row["batch"], row["beam_size"]) for row in rows))
        engines = [name for name in dict.fromkeys(row["engine"] for row in rows) if name != REFERENCE]
        width = 0.8 / len(engines)
        for index, engine in enumerate(engines):
            speeds = {
                (row["batch"], row["beam_size"]): row["speed"] for row in rows if row["engine"] == engine
            }
            medians = [speeds[setting]["median"] for setting in settings]
            below = [speeds[setting]["median"] - speeds[setting]["least"] for setting in settings]
            above = [speeds[setting]["most"] - speeds[setting]["median"] for setting in settings]
            places = [place + (index - (len(engines) - 1) / 2) * width for place in range(len(settings))]
            axes.bar(places, medians, width, yerr=[below, above], label=engine, capsize=2)
        axes.axhline(1.0, color="black", linewidth=0.8, label=REFERENCE)
        axes.set_xticks(range(len(settings)), [f"{batch} x {beam}" for batch, beam in settings])
        axes.set_xlabel("batch x beam")
        axes.set_ylabel(f"times as fast as {REFERENCE}")
        axes.set_title(f"{number} worker{'s' * (number > 1)}")
        axes.set_ylim(top=LEGEND_FACTOR * axes.get_ylim()[1])
        axes.legend(fontsize="small", loc="upper center", ncols=2)


def draw_online(result: Result, figure: Figure) -> None:
    """Draw latency against the rate of requests."""
    for axes, percentile in zip(_side_by_side(figure, 2), ("p50_ms", "p99_ms"), strict=True):
        rows = [row for row in result["results"] if row["rate"] is not None]
        for way in dict.fromkeys(row["way"] for row in rows):
            points = sorted((row["rate"], row[percentile]) for row in rows if row["way"] == way)
            axes.plot(*zip(*points, strict=True), marker="o", label=way)
        axes.set_yscale("log")
        axes.set_xlabel("requests a second, as they come")
        axes.set_ylabel(f"{percentile[:3]} latency, ms")
        axes.legend(fontsize="small")


def draw_growth(result: Result, figure: Figure) -> None:
    """Draw time per sentence by source length and by batch."""
    for axes, by in zip(_side_by_side(figure, 2), ("source_tokens", "batch"), strict=True):
        rows = [row for row in result["growth"] if row["by"] == by]
        for engine in dict.fromkeys(row["engine"] for row in rows):
            points = sorted((row["size"], row["ms_per_sentence"]) for row in rows if row["engine"] == engine)
            axes.plot(*zip(*points, strict=True), marker="o", label=engine)
        if by == "batch":
            axes.set_xscale("log", base=2)
        axes.set_ylim(bottom=0)
        axes.set_xlabel(by.replace("_", " "))
        axes.set_ylabel("ms a sentence")
        axes.legend(fontsize="small")


def draw_soak(result: Result, figure: Figure) -> None:
    """Draw latency and memory over time under a constant load."""
    rows = result["served"]["timeline"]
    minutes = [row["at_s"] / 60 for row in rows]
    latency, memory = _side_by_side(figure, 2)
    for name in ("p50_ms", "p95_ms", "p99_ms"):
        known = [(at, row[name]) for at, row in zip(minutes, rows, strict=True) if row[name] is not None]
        latency.plot(*zip(*known, strict=True), label=name[:3])
    latency.set_ylim(bottom=0)
    latency.set_ylabel("latency, ms")
    latency.legend(fontsize="small")
    memory.plot(minutes, [row["resident_mib"] for row in rows])
    memory.set_ylim(bottom=0)
    memory.set_ylabel("resident memory of the server, MiB")
    for axes in (latency, memory):
        axes.set_xlabel(f"minutes, {result['clients']} clients")


PLOTS: Mapping[str, tuple[str, Callable[[Result, Figure], None]]] = {
    "speed-real.png": ("offline-real.json", draw_speed),
    "speed-forced.png": ("offline-forced.json", draw_speed),
    "online.png": ("online.json", draw_online),
    "growth.png": ("memory.json", draw_growth),
    "soak.png": ("soak.json", draw_soak),
}


def draw_all(results: Path, figures: Path) -> list[Path]:
    """Draw all plots that have a result; return the files written."""
    mpl.use("Agg")
    figures.mkdir(parents=True, exist_ok=True)
    written = []
    for name, (file, draw) in PLOTS.items():
        path = results / file
        if path.is_file():
            _draw_one(path, draw, figures / name)
            written.append(figures / name)
    return written


def draw_soak_file(result: Path, figure: Path) -> None:
    """Draw a soak result from any file."""
    mpl.use("Agg")
    figure.parent.mkdir(parents=True, exist_ok=True)
    _draw_one(result, draw_soak, figure)


def _draw_one(result: Path, draw: Callable[[Result, Figure], None], to: Path) -> None:
    figure = Figure(figsize=(12, 4.5), layout="constrained")
    draw(json.loads(result.read_text(encoding="utf8")), figure)
    figure.savefig(to, dpi=DPI)


def _side_by_side(figure: Figure, count: int) -> list[Axes]:
    return [figure.add_subplot(1, count, number + 1) for number in range(count)]


def main() -> int:
    for path in draw_all(RESULTS, FIGURES):
        sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
