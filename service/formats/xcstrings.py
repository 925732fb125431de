"""String catalogues of Xcode (`.xcstrings`): missing localisations of the target language are filled in.

A string without a localisation in the source language is its own text. Plural variations get the categories
of the target language, variations by device stay. Strings with `shouldTranslate: false`, with substitutions,
or with a localisation that somebody filled in stay byte for byte. A translation has the state `needs_review`
if a model made it, else `translated`. Added members have the layout of the file: its indentation, its spaces
around colons, its order.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from service.formats.entries import Entry, FileFormatError, TargetText
from service.formats.json_values import JsonMember, JsonNotation, JsonValue, parse_json
from service.formats.language_tags import is_variant
from service.formats.messages import has_words, message_unit
from service.formats.parts import TextUnit, Unit
from service.formats.plural_forms import missing_members
from service.formats.review_marks import origin_of
from service.formats.string_files import LanguageTag, LineCounter, SelectedKeys, Slot, StringFormat
from service.text.outcome import TextOrigin
from service.text.plural_rules import CATEGORIES, OTHER, plural_rules

_INDENT = re.compile(r"\{(\r?\n)([ \t]+)\"")
_COLON = re.compile(r"\"(?:[^\"\\]|\\.)*\"(\s*:[ \t]*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class JsonInsertion:
    """Position of a new member, and the text around it."""

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


UNDETERMINED = "und"
_STATES = {
    TextOrigin.MACHINE: "needs_review",
    TextOrigin.MEMORY: "translated",
    TextOrigin.SOURCE: "new",
    None: "translated",
}
_ZERO = "zero"
"""A category that a string may have in any language."""
_MAX_SHOWN = 200
_LANGUAGE_DEPTH = 4
"""Objects around a localisation: the root, `strings`, the string and `localizations`."""


@dataclass(frozen=True, slots=True)
class _Variations:
    """Texts by plural category or by device."""

    kind: str
    branches: tuple[tuple[str, "_Tree"], ...]


_Tree = TextUnit | _Variations


class XcstringsFormat(StringFormat):
    """A string catalogue; an entry is a text whose string has no localisation in the target language.

    Texts equal to their entries are filled in too, empty texts are not. Options select keys.
    """

    def slots(self, text: str, selected: SelectedKeys) -> Iterator[Slot | LanguageTag]:
        """See `StringFormat`."""
        root = parse_json(text)
        strings, language = root.get("strings"), root.get("sourceLanguage")
        if strings is None or strings.members is None or language is None or not language.text:
            raise FileFormatError("it is not a string catalogue: `sourceLanguage` or `strings` is missing")
        self._check_source(language.text)
        catalogue = _Catalogue(text, language.text, self.options.target)
        for member in strings.members:
            if selected.has(member.name):
                yield from catalogue.slots(member)

    def _check_source(self, language: str) -> None:
        wanted = self.options.source
        if wanted != UNDETERMINED and not is_variant(language, wanted):
            raise FileFormatError(
                f"its source language is {language[:40]!a}, not {wanted!a}; translate it from that language"
            )


class _Catalogue:
    """A single pass over the strings of a catalogue."""

    def __init__(self, text: str, source: str, target: str) -> None:
        self._source, self._target = source, target
        self._layout = JsonLayout.of(text)
        self._text = text
        self._lines = LineCounter(text)

    def slots(self, string: JsonMember) -> Iterator[Slot]:
        """Yield the slot of a string that needs a localisation."""
        location = f"line {self._lines.line_of(string.start)}, key {string.name[:_MAX_SHOWN]}"
        if string.value.members is None:
            raise FileFormatError(f"{location}: the string is not an object")
        if self._raw(string.value.get("shouldTranslate")) == "false":
            return
        localizations = string.value.get("localizations")
        of_source = None if localizations is None else localizations.get(self._source)
        tree = _text_unit(string.name, location) if of_source is None else self._tree(of_source, location)
        entries = () if tree is None else tuple(_entries(tree))
        target = self._target_of(string.value, localizations)
        if tree is None or target is None or not any(has_words(entry.text) for entry in entries):
            return
        insertion, write = target

        def render(texts: Sequence[TargetText]) -> str:
            if not any(text.text for text in texts):
                return self._text[insertion.start : insertion.end]
            return insertion.around(write(_spelled(tree, iter(texts))))

        yield Slot(insertion.start, insertion.end, Unit(entries, render))

    def _target_of(
        self, string: JsonValue, localizations: JsonValue | None
    ) -> tuple[JsonInsertion, Callable[[object], str]] | None:
        """Return where the localisation goes, and what writes it there; None if somebody filled it in."""
        layout, target = self._layout, self._target
        if localizations is None:
            insertion = layout.insertion(string, "localizations", _LANGUAGE_DEPTH - 1)
            return insertion, lambda value: layout.member(
                "localizations", {target: value}, _LANGUAGE_DEPTH - 1
            )
        existing = next(
            (member for member in localizations.members or () if _is_same_language(member.name, target)), None
        )
        if existing is None:
            insertion = layout.insertion(localizations, target, _LANGUAGE_DEPTH)
            return insertion, lambda value: layout.member(target, value, _LANGUAGE_DEPTH)
        if _is_filled_in(existing.value):
            return None
        replaced = JsonInsertion(existing.value.start, existing.value.end, "", "")
        return replaced, lambda value: layout.value(value, _LANGUAGE_DEPTH)

    def _tree(self, localization: JsonValue, location: str) -> _Tree | None:
        """Return a localisation with the variations of the target; None if it has what is not supported."""
        unit, variations = localization.get("stringUnit"), localization.get("variations")
        if unit is not None and len(localization.members or ()) == 1:
            value = unit.get("value")
            return None if value is None or value.text is None else _text_unit(value.text, location)
        if variations is None or len(localization.members or ()) != 1 or len(variations.members or ()) != 1:
            return None
        [kind] = variations.members or ()
        found = {member.name: member.value for member in kind.value.members or ()}
        if kind.name == "plural":
            found = self._plural_branches(found)
        branches = [
            (name, self._tree(value, f"{location}, {name[:_MAX_SHOWN]}")) for name, value in found.items()
        ]
        trees = tuple((name, tree) for name, tree in branches if tree is not None)
        return _Variations(kind.name, trees) if trees and len(trees) == len(branches) else None

    def _plural_branches(self, found: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        if OTHER not in found:
            return {}
        kept = {*plural_rules(self._target).samples, _ZERO}
        branches = {name: value for name, value in found.items() if name in kept}
        branches |= missing_members(found, self._source, self._target)
        return {name: branches[name] for name in CATEGORIES if name in branches}

    def _raw(self, value: JsonValue | None) -> str:
        return "" if value is None else self._text[value.start : value.end]


def _text_unit(text: str, location: str) -> TextUnit:
    return message_unit(text, location, text, str)


def _entries(tree: _Tree) -> Iterator[Entry]:
    if isinstance(tree, Unit):
        yield from tree.entries
        return
    for _, branch in tree.branches:
        yield from _entries(branch)


def _spelled(tree: _Tree, texts: Iterator[TargetText]) -> dict[str, object]:
    """Return a localisation with translations."""
    if isinstance(tree, _Variations):
        return {"variations": {tree.kind: {name: _spelled(branch, texts) for name, branch in tree.branches}}}
    given = list(islice(texts, len(tree.entries)))
    return {"stringUnit": {"state": _STATES[origin_of(given)], "value": tree.write(given)}}


def _is_same_language(code: str, other: str) -> bool:
    return code.lower().replace("_", "-") == other.lower().replace("_", "-")


def _is_filled_in(localization: JsonValue) -> bool:
    """Return whether somebody translated a localisation: Xcode adds empty ones with the state `new`."""
    unit = localization.get("stringUnit")
    if unit is None:
        return bool(localization.members)
    state, value = unit.get("state"), unit.get("value")
    return bool(value is not None and value.text) and (state is None or state.text != "new")
