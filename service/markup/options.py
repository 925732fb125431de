"""What a caller says about markup, and what is wrong with it."""

from dataclasses import dataclass
from enum import StrEnum


class MarkupLanguage(StrEnum):
    """How a text is marked up."""

    HTML = "html"
    XML = "xml"


@dataclass(frozen=True, slots=True)
class MarkupOptions:
    """Which tags part texts, and what is left alone.

    Names of tags are compared as they are written in XML, in lower case in HTML.
    """

    language: MarkupLanguage
    ignore_tags: frozenset[str] = frozenset()
    """What they hold is not translated."""
    splitting_tags: frozenset[str] = frozenset()
    """Text before, in and after them is translated apart; they count for more than `non_splitting_tags`."""
    non_splitting_tags: frozenset[str] = frozenset()
    """They stand among words, whatever they look like."""
    finds_outline: bool = True
    """In XML, whether elements with no text among their siblings part texts, beside `splitting_tags`."""

    def names(self, tags: frozenset[str]) -> frozenset[str]:
        """Tags as tokens spell them."""
        return frozenset(map(str.lower, tags)) if self.language is MarkupLanguage.HTML else tags


@dataclass(eq=False)
class MarkupError(Exception):
    """Markup that cannot be taken apart."""

    problem: str
    """What is wrong, where, and what to do."""

    def __str__(self) -> str:
        return self.problem
