"""Folders that tests read."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
TINY = ROOT / "tests" / "tiny"
MODELS = ROOT / "models"
