"""The model card shows every run and score of a manifest, and its quick start works."""

import dataclasses
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from dragoman.bundle import read_bundle
from dragoman.languages import Languages, SourceLanguage, TargetLanguage
from dragoman.manifest import Manifest
from export.markdown import cell, table
from export.model_card import CardSection, architecture_line, read_known_limits, render_card
from tests.paths import ROOT

TINY = ROOT / "tests" / "tiny"
TINY_MANIFEST = read_bundle(TINY / "bundle-int8").manifest


def record(steps: int, corpus: str) -> dict[str, Any]:
    return {"steps": steps, "data": [{"name": corpus, "weight": 2.0, "licence": "CC0-1.0"}]}


def trained(origin: dict[str, Any]) -> Manifest:
    return dataclasses.replace(TINY_MANIFEST, origin={"tool": "dragoman training", **origin})


def scored(scores: dict[str, Any]) -> Manifest:
    return dataclasses.replace(TINY_MANIFEST, scores=scores)


def variant(precision: str, beam_size: int, bleu: float, *, shortlist: bool = False) -> dict[str, Any]:
    return {
        "precision": precision,
        "shortlist": shortlist,
        "beam_size": beam_size,
        "bleu": bleu,
        "chrf": bleu + 20,
    }


def full_score(*variants: dict[str, Any]) -> dict[str, Any]:
    return {
        **{name: variants[-1][name] for name in ("beam_size", "bleu", "chrf")},
        "bleu_signature": "nrefs:1|bleu",
        "chrf_signature": "nrefs:1|chrf",
        "lines": 997,
        "variants": list(variants),
    }


def test_a_model_of_one_run_shows_its_data_and_steps_without_numbering() -> None:
    card = render_card(trained(record(500, "everyday")), "Many.")

    assert "that of the weights. The texts keep their own:" in card
    assert "| everyday | 100% | CC0-1.0 |" in card
    assert "| steps | 500 |" in card
    assert "Run 1" not in card


def test_a_model_that_started_from_another_shows_both_runs_in_order() -> None:
    training = {**record(700, "parliament"), "started_from": record(500, "everyday")}

    card = render_card(trained(training), "Many.")

    places = [
        card.index(text) for text in ("| everyday |", "| parliament |", "| steps | 500", "| steps | 700")
    ]
    assert places == sorted(places)
    assert card.count("Run 2:") == 2


def test_an_imported_model_shows_its_origin_as_table_rows() -> None:
    origin = {"hub": "owner/name", "note": "a|b\nc", "kind": "MarianMTModel", "shortlist": {"pairs": 7}}

    card = render_card(dataclasses.replace(TINY_MANIFEST, origin=origin), "Many.")

    assert "Imported: MarianMTModel." in card
    assert "| hub | owner/name |" in card
    assert "| note | a\\|b c |" in card
    assert "| shortlist |" not in card
    assert "Translates de to en." in card


def test_the_shape_comes_from_the_origin_else_from_the_manifests_sizes() -> None:
    whole = architecture_line(TINY_MANIFEST)
    known = architecture_line(trained({}))

    assert whole == (
        "A pre-norm Transformer with 2 encoder and 2 decoder layers, d_model 40, 5 heads, ffn 80, relu, "
        "shared vocabulary of 360 pieces."
    )
    assert known == "A Transformer with 2 decoder layers, d_model 40, 5 heads, vocabulary of 360 pieces."


@pytest.mark.parametrize("limits", ["Many.", "- one\n- two\n\n### More\n\ntext", "x\n## A heading\n\ny"])
def test_known_limits_can_be_read_back_from_a_card(limits: str) -> None:
    sections = [CardSection("Known things", "none"), CardSection("Examples", "| ## Known limits |")]

    assert read_known_limits(render_card(TINY_MANIFEST, limits, sections)) == limits


@given(st.text(st.characters(codec="utf-8")))
def test_any_known_limits_can_be_read_back(limits: str) -> None:
    assert read_known_limits(render_card(TINY_MANIFEST, limits)) == limits.strip()


def test_a_card_without_known_limits_returns_none() -> None:
    assert read_known_limits("# a card\n\nKnown limits\n") is None


def test_scores_of_one_search_are_a_table_of_test_sets() -> None:
    card = render_card(scored({"news": {"bleu": 21.84, "chrf": 49.36, "beam_size": 4}}), "Many.")

    assert "| news | 21.8 | 49.4 |" in card
    assert "Not measured." in render_card(scored({}), "Many.")


def test_scores_of_all_variants_have_a_row_per_search_and_the_change_from_first_to_last() -> None:
    variants = [
        variant(precision, beam_size, bleu, shortlist=shortlist)
        for precision, shortlist, by_beam in (
            ("fp32", False, {1: 20.0, 4: 22.0}),
            ("int8", False, {1: 19.5, 4: 22.25}),
            ("int8", True, {1: 19.75, 4: 22.5}),
        )
        for beam_size, bleu in by_beam.items()
    ]

    card = render_card(scored({"a|b": full_score(*variants)}), "Many.")

    head = "| test set | lines | search | BLEU fp32 | BLEU int8 | BLEU int8, shortlist | BLEU change "
    assert head + "| chrF fp32 |" in card
    greedy = "| greedy | 20.00 | 19.50 | 19.75 | -0.25 | 40.00 | 39.50 | 39.75 | -0.25 |"
    beam = "| beam 4 | 22.00 | 22.25 | 22.50 | +0.50 | 42.00 | 42.25 | 42.50 | +0.50 |"
    assert f"| a\\|b | 997 {greedy}\n| a\\|b | 997 {beam}\n" in card
    assert "BLEU `nrefs:1|bleu`; chrF `nrefs:1|chrf`." in card


def test_a_variant_that_was_not_measured_has_a_dash() -> None:
    both = full_score(variant("fp32", 4, 22.0), variant("int8", 4, 21.0))
    one = full_score(variant("fp32", 4, 12.0))

    card = render_card(scored({"both": both, "one": one}), "Many.")

    assert "| both | 997 | beam 4 | 22.00 | 21.00 | -1.00 | 42.00 | 41.00 | -1.00 |" in card
    assert "| one | 997 | beam 4 | 12.00 | - | - | 32.00 | - | - |" in card


def test_a_single_variant_has_no_change_column() -> None:
    card = render_card(scored({"one": full_score(variant("fp32", 4, 12.0))}), "Many.")

    assert "| one | 997 | beam 4 | 12.00 | 32.00 |" in card
    assert "hange" not in card


def code_of(card: str, language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", card, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_quick_start_names_the_pair_of_a_multilingual_bundle_and_quotes_for_the_shell() -> None:
    sources = {code: SourceLanguage((), (), (3,)) for code in ("nl", "de")}
    targets = {code: TargetLanguage((), (), (2,)) for code in ("de", "en")}
    manifest = dataclasses.replace(TINY_MANIFEST, languages=Languages(sources, targets), name="it's $HOME")

    card = render_card(manifest, "Many.")

    assert "--model 'models/it'\"'\"'s $HOME' --source nl --target de" in code_of(card, "sh")
    python = code_of(card, "python")
    assert 'translate("...", pair=Pair("nl", "de"))' in python
    assert 'Translator.open("models/it\'s $HOME")' in python
    compile(python, "card", "exec")


PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
TEXT = st.text(
    st.one_of(
        st.sampled_from("|\\`*_[]()<>~&;#!:-+a1 \n$ü"),
        st.characters(codec="utf-8", exclude_categories=["Cc"]),
    )
)


def shown(markdown: str) -> list[list[str]]:
    """Rows of the only table, the head first, as a reader sees them; nothing but text is allowed in cells."""
    rows: list[list[str]] = []
    for token in PARSER.parse(markdown):
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            children = token.children or []
            assert {child.type for child in children} <= {"text", "text_special"}, markdown
            rows[-1].append("".join(child.content for child in children))
        else:
            assert token.type.startswith(("table", "thead", "tbody", "tr_", "th_", "td_")), markdown
    return rows


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=3))
def test_cells_render_as_their_text_with_single_spaces(rows: list[tuple[str, str]]) -> None:
    expected = [[" ".join(text.split()) for text in row] for row in rows]

    assert shown(table(("a", "b"), rows)) == [["a", "b"], *expected]


def test_markdown_and_html_syntax_in_a_cell_is_escaped() -> None:
    text = "a | b <b>c</b> *d* _e_ `f` [g](h) ~~i~~ &amp; \\| ![j](k)"

    assert shown(table(("", ""), [(text, "last")]))[1] == [text, "last"]


def test_an_emoji_name_in_a_cell_is_escaped() -> None:
    assert cell(":smile: at 12:30:45") == "\\:smile: at 12\\:30:45"


def test_plain_characters_in_a_cell_are_not_escaped() -> None:
    plain = "Intel(R) Xeon(R) (x86_64), 2 threads, torch 2.13.0+cpu; CC BY-SA 3.0/4.0: free!"

    assert cell(plain) == plain
