"""The model card tells of every run a model has been through."""

from typing import Any

from export.model_card import render_model_card

FIELDS = {
    "name": "de-en",
    "source": "de",
    "target": "en",
    "architecture": "Small.",
    "precision": "int8",
    "licence": "CC0-1.0",
    "max_source_tokens": "200",
    "limits": "Many.",
}


def record(steps: int, corpus: str) -> dict[str, Any]:
    return {"steps": steps, "data": [{"name": corpus, "weight": 2.0, "licence": "CC0-1.0"}]}


def test_a_model_of_one_run_shows_its_data_and_steps_without_numbering() -> None:
    card = render_model_card(FIELDS, record(500, "everyday"), {})

    assert "| everyday | 100% | CC0-1.0 |" in card
    assert "| steps | 500 |" in card
    assert "Run 1" not in card


def test_a_model_that_started_from_another_shows_both_runs_the_first_first() -> None:
    training = {**record(700, "parliament"), "started_from": record(500, "everyday")}

    card = render_model_card(FIELDS, training, {})

    places = [
        card.index(text) for text in ("| everyday |", "| parliament |", "| steps | 500", "| steps | 700")
    ]
    assert places == sorted(places)
    assert card.count("Run 2:") == 2
