"""Back-translated pairs: which are usable, and how a recipe reads them."""

from pathlib import Path

import pytest
import sentencepiece

from tests.imports.export.conftest import RunMain
from tests.training.conftest import Recipe, run_main
from training.back_translation import is_usable, main
from training.config import TrainingConfig
from training.controls import BACK_TRANSLATED
from training.prepare import prepare

__all__ = ["run_main"]

TEXT = "Im Jahr 1984 zog die Familie nach Bremen."


@pytest.mark.parametrize(
    ("text", "translation", "is_good"),
    [
        (TEXT, "In 1984 the family moved to Bremen.", True),
        (TEXT, "In 1948 the family moved to Bremen.", False),
        (TEXT, "In the year the family moved to Bremen.", False),
        (TEXT, "In 1984 the the family moved to Bremen.", False),
        (TEXT, "In 1984.", False),
        (TEXT, "Im Jahr 1984 zog die Familie nach Bremen.", False),
        ("Die Stadt ( ) liegt am Meer.", "The city lies by the sea.", False),
        ("Ja.", "Yes.", False),
    ],
)
def test_a_pair_is_usable_if_text_and_translation_are_whole(
    text: str, translation: str, *, is_good: bool
) -> None:
    assert is_usable(text, translation) == is_good


def test_the_command_writes_translations_as_sources_of_their_texts(run_main: RunMain, tmp_path: Path) -> None:
    (tmp_path / "text").write_text(f"wiki\t{TEXT}\nwiki\tJa.\n", encoding="utf8")
    (tmp_path / "translations").write_text("In 1984 the family moved to Bremen.\nYes.\n", encoding="utf8")
    done = run_main(main, tmp_path / "text", tmp_path / "translations", "-o", tmp_path / "out")
    assert (done.status, done.output) == (0, "1 pairs are usable\n")
    assert (tmp_path / "out").read_text(encoding="utf8") == f"In 1984 the family moved to Bremen.\t{TEXT}\n"


def test_a_back_translated_corpus_is_read_in_one_direction_with_its_control(recipe: Recipe) -> None:
    recipe["data"]["is_bidirectional"] = True
    recipe["data"]["corpora"][0]["back_translated"] = "en"
    recipe["data"]["corpora"].append(
        {**recipe["data"]["corpora"][0], "name": "real", "back_translated": None}
    )
    recipe["vocabulary"]["has_controls"] = True
    config = TrainingConfig.model_validate(recipe)
    corpora = [corpus.tokenised for corpus in prepare(config)]
    assert len(corpora) == 3  # one direction of the back-translated corpus, two of the other
    processor = sentencepiece.SentencePieceProcessor(model_file=str(config.run_dir / "data" / "source.spm"))
    control = processor.piece_to_id(BACK_TRANSLATED)
    assert control != processor.unk_id()
    begins = [{int(one.source(pair)[0]) for pair in range(len(one))} for one in corpora]
    assert begins[0] == {control}
    assert control not in begins[1] | begins[2]
