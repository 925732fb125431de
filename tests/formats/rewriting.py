"""Files read and written by a format, in memory."""

import re
from collections.abc import Callable
from io import BytesIO
from random import Random

from service.formats.entries import Entry, FileFormat, FileOptions
from service.markup.marked_up import parse
from tests.markup.translations import any_translation

OPTIONS = FileOptions("de", "en")

_PARTS = re.compile(r"(<[^>]*>|&[^;]*;)")


def entries(file_format: FileFormat, content: bytes) -> list[Entry]:
    return list(file_format.read(BytesIO(content)))


def texts(file_format: FileFormat, content: bytes) -> list[str]:
    return [entry.text for entry in entries(file_format, content)]


def rewritten(file_format: FileFormat, content: bytes, says: Callable[[Entry], str]) -> bytes:
    target = BytesIO()
    said = iter([says(entry) for entry in entries(file_format, content)])
    file_format.write(BytesIO(content), said, target)
    return target.getvalue()


def own(entry: Entry) -> str:
    return entry.text


def shouted(entry: Entry) -> str:
    """In capitals, markup aside."""
    if entry.markup is None:
        return entry.text.upper()
    parts = _PARTS.split(entry.text)
    return "".join(part if i % 2 else part.upper() for i, part in enumerate(parts))


def anything(random: Random) -> Callable[[Entry], str]:
    """What a translator could say: the markup is kept, any text may be in it."""

    def say(entry: Entry) -> str:
        if entry.markup is None:
            return any_translation(random, entry.text).text
        marked_up = parse(entry.text, entry.markup)
        return marked_up.rejoin([any_translation(random, text) for text in marked_up.blocks])

    return say
