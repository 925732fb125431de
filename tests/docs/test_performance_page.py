"""docs/reports/performance.md shows the figures of bench/results, and nothing else."""

import re

import pytest

from bench.page import MARKED, NOT_MEASURED, PAGE, TABLES, all_tables, render
from bench.provenance import RESULTS


def test_the_pages_tables_are_made_of_the_results() -> None:
    page = PAGE.read_text(encoding="utf8")

    assert render(page, all_tables()) == page


def test_every_table_that_is_made_stands_on_the_page_once() -> None:
    names = [match["name"] for match in MARKED.finditer(PAGE.read_text(encoding="utf8"))]

    assert sorted(names) == sorted(TABLES)


def test_every_picture_on_the_page_is_there_once_it_was_measured() -> None:
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", PAGE.read_text(encoding="utf8"))

    assert pictures
    if (RESULTS / "offline-forced.json").is_file():
        assert [path for path in pictures if not (PAGE.parent / path).is_file()] == []


def test_a_table_between_markers_is_replaced_and_the_text_around_it_kept() -> None:
    page = (
        "before\n<!-- table: a -->\nold\n<!-- end -->\nbetween <!-- end -->\n"
        "<!-- table: b -->\n<!-- end -->\n"
    )

    assert render(page, {"a": "| A |", "b": "| B |"}) == (
        "before\n<!-- table: a -->\n\n| A |\n\n<!-- end -->\nbetween <!-- end -->\n"
        "<!-- table: b -->\n\n| B |\n\n<!-- end -->\n"
    )


def test_a_marker_that_names_no_table_is_refused() -> None:
    with pytest.raises(KeyError, match="unheard-of"):
        render("<!-- table: unheard-of -->\n<!-- end -->", {})


def test_where_there_is_no_result_the_page_says_so(tmp_path_factory: pytest.TempPathFactory) -> None:
    empty = tmp_path_factory.mktemp("results")

    assert set(all_tables(empty).values()) == {NOT_MEASURED}
