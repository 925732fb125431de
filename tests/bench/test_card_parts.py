"""Parts of a card, from figures made by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from bench.card import CurveError, read_curve
from bench.card_measure import Variant, draw_examples, score_lines, scores_of, variants
from bench.card_page import examples
from dragoman.bundle import read_bundle
from tests.paths import ROOT

TINY = ROOT / "tests" / "tiny"
RUNS = [{"steps": 40, "pairs_seen": 1000}, {"steps": 10, "pairs_seen": 200}]


def example(chrf: float, text: str = "x") -> dict[str, Any]:
    return {"source": text, "translation": text, "reference": text, "chrf": chrf}


@given(st.lists(st.floats(0, 100), min_size=10, max_size=60), st.integers(0, 5))
def test_examples_are_one_line_of_each_tenth_from_best_to_worst(scores: list[float], seed: int) -> None:
    lines = [example(score, str(number)) for number, score in enumerate(scores)]

    drawn = draw_examples(lines, count=10, seed=seed)

    ranked = sorted(range(len(scores)), key=lambda number: (-scores[number], number))
    places = [ranked.index(int(one["source"])) for one in drawn]
    for part, place in enumerate(places):
        assert len(lines) * part // 10 <= place < len(lines) * (part + 1) // 10
    assert drawn == draw_examples(lines, count=10, seed=seed)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_of_few_lines_each_is_drawn(count: int) -> None:
    lines = [example(float(score)) for score in range(count)]

    assert draw_examples(lines) == lines[::-1]


def test_a_line_is_scored_against_its_own_reference() -> None:
    good, bad = score_lines(["a", "b"], ["the same", "nothing"], ["the same", "zzz"])

    assert (good["chrf"], bad["chrf"]) == (100.0, 0.0)


def quality(beam_size: int, bleu: float) -> dict[str, Any]:
    scores = {"bleu": bleu, "chrf": bleu + 20, "bleu_signature": "b", "chrf_signature": "c"}
    return {"test_set": "news", "beam_size": beam_size, "lines": 5, **scores}


def test_the_last_variants_scores_stand_for_a_test_set_at_beam_4() -> None:
    first = Variant(Path("f"), "fp32", shortlist=False)
    last = Variant(Path("i"), "int8", shortlist=True)

    score = scores_of(
        [(first, quality(1, 10)), (first, quality(4, 11)), (last, quality(1, 12)), (last, quality(4, 13))]
    )["news"]

    assert (score["bleu"], score["chrf"], score["beam_size"], score["lines"]) == (13, 33, 4, 5)
    assert [one["bleu"] for one in score["variants"]] == [10, 11, 12, 13]
    shipped = {"precision": "int8", "shortlist": True, "beam_size": 4, "bleu": 13, "chrf": 33}
    assert score["variants"][-1] == shipped


def test_variants_go_from_the_weights_as_trained_to_the_bundle_as_it_is() -> None:
    fp32, int8 = read_bundle(TINY / "bundle-fp32"), read_bundle(TINY / "bundle-int8")
    listed = read_bundle(ROOT / "models" / "de-en")

    kinds = [("fp32", False), ("int8", False), ("int8", True)]
    for bundle, num_kinds in ((fp32, 1), (int8, 2), (listed, 3)):
        assert [(one.precision, one.shortlist) for one in variants(bundle, fp32)] == kinds[:num_kinds]


@pytest.mark.parametrize("shortlist", [False, True])
def test_a_variant_is_searched_with_its_shortlist_or_without(*, shortlist: bool) -> None:
    options = Variant(Path("i"), "int8", shortlist=shortlist).options(4)

    assert (options.use_shortlist, options.beam_size) == (shortlist, 4)


def event(step: int, pairs: int, bleu: float | None, **more: str) -> str:
    """A line of a history."""
    scores = {"loss": None, "bleu": bleu, "chrf": bleu}
    return json.dumps({"step": step, "pairs_seen": pairs, "train_seconds": 1.0, **scores, **more}) + "\n"


def history(path: Path, *lines: str) -> Path:
    path.write_text("".join(lines), encoding="utf8")
    return path


def test_pairs_are_counted_over_all_runs_also_over_one_without_history(tmp_path: Path) -> None:
    second = history(tmp_path / "b", event(5, 90, 7.0), event(10, 200, None), '{"step": 1')

    found = read_curve([(2, second)], RUNS)

    assert found == {
        "run_ends": [1000, 1200],
        "points": [{"run": 2, "pairs_seen": 1090, "bleu": 7.0, "chrf": 7.0}],
    }


def test_a_run_of_both_directions_shows_the_validations_of_the_models_own(tmp_path: Path) -> None:
    validations = (event(20, 500, 5.0, direction="de-en"), event(20, 500, 7.0, direction="en-de"))
    path = history(tmp_path / "a", *validations, event(40, 1000, None))

    found = read_curve([(1, path)], [{**RUNS[0], "source_language": "en", "target_language": "de"}])

    assert [point["bleu"] for point in found["points"]] == [7.0]


def test_points_are_in_the_order_of_the_runs_in_whatever_order_they_are_given(tmp_path: Path) -> None:
    first = history(tmp_path / "a", event(40, 1000, 5.0))
    second = history(tmp_path / "b", event(10, 200, 7.0))

    points = read_curve([(2, second), (1, first)], RUNS)["points"]

    assert [(point["run"], point["pairs_seen"]) for point in points] == [(1, 1000), (2, 1200)]


@pytest.mark.parametrize(
    ("run", "points", "message"),
    [
        (2, [(10, 201, 5.0)], "x ends after 201 pairs, run 2 after 200"),
        (3, [(10, 200, 5.0)], "x ends after 200 pairs, run 3 after 0"),
        (0, [(10, 200, 5.0)], "x ends after 200 pairs, run 0 after 0"),
        (1, [], "x has no events"),
    ],
)
def test_a_history_that_is_not_of_its_run_is_rejected(
    run: int, points: list[tuple[int, int, float]], message: str, tmp_path: Path
) -> None:
    with pytest.raises(CurveError, match=message):
        read_curve([(run, history(tmp_path / "x", *(event(*point) for point in points)))], RUNS)


def test_a_file_that_is_not_a_history_is_rejected() -> None:
    with pytest.raises(CurveError, match=r"test_card_parts\.py is no history"):
        read_curve([(1, Path(__file__))], RUNS)


def test_examples_are_whole_table_rows_with_any_characters() -> None:
    line = {"chrf": 49.6, "source": "a | `b`", "translation": "<b>c</b>\nd", "reference": "*e* \\| [f](g)"}
    drawn = {"test_set": "t", "credit": "CC0", "beam_size": 4, "rule": "Drawn.", "lines": [line, line]}

    tokens = MarkdownIt("commonmark").enable("table").parse(examples(drawn))

    cells = [
        "".join(child.content for child in token.children or [])
        for token in tokens
        if token.type == "inline" and token.level > 2
    ]
    assert cells[5:10] == ["1", "50", "a | `b`", "<b>c</b> d", "*e* \\| [f](g)"]
    assert cells[10] == "2"
    assert len(cells) == 15
