"""Options for parsing markup, and the error for invalid markup."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Self


class MarkupLanguage(StrEnum):
    """Markup language of a text."""

    HTML = "html"
    XML = "xml"


@dataclass(frozen=True, slots=True)
class MarkupOptions:
    """Which tags separate texts, and which content is not translated.

    Names of tags are compared as written in XML, in lower case in HTML.
    """

    language: MarkupLanguage
    ignore_tags: frozenset[str] = frozenset()
    """Tags whose content is not translated."""
    splitting_tags: frozenset[str] = frozenset()
    """Tags that separate the texts before, in and after them, even if they are in `non_splitting_tags`."""
    non_splitting_tags: frozenset[str] = frozenset()
    """Tags that belong to the sentence around them, whatever they look like."""
    finds_outline: bool = True
    """In XML, whether elements without text among their siblings separate texts, like `splitting_tags`."""

    def names(self, tags: frozenset[str]) -> frozenset[str]:
        """Return tags as tokens spell them."""
        return frozenset(map(str.lower, tags)) if self.language is MarkupLanguage.HTML else tags

    def to_json(self) -> dict[str, Any]:
        """Return the options as an object that JSON can hold."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: sorted(value) if isinstance(value, frozenset) else value for name, value in values.items()
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Return the options that `to_json` converted."""
        return cls(
            MarkupLanguage(values["language"]),
            frozenset(values["ignore_tags"]),
            frozenset(values["splitting_tags"]),
            frozenset(values["non_splitting_tags"]),
            values["finds_outline"],
        )


@dataclass(eq=False)
class MarkupError(Exception):
    """Raised when markup cannot be parsed."""

    problem: str
    """What is wrong, where, and what to do."""

    def __str__(self) -> str:
        return self.problem
