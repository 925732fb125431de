"""Recipes of short trainings."""

from tests.imports.export.conftest import run_main
from tests.training.conftest import finished, finished_recipe, pairs, recipe, write_recipe

__all__ = ["finished", "finished_recipe", "pairs", "recipe", "run_main", "write_recipe"]
