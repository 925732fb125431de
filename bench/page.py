"""Tables of docs/reports/performance.md; `python -m bench.page` writes them, between markers.

A marker is `<!-- table: NAME -->`; the text between it and `<!-- end -->` is replaced.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
PAGE = Path(__file__).parents[1] / "docs" / "reports" / "performance.md"
NOT_MEASURED = "Not measured yet: `make bench`."
MARKED = re.compile(r"<!-- table: (?P<name>[a-z0-9-]+) -->\n.*?<!-- end -->", re.DOTALL)
LARGEST_OPERATORS = 8

Result = Mapping[str, Any]


def render(page: str, tables: Mapping[str, str]) -> str:
    """Replace every marked table of the page.

    Raises:
        KeyError: the page has a marker for an unknown table.
    """

    def replace(match: re.Match[str]) -> str:
        name = match["name"]
        return f"<!-- table: {name} -->\n\n{tables[name]}\n\n<!-- end -->"

    return MARKED.sub(replace, page)


def all_tables(results: Path = RESULTS) -> dict[str, str]:
    """Render every table of the page, by name; a table without a result becomes a sentence."""
    tables = {}
    for name, (file, make) in TABLES.items():
        path = results / file
        if path.is_file():
            tables[name] = make(json.loads(path.read_text(encoding="utf8")))
        else:
            tables[name] = NOT_MEASURED
    return tables


def origin_line(result: Result) -> str:
    """Return machine, versions, commit and date as a sentence."""
    origin = result["provenance"]
    packages = {**origin["packages"], **result.get("packages", {})}
    versions = ", ".join(f"{name} {number}" for name, number in sorted(packages.items()))
    return (
        f"{origin['cpu']}, {origin['cores']} cores; Python {origin['python']}, {versions}; commit "
        f"{origin['commit']}, {origin['measured_at'][:10]}."
    )


def offline_table(result: Result, workers: int) -> str:
    """Render milliseconds per sentence, tokens per second, and speed relative to the reference."""
    rows = [row for row in result["results"] if row["workers"] == workers]
    bleu = {(row["engine"], row["beam_size"]): row.get("bleu") for row in result.get("quality", ())}
    has_bleu = any(score is not None for score in bleu.values())
    head = ["batch", "beam", "engine", "ms a sentence", "least to most", "tokens/s", "speed", "least to most"]
    cells = []
    for row in sorted(rows, key=lambda row: (row["batch"], row["beam_size"])):
        line = [
            str(row["batch"]),
            str(row["beam_size"]),
            row["engine"],
            f"{row['ms_per_sentence']['median']:.1f}",
            f"{row['ms_per_sentence']['least']:.1f} to {row['ms_per_sentence']['most']:.1f}",
            f"{row['target_tokens_per_s']['median']:.0f}",
            f"{row['speed']['median']:.2f} x",
            f"{row['speed']['least']:.2f} to {row['speed']['most']:.2f}",
        ]
        cells.append([*line, f"{bleu[row['engine'], row['beam_size']]:.1f}"] if has_bleu else line)
    return table([*head, "BLEU"] if has_bleu else head, cells)


def quality_table(result: Result) -> str:
    """Render the share of equal outputs, and BLEU."""
    rows = result.get("quality", ())
    return table(
        ["engine", "beam", "same output as Dragoman fp32", "BLEU"],
        (
            [
                row["engine"],
                str(row["beam_size"]),
                f"{row['equal_to_fp32']:.1%}" if "equal_to_fp32" in row else "",
                f"{row['bleu']:.2f}" if "bleu" in row else "",
            ]
            for row in rows
        ),
    )


def gemm_table(result: Result) -> str:
    """Render the speed of int8 products on one core."""
    by_rows: dict[int, dict[bool, Result]] = {}
    for rate in result["gemm"]:
        by_rows.setdefault(rate["rows"], {})[rate["is_cold"]] = rate
    return table(
        ["rows", "us, weights in cache", "us, weights cold", "GOP/s in cache", "GOP/s cold", "GB/s cold"],
        (
            [
                str(rows),
                f"{pair[False]['microseconds']:.1f}",
                f"{pair[True]['microseconds']:.1f}",
                f"{pair[False]['gops_per_s']:.0f}",
                f"{pair[True]['gops_per_s']:.0f}",
                f"{pair[True]['weight_gb_per_s']:.1f}",
            ]
            for rows, pair in by_rows.items()
        ),
    )


def limits_table(result: Result) -> str:
    """Render the times at the limits and the measured times of the int8 engines."""
    return table(
        ["batch", "beam", "engine", "measured ms", "arithmetic alone, ms", "weights alone, ms", "share"],
        (
            [
                str(row["batch"]),
                str(row["beam_size"]),
                row["engine"],
                f"{row['measured_ms']:.1f}",
                f"{row['arithmetic_ms']:.1f}",
                f"{row['memory_ms']:.1f}",
                f"{max(row['arithmetic_share'], row['memory_share']):.0%}",
            ]
            for row in result["results"]
            if "int8" in row["engine"]
        ),
    )


def operator_table(result: Result) -> str:
    """Render the most costly operators of each graph, by setting."""
    cells = []
    for setting in result["operators"]:
        for graph in ("encoder", "decoder"):
            times = [one for one in setting["times"] if one["graph"] == graph][:LARGEST_OPERATORS]
            cells += [
                [
                    f"{setting['batch']} x {setting['beam_size']}",
                    graph,
                    one["operator"],
                    f"{one['share']:.0%}",
                    f"{one['us_per_run']:.0f}",
                    f"{one['calls_per_run']:.0f}",
                ]
                for one in times
            ]
    return table(["batch x beam", "graph", "operator", "share", "us a run", "nodes"], cells)


def python_table(result: Result) -> str:
    """Render the time spent outside graphs."""
    return table(
        ["batch", "beam", "Python's share", "Python us a step"],
        (
            [
                str(row["batch"]),
                str(row["beam_size"]),
                f"{row['python_share']:.1%}",
                f"{row['python_us_per_step']:.0f}",
            ]
            for row in result["python"]
        ),
    )


def online_table(result: Result, *, is_open: bool) -> str:
    """Render latency and throughput by the number of waiting clients, or by the offered rate."""
    rows = [row for row in result["results"] if (row["clients"] is None) == is_open]
    return table(
        ["offered" if is_open else "clients", "served by", "requests/s", "p50 ms", "p99 ms", "errors"],
        (
            [
                f"{row['rate']:.1f}/s" if is_open else str(row["clients"]),
                row["way"],
                f"{row['requests_per_s']:.1f}",
                f"{row['p50_ms']:.0f}",
                f"{row['p99_ms']:.0f}",
                str(row["errors"]),
            ]
            for row in sorted(rows, key=lambda row: row["rate"] or row["clients"])
        ),
    )


def memory_table(result: Result) -> str:
    """Render start-up time and memory of each engine in a fresh process."""
    head = ["engine", "first translation s", "after load MiB", "peak MiB", "requests", "after them MiB"]
    return table(
        head,
        (
            [
                row["engine"],
                f"{row['first_translation_s']:.2f}",
                f"{row['loaded_mib']:.0f}",
                f"{row['peak_mib']:.0f}",
                str(row["requests"]),
                f"{row['after_requests_mib']:.0f}",
            ]
            for row in result["footprint"]
        ),
    )


def growth_table(result: Result, by: str) -> str:
    """Render milliseconds per sentence by source length or batch, with a column for each engine."""
    rows = [row for row in result["growth"] if row["by"] == by]
    engines = list(dict.fromkeys(row["engine"] for row in rows))
    found = {(row["size"], row["engine"]): row["ms_per_sentence"] for row in rows}
    return table(
        [by.replace("_", " "), *engines],
        (
            [str(size), *(f"{found[size, engine]:.1f}" for engine in engines)]
            for size in sorted({row["size"] for row in rows})
        ),
    )


def imports_table(result: Result) -> str:
    """Render the cost of importing a model and of opening its bundle."""
    return table(
        [
            "model",
            "million parameters",
            "precision",
            "bundle, MB",
            "export, s",
            "export's peak, MiB",
            "open, s",
            "opened, MiB",
            "first sentence, s",
            "peak after it, MiB",
        ],
        (
            [
                row["model"],
                f"{row['parameters'] / 1e6:.0f}",
                row["precision"],
                *(f"{row[key]:.0f}" for key in ("bundle_mb", "export_s", "export_peak_mib")),
                f"{row['open_s']:.1f}",
                f"{row['opened_mib']:.0f}",
                f"{row['first_s']:.1f}",
                f"{row['translated_mib']:.0f}",
            ]
            for row in result["imports"]
        ),
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Render a table as Markdown."""
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


TABLES: Mapping[str, tuple[str, Callable[[Result], str]]] = {
    "origin": ("offline-forced.json", origin_line),
    "real-1": ("offline-real.json", lambda result: offline_table(result, 1)),
    "real-2": ("offline-real.json", lambda result: offline_table(result, 2)),
    "quality": ("offline-real.json", quality_table),
    "forced-1": ("offline-forced.json", lambda result: offline_table(result, 1)),
    "forced-2": ("offline-forced.json", lambda result: offline_table(result, 2)),
    "import-1": ("offline-import.json", lambda result: offline_table(result, 1)),
    "imports": ("imports.json", imports_table),
    "gemm": ("limits.json", gemm_table),
    "limits": ("limits.json", limits_table),
    "operators": ("profile.json", operator_table),
    "python": ("profile.json", python_table),
    "closed": ("online.json", lambda result: online_table(result, is_open=False)),
    "open": ("online.json", lambda result: online_table(result, is_open=True)),
    "memory": ("memory.json", memory_table),
    "length": ("memory.json", lambda result: growth_table(result, "source_tokens")),
    "batch": ("memory.json", lambda result: growth_table(result, "batch")),
}


def main() -> int:
    PAGE.write_text(render(PAGE.read_text(encoding="utf8"), all_tables()), encoding="utf8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
