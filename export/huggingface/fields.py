"""Reader of JSON settings that checks their types."""

import reprlib
from collections.abc import Mapping
from typing import Any

MAX_COUNT = 2**20
"""Default maximum of a count."""


class ConfigFields:
    """One JSON object; problems with its fields are collected, so that all can be reported at once."""

    def __init__(self, content: Mapping[str, Any], name: str, problems: list[str]) -> None:
        self._content = content
        self._name = name
        self._problems = problems

    def count(self, field: str, default: int, maximum: int = MAX_COUNT) -> int:
        """Return a count from 1 to `maximum`."""
        value = self._content.get(field)
        if value is None:
            return default
        if type(value) is not int or not 1 <= value <= maximum:  # not isinstance: bool is a subclass of int
            self._reject(field, value, f"a whole number from 1 to {maximum}")
            return default
        return value

    def index(self, field: str) -> int | None:
        """Return an id, also if it is the only item of a list; None if there is none."""
        value = self._content.get(field)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if value is not None and (type(value) is not int or value < 0):
            self._reject(field, value, "an id")
            return None
        return value

    def number(self, field: str, default: float) -> float:
        """Return a finite number."""
        value = self._content.get(field)
        if value is None:
            return default
        if type(value) not in {int, float} or not abs(value) < float("inf"):
            self._reject(field, value, "a number")
            return default
        return float(value)

    def flag(self, field: str, *, default: bool) -> bool:
        """Return true or false."""
        value = self._content.get(field)
        if value is None:
            return default
        if not isinstance(value, bool):
            self._reject(field, value, "true or false")
            return default
        return value

    def text(self, field: str) -> str | None:
        """Return a string, also if it is the `content` of an object, as for tokens; None if there is none."""
        value = self._content.get(field)
        if isinstance(value, dict):
            value = value.get("content")
        if value is not None and not isinstance(value, str):
            self._reject(field, value, "a string")
            return None
        return value

    def _reject(self, field: str, value: object, wanted: str) -> None:
        self._problems.append(f"{self._name}: {field} is {reprlib.repr(value)}, not {wanted}")
