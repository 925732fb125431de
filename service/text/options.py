"""Options for placeholders and markup, and the error for invalid markup."""

from dataclasses import dataclass
from enum import StrEnum


class PlaceholderMode(StrEnum):
    """Whether placeholders and code are kept intact."""

    AUTO = "auto"
    OFF = "off"
    """Texts go to the model as they are."""


class MarkupLanguage(StrEnum):
    """Markup language of a text."""

    HTML = "html"
    XML = "xml"


@dataclass(frozen=True, slots=True)
class MarkupOptions:
    """Tags that separate texts, and content that is not translated.

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


class MarkupError(Exception):
    """Raised when markup cannot be parsed, with the fault, its position and a remedy."""
