"""`python -m training.show_variants` shows the copies that a recipe makes of its corpora."""

from tests.imports.export.conftest import RunMain
from tests.training.conftest import MADE, Recipe, WriteRecipe, change
from training.show_variants import main


def test_the_command_counts_and_shows_copies(
    recipe: Recipe, write_recipe: WriteRecipe, run_main: RunMain
) -> None:
    change(recipe, {"data.corpora.0.variants": {"upper": 0.999999999}})
    recipe["data"]["corpora"] += [MADE]

    done = run_main(main, write_recipe(recipe), "--pairs", "20", "--examples", "2")

    lines = done.output.splitlines()
    assert done.status == 0
    assert lines[0] == "tiny, de-en: 20 pairs, 20 copies (100.0%)"
    assert lines[4] == "  upper: 20 (100.0%)"
    assert lines[5] == "    DER HUND SCHLÄFT IM GARTEN.\tTHE DOG SLEEPS IN THE GARDEN."
    assert lines[7] == "made, de-en: 20 pairs, 0 copies (0.0%)"
    assert len(lines) == 7 + 4


def test_an_invalid_recipe_gives_one_message_and_status_2(
    recipe: Recipe, write_recipe: WriteRecipe, run_main: RunMain
) -> None:
    change(recipe, {"data.corpora.0.variants": {"uper": 0.1}})

    done = run_main(main, write_recipe(recipe))

    assert done.status == 2
    assert "data.corpora.0.variants.uper: unknown key" in done.errors
