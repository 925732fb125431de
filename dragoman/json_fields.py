"""Read the fields of a JSON object one by one and collect all problems."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self, TypeVar

T = TypeVar("T")
Choice = TypeVar("Choice", bound=str)

JSON_TYPES: Mapping[type, str] = {
    dict: "an object",
    list: "an array",
    str: "a string",
    int: "an integer",
    float: "a number with a fraction",
    bool: "true or false",
    type(None): "null",
}
"""JSON's names for Python types."""


class FieldReader:
    """Takes fields out of a JSON object and collects the problems."""

    def __init__(self, content: dict[str, Any], prefix: str = "") -> None:
        self.content = dict(content)
        self.prefix = prefix
        self.problems: list[str] = []

    def take_text(self, field: str) -> str:
        return self._take(field, "")

    def take_choice(self, field: str, choices: Mapping[str, Choice]) -> Choice:
        """Take one of several names."""
        name = self.take_text(field)
        if name in choices:
            return choices[name]
        if name:
            self.problems.append(f"{self.prefix}{field} must be one of {', '.join(choices)}, not {name!r}")
        return next(iter(choices.values()))

    def take_object(self, field: str) -> dict[str, Any]:
        empty: dict[str, Any] = {}
        return self._take(field, empty)

    def inner(self, field: str) -> Self:
        """Take a nested object; return a reader of its fields, whose problems the caller adds."""
        return type(self)(self.take_object(field), f"{self.prefix}{field}.")

    @contextmanager
    def nested(self, field: str) -> Iterator[Self]:
        """Take a nested object: yield a reader of its fields, whose problems are added at the end."""
        inner = self.inner(field)
        yield inner
        self.problems += inner.finish()

    def take_count(self, field: str, least: int) -> int:
        """Take a count or an id."""
        count = self._take(field, least)
        if count < least:
            self.problems.append(f"{self.prefix}{field} is {count}, but must be at least {least}")
        return count

    def take_entries(self, field: str) -> dict[str, Self]:
        """Take a nested object of objects; return a reader for each name, at least one."""
        inner = self.inner(field)
        if not inner.content and not self.problems:
            self.problems.append(f"{self.prefix}{field} is empty")
        entries = {name: inner.inner(name) for name in tuple(inner.content)}
        self.problems += inner.finish()
        return entries

    def take_names(self, field: str) -> tuple[str, ...]:
        return self._take_list(field, "")

    def take_ids(self, field: str, least: int = 0) -> tuple[int, ...]:
        """Take token ids, at least `least` of them."""
        ids = self._take_list(field, 0)
        if len(ids) < least or any(one < 0 for one in ids):
            self.problems.append(f"{self.prefix}{field} must have {least} or more ids, all at least 0")
        return ids

    def take_bool(self, field: str) -> bool:
        return self._take(field, False)  # noqa: FBT003 -- a default value

    def take_number(self, field: str) -> float:
        """Take a number, which JSON may write without a fraction: 1 for 1.0."""
        if type(self.content.get(field)) is not int:
            return self._take(field, 0.0)
        number = self._take(field, 0)
        try:
            return float(number)
        except OverflowError:
            self.problems.append(f"{self.prefix}{field} is too large for a number")
            return 0.0

    def drop_null(self, field: str) -> bool:
        """Take the field if it is null; return whether it is."""
        is_null = field in self.content and self.content[field] is None
        if is_null:
            del self.content[field]
        return is_null

    def _take_list(self, field: str, kind: T) -> tuple[T, ...]:
        """Take a list whose items have the type of `kind`."""
        none: list[T] = []
        items = self._take(field, none)
        if any(type(item) is not type(kind) for item in items):
            self.problems.append(f"{self.prefix}{field}: every item must be {JSON_TYPES[type(kind)]}")
            return ()
        return tuple(items)

    def finish(self) -> list[str]:
        """Return all problems, including unknown fields."""
        return self.problems + [f"{self.prefix}{field} is not a known field" for field in self.content]

    def _take(self, field: str, default: T) -> T:
        """Take a field's value; note a problem and return `default` if it is missing or of another type."""
        if field not in self.content:
            self.problems.append(f"{self.prefix}{field} is missing")
            return default
        value: T = self.content.pop(field)
        if type(value) is not type(default):  # not isinstance: true must not pass as an integer
            wanted = JSON_TYPES[type(default)]
            found = JSON_TYPES.get(type(value), type(value).__name__)
            self.problems.append(f"{self.prefix}{field} must be {wanted}, not {found}")
            return default
        return value
