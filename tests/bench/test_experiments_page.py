"""docs/reports/experiments.md shows the figures of its result, and judges them by the spread of seeds."""

import json
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from bench.experiments.page import (
    NOT_MEASURED,
    PAGE,
    PagePaths,
    Values,
    all_tables,
    answers,
    draw,
    scores_table,
    write_page,
)
from bench.experiments.plan import BASE, SHAPES, SIZES, TIED, TUTORIAL, Plan
from bench.page import MARKED, render


def run(arm: str, seed: int, bleu: float, parameters: int = 8_000_000, cache: int = 1024) -> dict[str, Any]:
    """With beam 4 one BLEU more than greedy, lower-cased two more than cased; int8 half of one less."""
    scores = [
        {
            "precision": precision,
            "beam_size": beam,
            "bleu": bleu + (beam == 4) - 0.5 * (precision == "int8"),
            "bleu_lower": bleu + (beam == 4) + 2,
            "chrf": 2 * bleu,
            "cut_by_length": 9 - 2 * beam,
        }
        for precision in ("fp32", "int8")
        for beam in (1, 4)
    ]
    sizes = {"parameters": parameters, "self_bytes_per_token": cache, "cross_bytes_per_token": cache}
    return {
        "run": f"{arm}-seed{seed}",
        "arm": arm,
        "seed": seed,
        "train_hours": 0.1,
        **sizes,
        "scores": scores,
    }


def result(*runs: dict[str, Any], timed: tuple[str, ...] = (), plan: Plan = SHAPES) -> dict[str, Any]:
    rows = [
        {"arm": arm, "batch": batch, "ms_per_sentence": {"median": ms, "least": ms - 1, "most": ms + 1}}
        for number, arm in enumerate(timed, start=1)
        for batch, ms in ((1, 10.0 * number), (32, 3.0 * number))
    ]
    origin = {
        "packages": {},
        "cpu": "a CPU",
        "cores": 2,
        "python": "3.11",
        "commit": "c",
        "measured_at": "2026-01-01",
    }
    return {
        "provenance": origin,
        "arms": [asdict(arm) for arm in plan.arms],
        "runs": list(runs),
        "timing": {"results": rows} if timed else None,
    }


def test_the_page_is_made_of_the_result() -> None:
    page = PAGE.read_text(encoding="utf8")

    assert render(page, all_tables(PagePaths.of_project().read())) == page


def test_all_that_is_made_stands_on_the_page_once() -> None:
    names = [match["name"] for match in MARKED.finditer(PAGE.read_text(encoding="utf8"))]

    assert sorted(names) == sorted(all_tables({}))
    assert sorted(names) == sorted(all_tables({SHAPES.name: result(run(BASE.name, 1, 30.0))}))


def test_without_a_result_the_page_says_so_and_shows_no_picture() -> None:
    tables = all_tables({})

    for plan in (SHAPES.name, SIZES.name):
        assert {tables[f"{plan}-{name}"] for name in ("scores", "answers", "origin")} == {NOT_MEASURED}
        assert tables[f"{plan}-plot"] == ""


def test_a_row_has_the_seeds_their_mean_and_their_range() -> None:
    runs = [run(BASE.name, seed, bleu) for seed, bleu in ((1, 30.0), (2, 31.0), (3, 32.6))]

    (row,) = scores_table(result(*runs, timed=(BASE.name,))).splitlines()[2:]

    # Means of 31, 32, 33.6; of 30, 31, 32.6; of 60, 62, 65.2. A tenth of an hour is six minutes.
    assert row == (
        f"| {BASE.label} | 3 | 32.2 (31.0 to 33.6) | 31.2 (30.0 to 32.6) | 62.4 (60.0 to 65.2) | 7 / 1 "
        "| 8.00 | 1,024 + 1,024 | 10.0 | 3.0 | 6 |"
    )


def test_arms_with_one_seed_have_no_range_and_arms_without_none_have_no_row() -> None:
    rows = scores_table(result(run(BASE.name, 1, 30.0))).splitlines()[2:]

    assert rows == [f"| {BASE.label} | 1 | 31.0 | 30.0 | 60.0 | 7 / 1 | 8.00 | 1,024 + 1,024 |  |  | 6 |"]


def test_a_comparison_says_what_is_won_and_what_it_costs() -> None:
    ours = [run(TIED.name, seed, bleu, 7_200_000, 512) for seed, bleu in ((1, 28.0), (2, 29.0))]
    theirs = [run(BASE.name, seed, bleu) for seed, bleu in ((1, 30.0), (2, 31.0))]

    (said,) = answers(result(*theirs, *ours, timed=(BASE.name, TIED.name)))

    assert (
        "BLEU -2.0 with beam 4, 29.5 (29.0 to 30.0) against 31.5 (31.0 to 32.0), the seeds' ranges do" in said
    )
    assert "the seeds' ranges do not overlap" in said
    assert "-10% parameters" in said
    assert "1,024 bytes of cache for a source and a target token against 2,048" in said
    assert "2.00 times the time a sentence one at a time" in said


def test_where_ranges_overlap_or_seeds_are_few_no_difference_is_claimed() -> None:
    base = [run(BASE.name, seed, bleu) for seed, bleu in ((1, 30.0), (2, 31.0))]
    near = [run(TIED.name, seed, bleu) for seed, bleu in ((1, 30.9), (2, 33.0))]

    assert "the seeds' ranges overlap" in answers(result(*base, *near))[0]
    assert "too few seeds to judge" in answers(result(*base, near[0]))[0]


@pytest.mark.parametrize(
    ("ours", "theirs", "in_common"),
    [((1.0, 2.0), (2.0, 3.0), "a point"), ((1.0, 4.0), (2.0, 3.0), "a range"), ((1.0, 1.9), (2.0, 3.0), "")],
)
def test_ranges_overlap_from_lowest_to_highest(
    ours: tuple[float, ...], theirs: tuple[float, ...], in_common: str
) -> None:
    assert Values(ours).has_overlap(Values(theirs)) is bool(in_common)
    assert Values(theirs).has_overlap(Values(ours)) is bool(in_common)


def test_the_tutorials_lower_cased_score_stands_beside_the_published_one() -> None:
    said = answers(result(run(BASE.name, 1, 30.0), run(TUTORIAL.name, 1, 33.0)))

    assert len(said) == 1
    assert "lower-cased BLEU 35.0, greedy, beside [36.52 as published]" in said[0]
    assert "with case 33.0" in said[0]


def test_budgets_are_told_once_for_the_arms_that_share_them() -> None:
    lines = all_tables({})["shapes-budget"].splitlines()

    assert len(lines) == 2
    assert f"{BASE.budget.steps:,} steps of at most {BASE.budget.budget_tokens:,} padded tokens" in lines[0]
    assert lines[1].startswith(f"- *{TUTORIAL.label}*: {TUTORIAL.budget.steps:,} steps")


def test_a_page_elsewhere_leaves_the_projects_alone(tmp_path: Path) -> None:
    before = PAGE.read_bytes()
    places = PagePaths.inside(tmp_path)
    measured = result(run(BASE.name, 1, 30.0), timed=(BASE.name,))
    places.results(SHAPES.name).write_text(json.dumps(measured), encoding="utf8")

    write_page(places)

    page = places.page.read_text(encoding="utf8")
    (picture,) = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page)
    assert f"| {BASE.label} | 1 |" in page
    assert (tmp_path / picture).read_bytes().startswith(b"\x89PNG")
    assert PAGE.read_bytes() == before


def test_where_steps_differ_a_comparison_says_how_many_and_how_long_they_took() -> None:
    first, second, _ = SIZES.arms
    runs = [run(first.name, 1, 30.0), {**run(second.name, 1, 29.0), "train_hours": 0.2}]

    (said,) = answers(result(*runs, plan=SIZES))

    assert f"**{second.label}**, against {first.label}: BLEU -1.0" in said
    assert (
        f"{second.budget.steps:,} steps in 12 minutes against {first.budget.steps:,} steps in 6 minutes"
        in said
    )


def test_the_plot_has_the_arms_that_have_runs_and_times(tmp_path: Path) -> None:
    runs = [run(BASE.name, seed, bleu) for seed, bleu in ((1, 30.0), (2, 31.0))]

    draw(result(*runs, run(TIED.name, 1, 29.0), timed=(BASE.name,)), tmp_path / "plot.png")

    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")
