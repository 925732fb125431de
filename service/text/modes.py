"""Whether placeholders are kept intact."""

from enum import StrEnum


class PlaceholderMode(StrEnum):
    """Whether placeholders and code are kept intact."""

    AUTO = "auto"
    OFF = "off"
    """Texts go to the model as they are."""
