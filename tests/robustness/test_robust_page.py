"""docs/reports/robustness.md shows what was measured."""

from pathlib import Path

from bench.page import MARKED, render
from bench.robustness.page import PAGE, all_tables, failures_table, rates_table

RATES = {
    "inputs": 2,
    "good": 0.5,
    "things": 0,
    "kept": None,
    "words": 3,
    "said": 0.667,
    "invented": 0.0,
    "loop": 1.0,
    "empty": 0.0,
}
FAILURE = {
    "id": "x",
    "kind": "tag",
    "input": "a|<b>\t" + 100 * "c",
    "output": "d\n*e*",
    "lost": ["mark:<b>"],
    "unsaid": ["says:^e$ = f"],
    "invented": None,
    "loop": "'d', 3 times",
    "empty": False,
}


def test_the_pages_tables_are_made_of_the_results() -> None:
    page = PAGE.read_text(encoding="utf8")

    assert render(page, all_tables()) == page


def test_no_table_is_left_out() -> None:
    on_page = [match["name"] for match in MARKED.finditer(PAGE.read_text(encoding="utf8"))]

    assert len(on_page) == len(set(on_page))
    assert set(all_tables()) - set(on_page) == {"en-de-references"}  # the same as the other direction's


def test_without_a_result_the_page_says_how_to_get_one(tmp_path: Path) -> None:
    tables = all_tables(tmp_path)

    assert "robustness models/en-de --output bench/results/robustness-en-de.json" in tables["en-de-rates"]


def test_a_line_has_all_beam_sizes() -> None:
    results = [{"beam_size": size, "all": RATES, "kinds": {"tag": RATES}} for size in (1, 4)]

    *_, last = rates_table(results).splitlines()

    assert last == "| tag | 2 | 50 · 50 | 0 | - · - | 3 | 67 · 67 | 0 · 0 | 100 · 100 | 0 · 0 |"


def test_the_first_failure_of_a_kind_is_shown_as_it_is() -> None:
    *_, last = failures_table({"failures": [FAILURE, {**FAILURE, "output": "second"}]}).splitlines()
    cells = [cell.strip() for cell in last.strip("| ").split(" | ")]

    assert cells[0] == "tag"
    assert cells[1].startswith(r"a\|\<b\>⇥ccc")
    assert cells[1].endswith("c…")
    assert cells[2] == r"d⏎\*e\*"
    assert cells[3] == r"lost mark:\<b\>; not said ^e$ = f; loop, 'd', 3 times"
