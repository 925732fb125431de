"""Pages show the figures of bench/results, and nothing else."""

import json
import re
from pathlib import Path

import pytest

from bench.card_page import card_sections, read_results, render_page
from bench.page import MARKED, NOT_MEASURED, PAGES, README, REPORTS, make_tables, render, render_readme
from bench.plots import draw_all
from bench.provenance import RESULTS

KEPT_PICTURES = frozenset(
    {
        "experiments-architectures.png",
        "experiments-shapes.png",
        "experiments-sizes.png",
        "growth.png",
        "soak.png",
        "training-second-run.png",
    }
)
"""Pictures of answered questions, which nothing draws any more, and one that training drew."""
RECORDS = REPORTS / "records.md"
LARGEST_PICTURE_BYTES = 100_000
CARDS = read_results()


def name_of(path: Path) -> str:
    return path.name


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_each_table_of_a_page_is_made_of_the_results_and_stands_there_once(
    path: Path, tmp_path: Path
) -> None:
    page = path.read_text(encoding="utf8")
    names = [match["name"] for match in MARKED.finditer(page)]

    assert render(page, make_tables(PAGES[path])) == page
    # The references of the other direction are the same.
    assert sorted(names) == sorted(PAGES[path].keys() - {"en-de-references"})
    assert set(make_tables(PAGES[path], tmp_path).values()) == {NOT_MEASURED}  # without a result


def test_the_readmes_table_is_made_of_the_results() -> None:
    text = README.read_text(encoding="utf8")
    older = text.replace("| de-en | tatoeba1k | ", "| de-en | tatoeba1k | 1")

    assert text != older
    assert render_readme(text) == render_readme(older) == text


def test_the_page_of_the_bundled_models_is_made_of_their_results() -> None:
    assert (REPORTS / "models.md").read_text(encoding="utf8") == render_page(CARDS)


@pytest.mark.parametrize("name", CARDS)
def test_the_card_of_a_bundled_model_has_sections_made_of_its_result_and_none_of_what_was_not_measured(
    name: str,
) -> None:
    card = (REPORTS.parents[1] / "models" / name / "README.md").read_text(encoding="utf8")
    bare = {**CARDS[name], "examples": None, "curve": {"run_ends": [1], "points": []}}

    sections = [f"## {one.heading}\n\n{one.content}\n" for one in card_sections(CARDS[name])]

    assert [section for section in sections if section not in card] == []
    assert len(sections) == 3
    assert [section.heading for section in card_sections(bare)] == ["Speed, size and memory"]
    assert "### Learning" not in render_page({name: bare})


@pytest.mark.parametrize("path", [*PAGES, REPORTS / "models.md"], ids=name_of)
def test_every_picture_on_a_page_is_there(path: Path) -> None:
    pictures = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", path.read_text(encoding="utf8"))

    assert [picture for picture in pictures if not (path.parent / picture).is_file()] == []


def test_every_picture_is_drawn_of_a_result(tmp_path: Path) -> None:
    drawn = draw_all(RESULTS, tmp_path)

    shown = {path.name for path in (REPORTS / "figures").iterdir()}
    assert {path.name for path in drawn} == shown - KEPT_PICTURES
    for content in (path.read_bytes() for path in drawn):
        assert content.startswith(b"\x89PNG")
        assert len(content) < LARGEST_PICTURE_BYTES


def test_a_table_between_markers_is_replaced_and_the_text_around_it_kept() -> None:
    page = (
        "before\n<!-- table: a -->\nold\n<!-- end -->\nbetween <!-- end -->\n"
        "<!-- table: b -->\n<!-- end -->\n"
    )

    assert render(page, {"a": "| A |", "b": "| B |"}) == (
        "before\n<!-- table: a -->\n\n| A |\n\n<!-- end -->\nbetween <!-- end -->\n"
        "<!-- table: b -->\n\n| B |\n\n<!-- end -->\n"
    )


def test_a_marker_that_names_no_table_is_rejected() -> None:
    with pytest.raises(KeyError, match="unheard-of"):
        render("<!-- table: unheard-of -->\n<!-- end -->", {})


def test_every_result_says_where_it_comes_from() -> None:
    for path in RESULTS.glob("*.json"):
        origin = json.loads(path.read_text(encoding="utf8"))["provenance"]
        for key in ("measured_at", "command", "cpu", "cores", "packages", "commit", "bundle_sha256"):
            assert origin[key], path


def test_each_result_has_a_command_that_makes_it_or_a_record_that_names_it() -> None:
    recorded = RECORDS.read_text(encoding="utf8")
    commands = {path.name: _module_of(path) for path in RESULTS.glob("*.json")}

    removed = {
        name
        for name, module in commands.items()
        if not module.with_suffix(".py").is_file() and not (module / "__main__.py").is_file()
    }
    assert {name for name in removed if f"`{name}`" not in recorded} == set()


def _module_of(result: Path) -> Path:
    """Return the path of the module whose command made a result, without `.py`."""
    command = json.loads(result.read_text(encoding="utf8"))["provenance"]["command"]
    found = re.match(r"python -m ([\w.]+)", command)
    return RESULTS.parents[1].joinpath(*found[1].split(".")) if found else Path("no command")
