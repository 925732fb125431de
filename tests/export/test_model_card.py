"""The model card tells of every run a model has been through."""

from pathlib import Path
from typing import Any

from dragoman.languages import Languages, SourceLanguage, TargetLanguage
from dragoman.manifest import DecodingDefaults
from export.model import ModelConfig, Transformer
from export.model_card import render_card
from export.original import Original, TokenizerSource
from export.trained import KIND

FIELDS = {
    "name": "de-en",
    "precision": "int8",
    "licence": "CC0-1.0",
    "max_source_tokens": "200",
    "limits": "Many.",
}


def record(steps: int, corpus: str) -> dict[str, Any]:
    return {"steps": steps, "data": [{"name": corpus, "weight": 2.0, "licence": "CC0-1.0"}]}


def original(origin: dict[str, Any], kind: str = KIND) -> Original:
    tokenizer = TokenizerSource(Path("source.spm"), None, normalises=True)
    return Original(
        kind=kind,
        model=Transformer(ModelConfig(20, 20, d_model=16, heads=2, ffn=8)),
        source_tokenizer=tokenizer,
        target_tokenizer=tokenizer,
        languages=Languages({"de": SourceLanguage((), (), (3,))}, {"en": TargetLanguage((), (), (2,))}),
        decoding=DecodingDefaults(),
        max_target_tokens=None,
        licence=None,
        origin=origin,
    )


def test_a_model_of_one_run_shows_its_data_and_steps_without_numbering() -> None:
    card = render_card(FIELDS, original(record(500, "everyday")), {})

    assert "| everyday | 100% | CC0-1.0 |" in card
    assert "| steps | 500 |" in card
    assert "Run 1" not in card


def test_a_model_that_started_from_another_shows_both_runs_the_first_first() -> None:
    training = {**record(700, "parliament"), "started_from": record(500, "everyday")}

    card = render_card(FIELDS, original(training), {})

    places = [
        card.index(text) for text in ("| everyday |", "| parliament |", "| steps | 500", "| steps | 700")
    ]
    assert places == sorted(places)
    assert card.count("Run 2:") == 2


def test_an_imported_model_shows_where_it_comes_from_in_whole_table_rows() -> None:
    card = render_card(FIELDS, original({"hub": "owner/name", "note": "a|b\nc"}, "MarianMTModel"), {})

    assert "Imported: MarianMTModel." in card
    assert "| hub | owner/name |" in card
    assert "| note | a\\|b c |" in card
    assert "Translates de to en." in card
