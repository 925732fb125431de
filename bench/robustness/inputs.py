"""The lists of inputs, and the requirements for the translation of each input."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "robust_inputs"
TARGETS = {"de": "en", "en": "de"}
"""Source languages that have a list, with the target language of the list."""
HEAD = ("id", "kind", "input", "order", "expected", "good", "remark")
BETWEEN_THINGS = " ¦ "
BETWEEN_FORMS = " = "


class Rule(StrEnum):
    """How to find a thing in an output."""

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
    remark: str

    @property
    def kept(self) -> tuple[RequiredItem, ...]:
        """Things of the input that the output must keep."""
        return tuple(wanted for wanted in self.wanted if wanted.rule is not Rule.SAYS)

    @property
    def said(self) -> tuple[RequiredItem, ...]:
        """Words that the translation must contain."""
        return tuple(wanted for wanted in self.wanted if wanted.rule is Rule.SAYS)


def read_inputs(language: str, folder: Path = FOLDER) -> list[Input]:
    """Read a source language's list: tab-separated lines with the columns of `HEAD`, and escapes as in JSON.

    Raises:
        ValueError: a line is wrong; the message names it and the reason.
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
    quoted = (column.replace('"', '\\"') for column in columns)
    identifier, kind, text, order, expected, good, remark = (json.loads(f'"{column}"') for column in quoted)
    if order not in {"any", "same"}:
        raise ValueError(f"order is any or same, not {order!r}")
    wanted = []
    for thing in expected.split(BETWEEN_THINGS) if expected else []:
        rule, _, forms = thing.partition(":")
        if not forms:
            raise ValueError(f"{thing!r} is no RULE:FORM")
        wanted.append(RequiredItem(Rule(rule), tuple(forms.split(BETWEEN_FORMS))))
    return Input(identifier, kind, text, order == "same", tuple(wanted), good, remark)
