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
    by_rows: dict[int, dict[str, Result]] = {}
    for rate in result["gemm"]:
        by_rows.setdefault(rate["rows"], {})["cold" if rate["is_cold"] else "cached"] = rate
    columns = {
        "rows": "{cached[rows]}",
        "us, weights in cache": "{cached[microseconds]:.1f}",
        "us, weights cold": "{cold[microseconds]:.1f}",
        "GOP/s in cache": "{cached[gops_per_s]:.0f}",
        "GOP/s cold": "{cold[gops_per_s]:.0f}",
        "GB/s cold": "{cold[weight_gb_per_s]:.1f}",
    }
    return formatted_table(columns, by_rows.values())


def limits_table(result: Result) -> str:
    """Render the times at the limits and the measured times of the int8 engines."""
    columns = {
        "batch": "{batch}",
        "beam": "{beam_size}",
        "engine": "{engine}",
        "measured ms": "{measured_ms:.1f}",
        "arithmetic alone, ms": "{arithmetic_ms:.1f}",
        "weights alone, ms": "{memory_ms:.1f}",
        "share": "{share:.0%}",
    }
    rows = (
        {**row, "share": max(row["arithmetic_share"], row["memory_share"])}
        for row in result["results"]
        if "int8" in row["engine"]
    )
    return formatted_table(columns, rows)


def operator_table(result: Result) -> str:
    """Render the most costly operators of each graph, by setting."""
    rows: list[Result] = []
    for setting in result["operators"]:
        for graph in ("encoder", "decoder"):
            times = [one for one in setting["times"] if one["graph"] == graph][:LARGEST_OPERATORS]
            rows += [{**setting, **one} for one in times]
    columns = {
        "batch x beam": "{batch} x {beam_size}",
        "graph": "{graph}",
        "operator": "{operator}",
        "share": "{share:.0%}",
        "us a run": "{us_per_run:.0f}",
        "nodes": "{calls_per_run:.0f}",
    }
    return formatted_table(columns, rows)


def python_table(result: Result) -> str:
    """Render the time spent outside graphs."""
    columns = {
        "batch": "{batch}",
        "beam": "{beam_size}",
        "Python's share": "{python_share:.1%}",
        "Python us a step": "{python_us_per_step:.0f}",
    }
    return formatted_table(columns, result["python"])


def online_table(result: Result, *, is_open: bool) -> str:
    """Render latency and throughput by the number of waiting clients, or by the offered rate."""
    rows = [row for row in result["results"] if (row["clients"] is None) == is_open]
    load = {"offered": "{rate:.1f}/s"} if is_open else {"clients": "{clients}"}
    columns = {
        **load,
        "served by": "{way}",
        "requests/s": "{requests_per_s:.1f}",
        "p50 ms": "{p50_ms:.0f}",
        "p99 ms": "{p99_ms:.0f}",
        "errors": "{errors}",
    }
    return formatted_table(columns, sorted(rows, key=lambda row: row["rate"] or row["clients"]))


def memory_table(result: Result) -> str:
    """Render start-up time and memory of each engine in a fresh process."""
    columns = {
        "engine": "{engine}",
        "first translation s": "{first_translation_s:.2f}",
        "after load MiB": "{loaded_mib:.0f}",
        "peak MiB": "{peak_mib:.0f}",
        "requests": "{requests}",
        "after them MiB": "{after_requests_mib:.0f}",
    }
    return formatted_table(columns, result["footprint"])


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
    columns = {
        "model": "{model}",
        "million parameters": "{million_parameters:.0f}",
        "precision": "{precision}",
        "bundle, MB": "{bundle_mb:.0f}",
        "export, s": "{export_s:.0f}",
        "export's peak, MiB": "{export_peak_mib:.0f}",
        "open, s": "{open_s:.1f}",
        "opened, MiB": "{opened_mib:.0f}",
        "first sentence, s": "{first_s:.1f}",
        "peak after it, MiB": "{translated_mib:.0f}",
    }
    rows = ({**row, "million_parameters": row["parameters"] / 1e6} for row in result["imports"])
    return formatted_table(columns, rows)


def formatted_table(columns: Mapping[str, str], rows: Iterable[Result]) -> str:
    """Render rows as Markdown; `columns` has the format of each column's cells, by the column's head."""
    return table([*columns], ([cell.format(**row) for cell in columns.values()] for row in rows))


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
