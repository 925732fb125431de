"""Messages of browser extensions: `_locales/de/messages.json` of Chrome, Edge and Firefox.

Only the member `message` is text. Its `$NAME$`, `$1` and `$$` stay; any other `$` is doubled, which is how
browsers read a dollar sign. Specification: "Message formats" of Chrome's documentation of `chrome.i18n`.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence

from service.formats.inline_runs import TextRun, pair_halves, text_runs
from service.formats.json_values import JsonValue
from service.formats.messages import runs_unit, split_tags
from service.formats.parts import TextUnit
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


def extension_message_unit(message: JsonValue, place: str, own: str, spell: Callable[[str], str]) -> TextUnit:
    """Return the unit of a message.

    Args:
        message: the object with the member `message`.
        place: location of the message.
        own: the string as the file writes it.
        spell: returns that for another string.
    """
    value, placeholders = message.get(MESSAGE), message.get(_PLACEHOLDERS)
    text = "" if value is None or value.text is None else value.text
    members = () if placeholders is None else placeholders.members or ()
    names = {member.name.lower() for member in members}

    def write(items: Sequence[InlineItem]) -> str:
        return spell("".join(item.raw or _double_dollars(item.text, names) for item in items))

    return runs_unit(list(_runs(text, place)), own, write)


def _is_message(value: JsonValue) -> bool:
    text = value.get(MESSAGE)
    names = {member.name for member in value.members or ()}
    return text is not None and text.text is not None and names <= {MESSAGE, *_NOTES}


def _runs(text: str, place: str) -> Iterator[TextRun | InlineItem]:
    items = [part for item in split_tags(text) for part in _split_substitutions(item)]
    yield from text_runs(pair_halves(items), place, keeps_space=True)


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
