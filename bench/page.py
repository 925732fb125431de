"""Tables and plots of docs and of the README: `python -m bench.page` makes them of bench/results.

A table stands between `<!-- table: NAME -->` and `<!-- end -->`, whose text is replaced.
"""

import re
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from bench import plots, tables
from bench.card_page import read_results, render_page
from bench.provenance import RESULTS, read_result
from bench.robustness import page as robustness
from bench.tables import origin_line

ROOT = Path(__file__).parents[1]
REPORTS = ROOT / "docs" / "reports"
EXPLANATION = ROOT / "docs" / "explanation"
README = ROOT / "README.md"
README_TABLE = re.compile(r"^\| model \| test set \|.*?\n\n", re.DOTALL | re.MULTILINE)
"""The README's only table of results, which stands there without markers."""
NOT_MEASURED = "Not measured yet."
MARKED = re.compile(r"<!-- table: (?P<name>[a-z0-9-]+) -->\n.*?<!-- end -->", re.DOTALL)

Table = tuple[str, Callable[..., str]]
"""Result file, perhaps as a pattern of several ones, and the function that makes a table of them."""

PERFORMANCE: Mapping[str, Table] = {
    "origin": ("offline-real.json", origin_line),
    **{
        f"{prefix}{workload}-{workers}": (
            f"offline-{workload}{suffix}.json",
            partial(tables.offline_table, workers=workers),
        )
        for prefix, suffix, workload, workers in (
            ("", "", "real", 1),
            ("", "", "real", 2),
            ("", "", "forced", 1),
            ("", "", "forced", 2),
            ("avx2-", "-avx2", "real", 1),
            ("avx2-", "-avx2", "real", 2),
            ("avx2-", "-avx2", "forced", 1),
        )
    },
    "avx2-origin": ("offline-real-avx2.json", origin_line),
    "quality": ("offline-real.json", tables.quality_table),
    "closed": ("online.json", partial(tables.online_table, is_open=False)),
    "open": ("online.json", partial(tables.online_table, is_open=True)),
    "memory": ("memory.json", tables.memory_table),
    "throughput": ("throughput.json", tables.throughput_table),
}
ROBUSTNESS: Mapping[str, Table] = {
    f"{name}-{part}": (f"robustness-{name}.json", make)
    for name in ("de-en", "en-de")
    for part, make in {**robustness.TABLES, "origin": origin_line}.items()
}
QUALITY: Table = ("card-*.json", tables.card_quality_table)
PAGES: Mapping[Path, Mapping[str, Table]] = {
    REPORTS / "performance.md": PERFORMANCE,
    REPORTS / "robustness.md": ROBUSTNESS,
    EXPLANATION / "kernels.md": {
        "speed": ("gpu-kernels.json", tables.gpu_kernels_table),
        "bits": ("gpu-kernels.json", tables.gpu_bits_table),
        "origin": ("gpu-kernels.json", tables.gpu_origin_line),
    },
}


def render(page: str, made: Mapping[str, str]) -> str:
    """Replace every marked table of a page.

    Raises:
        KeyError: the page has a marker for an unknown table.
    """
    return MARKED.sub(
        lambda match: f"<!-- table: {match['name']} -->\n\n{made[match['name']]}\n\n<!-- end -->", page
    )


def render_readme(text: str) -> str:
    """Replace the table of the README."""
    table = make_tables({"quality": QUALITY})["quality"]
    return README_TABLE.sub(lambda _: f"{table}\n\n", text)


def make_tables(wanted: Mapping[str, Table], results: Path = RESULTS) -> dict[str, str]:
    """Make tables by name; a table without a result becomes a sentence."""
    made = {}
    for name, (pattern, make) in wanted.items():
        found = [read_result(path) for path in sorted(results.glob(pattern))]
        made[name] = make(*found) if found else NOT_MEASURED
    return made


def main() -> None:
    for page, wanted in PAGES.items():
        page.write_text(render(page.read_text(encoding="utf8"), make_tables(wanted)), encoding="utf8")
    README.write_text(render_readme(README.read_text(encoding="utf8")), encoding="utf8")
    (REPORTS / "models.md").write_text(render_page(read_results()), encoding="utf8")
    print(README, *PAGES, *plots.draw_all(RESULTS, REPORTS / "figures"), sep="\n")


if __name__ == "__main__":
    main()
