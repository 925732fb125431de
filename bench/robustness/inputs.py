"""The lists of inputs, and the requirements for the translation of each input."""

import csv
import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "robust_inputs"
TARGETS = {"de": "en", "en": "de"}
"""Source languages that have a list, with the target language of the list."""
BETWEEN_THINGS = " ¦ "
BETWEEN_FORMS = " = "


class Rule(StrEnum):
    """Rule by which a thing is found in an output."""

    MARK = "mark"
    """Exactly, as often as in the input: placeholders, tags, entities, emoji."""
    TOKEN = "token"  # noqa: S105 -- a word of the list, no secret
    """Like MARK, but only between white space and punctuation: addresses, paths, words of code."""
    NUMBER = "number"
    """By value, in the target language's digits or words, or with the same digits."""
    DATE = "date"
    """By day, month and year, in any format."""
    TIME = "time"
    """By hour and minute, on a 12-hour or 24-hour clock."""
    NAME = "name"
    """As a whole word, in any case, possibly with a genitive s."""
    SIGN = "sign"
    """As punctuation: a run counts once; quotation marks of all styles are equal, and so are dashes."""
    SAYS = "says"
    """As words in any case that the translation contains, though perhaps not the input. `*` stands for any
    letters, `^` and `$` for the output's beginning and end."""


@dataclass(frozen=True, slots=True)
class RequiredItem:
    """A thing that an output must contain."""

    rule: Rule
    forms: tuple[str, ...]
    """Alternatives, any of which is accepted. Except for `SAYS`, the first one is the form in the input."""

    def __str__(self) -> str:
        return f"{self.rule}:{BETWEEN_FORMS.join(self.forms)}"


@dataclass(frozen=True, slots=True)
class Input:
    """One line of a list."""

    id: str
    kind: str
    text: str
    is_ordered: bool
    """Whether the things to keep must stand in the order of `wanted`."""
    wanted: tuple[RequiredItem, ...]
    """Things that the output must contain; one that must occur twice is listed twice."""
    good: str
    """A good human translation, one of many."""

    @property
    def kept(self) -> tuple[RequiredItem, ...]:
        """Things of the input that the output must keep."""
        return tuple(wanted for wanted in self.wanted if wanted.rule is not Rule.SAYS)

    @property
    def said(self) -> tuple[RequiredItem, ...]:
        """Words that the translation must contain."""
        return tuple(wanted for wanted in self.wanted if wanted.rule is Rule.SAYS)


def read_inputs(language: str, folder: Path = FOLDER) -> list[Input]:
    """Read a source language's list: tab-separated lines with their names in the first one, and
    escapes as in JSON.

    Raises:
        ValueError: a line has a rule that is none, or is malformed.
        KeyError: a line has a wrong order.
    """
    with (folder / f"{language}.tsv").open(encoding="utf8", newline="\n") as file:
        return [_parse(row) for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)]


def _parse(row: Mapping[str, str]) -> Input:
    columns = {name: json.loads('"{}"'.format(column.replace('"', '\\"'))) for name, column in row.items()}
    wanted = []
    for thing in columns["expected"].split(BETWEEN_THINGS) if columns["expected"] else []:
        rule, _, forms = thing.partition(":")
        wanted.append(RequiredItem(Rule(rule), tuple(forms.split(BETWEEN_FORMS))))
    return Input(
        id=columns["id"],
        kind=columns["kind"],
        text=columns["input"],
        is_ordered={"any": False, "same": True}[columns["order"]],
        wanted=tuple(wanted),
        good=columns["good"],
    )
