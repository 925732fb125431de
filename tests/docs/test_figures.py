"""Figures in the README and in docs/reports/serving.md are those of bench/results."""

import json
from pathlib import Path

import pytest

from bench.provenance import RESULTS
from bench.tables import all_tables

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("position", "page"), list(enumerate(["README.md", *["docs/reports/serving.md"] * 2]))
)
def test_tables_are_made_of_the_results(position: int, page: str) -> None:
    assert all_tables()[position] in (ROOT / page).read_text(encoding="utf8")


@pytest.mark.parametrize("path", sorted(RESULTS.glob("*.json")), ids=lambda path: str(path.name))
def test_every_result_says_where_it_comes_from(path: Path) -> None:
    origin = json.loads(path.read_text(encoding="utf8"))["provenance"]

    assert all(
        origin[key]
        for key in ("measured_at", "command", "cpu", "cores", "packages", "commit", "bundle_sha256")
    )
