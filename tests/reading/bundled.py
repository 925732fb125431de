"""What the bundled models read."""

from pathlib import Path

from dragoman.reading.read_text import RewordedText
from dragoman.reading.reading_file import READING_FILE, load_reading

MODELS = Path(__file__).parents[2] / "models"
FOLDERS = {"de": MODELS / "de-en", "en": MODELS / "en-de"}
READINGS = {code: load_reading(folder / READING_FILE, [code]) for code, folder in FOLDERS.items()}


def find(text: str, language: str) -> RewordedText | None:
    """Return what the bundled model of a source language reads for a text; None for the text."""
    return READINGS[language].read(text, language)


def read(text: str, language: str) -> str:
    """Return the same as text."""
    found = find(text, language)
    return text if found is None else found.text
