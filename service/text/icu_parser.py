"""Parser of ICU MessageFormat: text, arguments, and branches by number or keyword.

Apostrophes quote as in ICU: one before a brace, or before `#` in a plural branch, begins quoted text, and two
are one apostrophe; any other stands for itself.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from service.text.marked_text import Mark, Object

MAX_DEPTH = 10
"""Maximum nesting of branches."""

_START = re.compile(r"\{\s*([\w.-]+)\s*,\s*(plural|selectordinal|select)\s*,")
_SIMPLE = re.compile(r"\{\s*[\w.-]+\s*(?:,\s*[a-z]+\s*(?:,[^{}']*+)?)?\}")
_OFFSET = re.compile(r"\s*offset\s*:\s*(\d+)\s*")
_SELECTOR = re.compile(r"\s*+(=\d++|(?<![\w-])[\w-]++)\s*+\{")
_CLOSE = re.compile(r"\s*\}")
_QUOTED = {False: re.compile(r"([{}][{}']*)"), True: re.compile(r"([{}#][{}#']*)")}
"""Characters with a meaning outside of plural branches, and in them; with apostrophes after them."""


class ChoiceKind(StrEnum):
    """Kind of value that chooses a branch."""

    PLURAL = "plural"
    ORDINAL = "selectordinal"
    SELECT = "select"


@dataclass(frozen=True, slots=True)
class Text:
    """Text without its quoting."""

    text: str


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument without branches, such as `{name}` or `{when, date, short}`."""

    raw: str


@dataclass(frozen=True, slots=True)
class Inline:
    """A mark or an object of the markup that the message is in."""

    item: Mark | Object
    text: str
    """Its character; none for what has no width."""


@dataclass(frozen=True, slots=True)
class Hash:
    """The number of the plural around it: `#`."""


@dataclass(frozen=True, slots=True)
class Choice:
    """An argument with branches."""

    name: str
    kind: ChoiceKind
    offset: str
    """Digits, without zeros before them; empty without one."""
    branches: tuple[tuple[str, "Nodes"], ...]
    """Selector (`one`, `=1`, `female`) and content of each branch, in the order of the message."""


Node = Text | Argument | Inline | Hash | Choice
Nodes = tuple[Node, ...]


class IcuSyntaxError(Exception):
    """Raised with a problem when a message with branches cannot be parsed."""


def has_branches(text: str) -> bool:
    """Return whether a text has an argument with branches, well-formed or not."""
    return "{" in text and _START.search(text) is not None


def parse_icu(text: str) -> Nodes:
    """Parse a message.

    Raises:
        IcuSyntaxError: it is malformed, or nested too deeply.
    """
    parser = _Parser(text)
    nodes = parser.nodes(depth=0, in_plural=False)
    if parser.at < len(text):
        raise parser.error("a closing brace has no opening one")
    return nodes


class _Parser:
    def __init__(self, text: str) -> None:
        self.at = 0
        self._text = text

    def error(self, problem: str) -> IcuSyntaxError:
        return IcuSyntaxError(f"not a valid ICU message: {problem}, character {self.at + 1}")

    def nodes(self, *, depth: int, in_plural: bool) -> Nodes:
        """Parse up to the closing brace of the branch, or to the end."""
        if depth > MAX_DEPTH:
            raise self.error(f"branches are nested more than {MAX_DEPTH} deep")
        nodes: list[Node] = []
        while self.at < len(self._text) and self._text[self.at] != "}":
            if self._text[self.at] == "{":
                nodes.append(self._argument(depth, in_plural=in_plural))
            elif self._text[self.at] == "#" and in_plural:
                self.at += 1
                nodes.append(Hash())
            else:
                nodes.append(Text(self._plain(in_plural=in_plural)))
        return tuple(nodes)

    def _plain(self, *, in_plural: bool) -> str:
        special = "{}#" if in_plural else "{}"
        pieces: list[str] = []
        is_quoted = False
        while self.at < len(self._text):
            character = self._text[self.at]
            following = self._text[self.at + 1 : self.at + 2]
            if character == "'" and following == "'":
                pieces.append("'")
                self.at += 2
            elif character == "'" and (is_quoted or (following and following in special)):
                is_quoted = not is_quoted
                self.at += 1
            elif character in special and not is_quoted:
                break
            else:
                pieces.append(character)
                self.at += 1
        return "".join(pieces)

    def _argument(self, depth: int, *, in_plural: bool) -> Argument | Choice:
        if start := _START.match(self._text, self.at):
            return self._choice(start, depth, in_plural=in_plural)
        found = _SIMPLE.match(self._text, self.at)
        if found is None:
            raise self.error("an argument such as {name} is expected")
        self.at = found.end()
        return Argument(found[0])

    def _choice(self, start: re.Match[str], depth: int, *, in_plural: bool) -> Choice:
        self.at, name, kind = start.end(), start[1], ChoiceKind(start[2])
        offset = _OFFSET.match(self._text, self.at) if kind is not ChoiceKind.SELECT else None
        if offset is not None:
            self.at = offset.end()
        branches: list[tuple[str, Nodes]] = []
        while found := _SELECTOR.match(self._text, self.at):
            self.at = found.end()
            is_plural = in_plural or kind is not ChoiceKind.SELECT
            branches.append((found[1], self.nodes(depth=depth + 1, in_plural=is_plural)))
            self._expect_close()
        self._expect_close()
        selectors = [selector for selector, _ in branches]
        if "other" not in selectors or len(set(selectors)) < len(selectors):
            raise self.error(f"{name} needs one branch `other`, and no branch twice")
        return Choice(name, kind, "" if offset is None else offset[1].lstrip("0"), tuple(branches))

    def _expect_close(self) -> None:
        found = _CLOSE.match(self._text, self.at)
        if found is None:
            raise self.error("a closing brace is missing")
        self.at = found.end()


def write_text(text: str, *, in_plural: bool, doubles_apostrophes: bool) -> str:
    """Return text as a message has it, with what has a meaning there quoted.

    Args:
        text: text without quoting.
        in_plural: whether `#` has a meaning.
        doubles_apostrophes: whether to double every apostrophe, which all implementations read alike.
    """
    pieces: list[str] = []
    for part in _QUOTED[in_plural].split(text):
        if _QUOTED[in_plural].fullmatch(part):
            pieces += ("'", part.replace("'", "''"), "'")
            continue
        for i, character in enumerate(part):
            is_unclear = i + 1 == len(part) or part[i + 1] in "#|'"
            doubles = character == "'" and (doubles_apostrophes or is_unclear)
            pieces.append("''" if doubles else character)
    return "".join(pieces)
