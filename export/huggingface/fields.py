"""Settings taken out of JSON with their types checked."""

import reprlib
from collections.abc import Mapping
from typing import Any

MOST = 2**20
"""Of whatever is counted, where nothing else is said."""


class Fields:
    """One JSON object; what is wrong with a field is noted, so that all of it can be told at once."""

    def __init__(self, content: Mapping[str, Any], name: str, problems: list[str]) -> None:
        self._content = content
        self._name = name
        self._problems = problems

    def count(self, field: str, default: int, most: int = MOST) -> int:
        """A number of something, from 1 to `most`."""
        value = self._content.get(field)
        if value is None:
            return default
        if type(value) is not int or not 1 <= value <= most:  # not isinstance: true is no integer here
            self._reject(field, value, f"a whole number from 1 to {most}")
            return default
        return value

    def index(self, field: str) -> int | None:
        """An id, also where it is the only one of a list; None where there is none."""
        value = self._content.get(field)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if value is not None and (type(value) is not int or value < 0):
            self._reject(field, value, "an id")
            return None
        return value

    def number(self, field: str, default: float) -> float:
        """A finite number."""
        value = self._content.get(field)
        if value is None:
            return default
        if type(value) not in {int, float} or not abs(value) < float("inf"):
            self._reject(field, value, "a number")
            return default
        return float(value)

    def flag(self, field: str, *, default: bool) -> bool:
        """True or false."""
        value = self._content.get(field)
        if value is None:
            return default
        if not isinstance(value, bool):
            self._reject(field, value, "true or false")
            return default
        return value

    def text(self, field: str) -> str | None:
        """A string, also where it is told with its properties, as tokens are; None where there is none."""
        value = self._content.get(field)
        if isinstance(value, dict):
            value = value.get("content")
        if value is not None and not isinstance(value, str):
            self._reject(field, value, "a string")
            return None
        return value

    def _reject(self, field: str, value: object, wanted: str) -> None:
        self._problems.append(f"{self._name}: {field} is {reprlib.repr(value)}, not {wanted}")
