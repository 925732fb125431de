"""Messages in JSON: i18next, Vue, Angular and the like with nested keys, ICU messages, and Flutter's .arb.

All strings with words are entries, or those under selected keys. Numbers, other keys, their order, spacing
and escapes stay. Plural categories in keys (`file_one`, `file_other`) that the target language has besides
are added. A file whose only key at the top names the source language gets that of the target.

In .arb files (https://github.com/google/app-resource-bundle), keys with `@` are metadata and stay; `@@locale`
names the target language afterwards. Messages of browser extensions are recognised by their structure.
"""

from collections.abc import Iterator

from service.formats.entries import FileOptions
from service.formats.extension_messages import MESSAGE, are_extension_messages, extension_message_unit
from service.formats.json_values import JsonMember, JsonNotation, JsonValue, parse_json
from service.formats.language_tags import matches_language, renamed_language
from service.formats.messages import check_unicode, has_words, message_unit
from service.formats.plural_keys import PluralLanguages, added_keys
from service.formats.string_files import (
    LanguageTag,
    LineCounter,
    SelectedKeys,
    Slot,
    StringFormat,
    join_keys,
)

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
        self._languages = PluralLanguages(options.source, options.target)

    def language(self, start: int, end: int, name: str) -> LanguageTag:
        """Return the tag of a string that names the source language."""
        return LanguageTag(start, end, self._notation.write(renamed_language(name, self._options.target)))

    def extension_messages(self, root: JsonValue) -> Iterator[Slot]:
        """Yield the slots of a browser extension's messages."""
        for member in root.members or ():
            path, message = join_keys("", member.name), member.value.get(MESSAGE)
            if message is None or message.text is None or not self._is_message(message, path):
                continue
            place = self._place(message.start, path)
            check_unicode(message.text, place)
            own = self._text[message.start : message.end]
            unit = extension_message_unit(member.value, place, own, self._notation.write)
            yield Slot(message.start, message.end, unit)

    def value(self, value: JsonValue, path: str) -> Iterator[Slot]:
        """Yield the slots in a value."""
        if value.text is not None and self._is_message(value, path):
            yield self._slot(value.text, self._place(value.start, path), value.start, value.end, "")
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
        added = added_keys(names, self._languages)
        for i, member in enumerate(members):
            yield from self.value(member.value, paths[i])
            for key in added.get(i, ()):
                yield self._added(member, key.name, members[key.text_of].value.text or "", path)

    def _added(self, after: JsonMember, name: str, text: str, path: str) -> Slot:
        """Return the slot of a member with the spaces of the one after which it comes."""
        place = self._place(after.value.end, join_keys(path, name))
        start = after.start
        while start and self._text[start - 1] in " \t\n\r":
            start -= 1
        space = self._text[start : after.start]
        colon = self._text[after.name_end : after.value.start]
        before = f",{space}{self._notation.write(name)}{colon}"
        return self._slot(text, place, after.value.end, after.value.end, before)

    def _slot(self, text: str, place: str, start: int, end: int, before: str) -> Slot:
        own = self._text[start:end] or None
        unit = message_unit(text, place, own, lambda said: f"{before}{self._notation.write(said)}")
        return Slot(start, end, unit)

    def _is_message(self, value: JsonValue, path: str) -> bool:
        return value.text is not None and self._selected.has(path) and has_words(value.text)

    def _place(self, at: int, path: str) -> str:
        return f"line {self._lines.line_of(at)}, key {path}" if path else f"line {self._lines.line_of(at)}"
