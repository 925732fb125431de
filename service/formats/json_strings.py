"""Messages in JSON: i18next, Vue, Angular and the like with nested keys, ICU messages, and Flutter's .arb.

All strings with words are entries, or those under selected keys. Numbers, other keys, their order, spacing
and escapes stay. Plural categories in keys (`file_one`, `file_other`) that the target language has besides
are added. A file whose only key at the top names the source language gets that of the target.

In .arb files (https://github.com/google/app-resource-bundle), keys with `@` are metadata and stay; `@@locale`
names the target language afterwards.

Messages of browser extensions (`_locales/de/messages.json` of Chrome, Edge and Firefox) are recognised by
their structure. Only the member `message` is text. Its `$NAME$`, `$1` and `$$` stay; any other `$` is
doubled, which is how browsers read a dollar sign. Specification: "Message formats" of Chrome's
documentation of `chrome.i18n`.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence

from service.formats.entries import FileOptions
from service.formats.inline_runs import TextRun, pair_halves, text_runs
from service.formats.json_values import JsonMember, JsonNotation, JsonValue, parse_json
from service.formats.language_tags import matches_language, renamed_language
from service.formats.messages import check_unicode, has_words, message_unit, runs_unit, split_tags
from service.formats.parts import TextUnit
from service.formats.plural_forms import added_keys
from service.formats.string_files import LanguageTag, LineCounter, SelectedKeys, Slot, StringFormat, join_keys
from service.text.tokens import InlineItem, TokenKind

MESSAGE = "message"
_PLACEHOLDERS = "placeholders"
_NOTES = frozenset(["description", _PLACEHOLDERS])
_SUBSTITUTION = re.compile(r"\$[1-9]|\$\$(?:\d+(?:[.,]\d+)*)?")
"""A value, or a dollar sign with the amount after it."""
_DOLLAR = re.compile(r"\$(?=([A-Za-z0-9_@]+)\$)?")
"""With what is between it and the next one, if that may be a name."""


def are_extension_messages(root: JsonValue) -> bool:
    """Return whether all members of an object are messages of an extension, and some have notes.

    Such a member is an object with a string `message`, and at most `description` and `placeholders` besides.
    Without any of these, the file may be of another kind, and is like one.
    """
    values = [member.value for member in root.members or ()]
    return all(map(_is_message, values)) and any(len(value.members or ()) > 1 for value in values)


def extension_message_unit(
    message: JsonValue, location: str, raw: str, render: Callable[[str], str]
) -> TextUnit:
    """Return the unit of a message.

    Args:
        message: the object with the member `message`.
        location: that of the message.
        raw: the string as the file writes it.
        render: returns that for another string.
    """
    value, placeholders = message.get(MESSAGE), message.get(_PLACEHOLDERS)
    text = "" if value is None or value.text is None else value.text
    members = () if placeholders is None else placeholders.members or ()
    names = {member.name.lower() for member in members}

    def write(items: Sequence[InlineItem]) -> str:
        return render("".join(item.raw or _double_dollars(item.text, names) for item in items))

    return runs_unit(list(_runs(text, location)), raw, write)


def _is_message(value: JsonValue) -> bool:
    text = value.get(MESSAGE)
    names = {member.name for member in value.members or ()}
    return text is not None and text.text is not None and names <= {MESSAGE, *_NOTES}


def _runs(text: str, location: str) -> Iterator[TextRun | InlineItem]:
    items = [part for item in split_tags(text) for part in _split_substitutions(item)]
    yield from text_runs(pair_halves(items), location, keeps_space=True)


def _split_substitutions(item: InlineItem) -> Iterator[InlineItem]:
    at = 0
    for found in _SUBSTITUTION.finditer(item.text):
        if at < found.start():
            yield InlineItem(TokenKind.TEXT, item.text[at : found.start()])
        yield InlineItem(TokenKind.WORD, raw=found[0])
        at = found.end()
    if item.kind is not TokenKind.TEXT:
        yield item
    elif at < len(item.text):
        yield InlineItem(TokenKind.TEXT, item.text[at:])


def _double_dollars(text: str, names: Collection[str]) -> str:
    """Return a text in which each dollar sign that is not around one of these names is doubled."""
    written: list[str] = []
    at = end_of_name = 0
    for found in _DOLLAR.finditer(text):
        written.append(text[at : found.end()])
        at = found.end()
        if at <= end_of_name:
            continue
        if found[1] is not None and found[1].lower() in names:
            end_of_name = found.end(1) + 1
        else:
            written.append("$")
    return "".join([*written, text[at:]])


_LOCALE = "@@locale"


class JsonFormat(StringFormat):
    """A JSON file of messages; one with `@@locale` is read as .arb, and there are messages of extensions.

    A path of keys with dots selects a string, or all within an object or a list.
    """

    is_arb = False

    def slots(self, text: str, selected: SelectedKeys) -> Iterator[Slot | LanguageTag]:
        """See `StringFormat`."""
        root = parse_json(text)
        walk = _Walk(text, self.options, selected)
        if self.is_arb or root.get(_LOCALE) is not None:
            yield from self._resources(root, walk)
        elif are_extension_messages(root):
            yield from walk.extension_messages(root)
        else:
            yield from self._messages(root, walk)

    def _messages(self, root: JsonValue, walk: "_Walk") -> Iterator[Slot | LanguageTag]:
        members = root.members or ()
        if len(members) == 1 and matches_language(members[0].name, self.options.source):
            [member] = members
            if member.value.members is not None:
                yield walk.language(member.start, member.name_end, member.name)
        yield from walk.value(root, "")

    def _resources(self, root: JsonValue, walk: "_Walk") -> Iterator[Slot | LanguageTag]:
        for member in root.members or ():
            value = member.value
            if member.name == _LOCALE and matches_language(value.text or "", self.options.source):
                yield walk.language(value.start, value.end, value.text or "")
            elif not member.name.startswith("@"):
                yield from walk.value(value, join_keys("", member.name))


class ArbFormat(JsonFormat):
    """An application resource bundle of Flutter."""

    is_arb = True


class _Walk:
    """Yields what is replaced in values, in their order."""

    def __init__(self, text: str, options: FileOptions, selected: SelectedKeys) -> None:
        self._text = text
        self._options = options
        self._selected = selected
        self._notation = JsonNotation.of(text)
        self._lines = LineCounter(text)

    def language(self, start: int, end: int, name: str) -> LanguageTag:
        """Return the tag of a string that names the source language."""
        return LanguageTag(start, end, self._notation.write(renamed_language(name, self._options.target)))

    def extension_messages(self, root: JsonValue) -> Iterator[Slot]:
        """Yield the slots of a browser extension's messages."""
        for member in root.members or ():
            path, message = join_keys("", member.name), member.value.get(MESSAGE)
            if message is None or message.text is None or not self._is_message(message, path):
                continue
            location = self._location(message.start, path)
            check_unicode(message.text, location)
            raw = self._text[message.start : message.end]
            unit = extension_message_unit(member.value, location, raw, self._notation.write)
            yield Slot(message.start, message.end, unit)

    def value(self, value: JsonValue, path: str) -> Iterator[Slot]:
        """Yield the slots in a value."""
        if value.text is not None and self._is_message(value, path):
            yield self._slot(value.text, self._location(value.start, path), value.start, value.end, "")
        for item in value.items or ():
            yield from self.value(item, path)
        if value.members:
            yield from self._object(value.members, path)

    def _object(self, members: tuple[JsonMember, ...], path: str) -> Iterator[Slot]:
        paths = [join_keys(path, member.name) for member in members]
        names = [
            member.name if self._is_message(member.value, path) else None
            for member, path in zip(members, paths, strict=True)
        ]
        added = added_keys(names, self._options)
        for i, member in enumerate(members):
            yield from self.value(member.value, paths[i])
            for key in added.get(i, ()):
                yield self._added(member, key.name, members[key.text_of].value.text or "", path)

    def _added(self, after: JsonMember, name: str, text: str, path: str) -> Slot:
        """Return the slot of a member with the spaces of the one after which it comes."""
        location = self._location(after.value.end, join_keys(path, name))
        start = after.start
        while start and self._text[start - 1] in " \t\n\r":
            start -= 1
        space = self._text[start : after.start]
        colon = self._text[after.name_end : after.value.start]
        before = f",{space}{self._notation.write(name)}{colon}"
        return self._slot(text, location, after.value.end, after.value.end, before)

    def _slot(self, text: str, location: str, start: int, end: int, before: str) -> Slot:
        raw = self._text[start:end] or None
        unit = message_unit(text, location, raw, lambda new: f"{before}{self._notation.write(new)}")
        return Slot(start, end, unit)

    def _is_message(self, value: JsonValue, path: str) -> bool:
        return value.text is not None and self._selected.has(path) and has_words(value.text)

    def _location(self, at: int, path: str) -> str:
        return f"line {self._lines.line_of(at)}, key {path}" if path else f"line {self._lines.line_of(at)}"
