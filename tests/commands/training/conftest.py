"""Recipes of short trainings."""

from tests.training.conftest import pairs, recipe, write_recipe

__all__ = ["pairs", "recipe", "write_recipe"]
