"""The list of inputs, and what is wanted of the translation of each."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "robust_inputs"
TARGETS = {"de": "en", "en": "de"}
"""Source languages that have a list, with the target language that it was written for."""
HEAD = ("id", "kind", "input", "order", "expected", "good", "remark")
BETWEEN_THINGS = " ¦ "
BETWEEN_FORMS = " = "


class Rule(StrEnum):
    """How one thing is looked for in an output."""

    MARK = "mark"
    """Character for character, as often as in the input: placeholders, tags, entities, emoji."""
    TOKEN = "token"  # noqa: S105 -- a word of the list, no secret
    """The same, and nothing may touch it but white space and punctuation: addresses, paths, words of code."""
    NUMBER = "number"
    """Its value, in the target language's digits or words; or its very digits."""
    DATE = "date"
    """Its day, month and year, in any writing."""
    TIME = "time"
    """Its hour and minute, of 12 or 24 hours."""
    NAME = "name"
    """A whole word, whatever its case, a genitive's s allowed."""
    SIGN = "sign"
    """Punctuation: a run counts once, and quotation marks and dashes of all styles are the same."""
    SAYS = "says"
    """Words that a translation holds, whatever their case; the input need not. `*` stands for any letters,
    `^` and `$` for the output's beginning and end."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One thing that an output is to hold."""

    rule: Rule
    forms: tuple[str, ...]
    """Any of them will do. But for `SAYS`, the first stands in the input."""

    def __str__(self) -> str:
        return f"{self.rule}:{BETWEEN_FORMS.join(self.forms)}"


@dataclass(frozen=True, slots=True)
class Input:
    """One line of a list."""

    id: str
    kind: str
    text: str
    is_ordered: bool
    """Whether what is to be kept must stand in the order of `wanted`."""
    wanted: tuple[Wanted, ...]
    """A thing that is to be there twice stands here twice."""
    good: str
    """A translation as a person would write it; there are others."""
    remark: str

    @property
    def kept(self) -> tuple[Wanted, ...]:
        """What must come out as it went in."""
        return tuple(wanted for wanted in self.wanted if wanted.rule is not Rule.SAYS)

    @property
    def said(self) -> tuple[Wanted, ...]:
        """What must be translated."""
        return tuple(wanted for wanted in self.wanted if wanted.rule is Rule.SAYS)


def read_inputs(language: str, folder: Path = FOLDER) -> list[Input]:
    """A source language's list: lines of `HEAD`'s columns, tabs between them, escapes as in JSON.

    Raises:
        ValueError: naming the line, and what is wrong in it.
    """
    path = folder / f"{language}.tsv"
    head, *lines = path.read_text(encoding="utf8").splitlines()
    if tuple(head.split("\t")) != HEAD:
        raise ValueError(f"{path}:1: the columns are not {', '.join(HEAD)}")
    inputs = []
    for number, line in enumerate(lines, start=2):
        try:
            inputs.append(_parse(line.split("\t")))
        except ValueError as error:
            raise ValueError(f"{path}:{number}: {error}") from error
    return inputs


def _parse(columns: Sequence[str]) -> Input:
    if len(columns) != len(HEAD):
        raise ValueError(f"{len(columns)} columns, not {len(HEAD)}")
    identifier, kind, text, order, expected, good, remark = (_unescape(column) for column in columns)
    if order not in {"any", "same"}:
        raise ValueError(f"order is any or same, not {order!r}")
    things = expected.split(BETWEEN_THINGS) if expected else []
    return Input(identifier, kind, text, order == "same", tuple(map(_parse_wanted, things)), good, remark)


def _parse_wanted(thing: str) -> Wanted:
    rule, colon, forms = thing.partition(":")
    if not colon or not forms:
        raise ValueError(f"{thing!r} is no RULE:FORM")
    return Wanted(Rule(rule), tuple(forms.split(BETWEEN_FORMS)))


def _unescape(column: str) -> str:
    quoted = column.replace('"', '\\"')
    return str(json.loads(f'"{quoted}"'))
