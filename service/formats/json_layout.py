"""Members added to JSON in the layout of the file: its indentation, its spaces around colons, its order."""

import re
from dataclasses import dataclass

from service.formats.json_values import JsonNotation, JsonValue

_INDENT = re.compile(r"\{(\r?\n)([ \t]+)\"")
_COLON = re.compile(r"\"(?:[^\"\\]|\\.)*\"(\s*:[ \t]*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class JsonInsertion:
    """Where a member goes, and what is around it."""

    start: int
    end: int
    before: str
    after: str

    def around(self, member: str) -> str:
        """Return what is written between `start` and `end`."""
        return f"{self.before}{member}{self.after}"


@dataclass(frozen=True, slots=True)
class JsonLayout:
    """Layout of a file whose values are indented by their depth."""

    notation: JsonNotation
    line_end: str
    """Empty if the file is written in one line."""
    indent: str
    colon: str

    @classmethod
    def of(cls, text: str) -> "JsonLayout":
        """Return the layout of a file whose root is an object."""
        indent = _INDENT.match(text.lstrip())
        colon = _COLON.search(text)
        return cls(
            JsonNotation.of(text),
            indent[1] if indent else "",
            indent[2] if indent else "",
            colon[1] if colon else ": ",
        )

    def member(self, name: str, value: object, depth: int) -> str:
        """Return a member with a value of strings and objects."""
        return f"{self.notation.write(name)}{self.colon}{self.value(value, depth)}"

    def value(self, value: object, depth: int) -> str:
        """Return a value of strings and objects, which is in a member at a depth."""
        if not isinstance(value, dict):
            return self.notation.write(str(value))
        members = [self.member(name, inner, depth + 1) for name, inner in value.items()]
        start, between, end = self._line(depth + 1), f",{self._line(depth + 1)}", self._line(depth)
        return f"{{{start}{between.join(members)}{end}}}"

    def insertion(self, parent: JsonValue, name: str, depth: int) -> JsonInsertion:
        """Return where a member goes in an object: before the first with a larger name, or at its end.

        Args:
            parent: the object.
            name: name of the member.
            depth: number of objects around the member.
        """
        if not parent.members:
            around = f"{{{self._line(depth)}", f"{self._line(depth - 1)}}}"
            return JsonInsertion(parent.start, parent.end, *around)
        following = next((member for member in parent.members if member.name > name), None)
        if following is not None:
            return JsonInsertion(following.start, following.start, "", f",{self._line(depth)}")
        end = parent.members[-1].value.end
        return JsonInsertion(end, end, f",{self._line(depth)}", "")

    def _line(self, depth: int) -> str:
        return f"{self.line_end}{self.indent * depth}"
