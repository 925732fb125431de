"""Texts with what their translations must contain, and translations as a user gets them."""

import csv
from collections.abc import Container, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragoman import DecodingOptions, Translation, Translator


@dataclass(frozen=True, slots=True)
class Trial:
    """A text, and the regular expression of what its translation must contain."""

    name: str
    language: str
    text: str
    expected: str


def read_trials(path: Path, languages: Container[str]) -> list[Trial]:
    """Return the trials of some source languages; the columns of a file are the fields of a trial."""
    with path.open(encoding="utf-8", newline="") as lines:
        trials = [Trial(*row) for row in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)]
    return [trial for trial in trials if trial.language in languages]


def translations(translator: Translator, texts: Sequence[str], beam_size: int | None = None) -> list[str]:
    """Return the translations as shipped; an empty one for a text that cannot be translated."""
    found = translator.translate(list(texts), DecodingOptions(beam_size=beam_size))
    return [outcome.text if isinstance(outcome, Translation) else "" for outcome in found]
