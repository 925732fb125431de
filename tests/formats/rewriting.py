"""Files read and written by a format, in memory."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedReader, BytesIO
from pathlib import Path
from random import Random
from zipfile import ZipFile

from lxml import etree

from service.formats.entries import Entry, FileFormat, FileOptions, TargetText
from service.text.marked_text import MarkedText
from service.text.outcome import TextOrigin
from tests.text.markup.marked import any_translation, noted, outcome, unnoted

OPTIONS = FileOptions("de", "en")
BILINGUAL = frozenset([".po", ".pot", ".xliff", ".xlf", ".tmx", ".ts", ".xcstrings"])
"""Suffixes of files that keep their texts beside the translations; writing fills in what is missing."""
_PARTS = re.compile(r"(<[^>]*>)")


def entries(file_format: FileFormat, content: bytes) -> list[Entry]:
    return list(file_format.read(BytesIO(content)))


def texts(file_format: FileFormat, content: bytes) -> list[str]:
    """Each text, with its marks and objects as numbered tags."""
    return [noted(entry.marked) for entry in entries(file_format, content)]


def places(file_format: FileFormat, content: bytes) -> list[tuple[str, str]]:
    """Each text with its place."""
    return [(noted(entry.marked), entry.location) for entry in entries(file_format, content)]


def target_text(
    marked: MarkedText, origin: TextOrigin | None = None, confidence: float | None = None
) -> TargetText:
    """A text for an entry; without an origin, without review marks."""
    return TargetText(marked, origin, confidence)


def written(file_format: FileFormat, content: bytes, *translations: str | TargetText) -> bytes:
    """The file with translations, whose numbered tags are those of their texts."""
    target = BytesIO()
    texts = [
        translation
        if isinstance(translation, TargetText)
        else target_text(unnoted(translation, entry.marked))
        for translation, entry in zip(translations, entries(file_format, content), strict=False)
    ]
    texts += (
        translation if isinstance(translation, TargetText) else target_text(MarkedText(translation))
        for translation in translations[len(texts) :]
    )
    file_format.write(BytesIO(content), iter(texts), target)
    return target.getvalue()


def rewritten(file_format: FileFormat, content: bytes, says: Callable[[Entry], str | TargetText]) -> bytes:
    return written(file_format, content, *[says(entry) for entry in entries(file_format, content)])


@contextmanager
def saved(folder: Path, content: bytes) -> Iterator[BufferedReader]:
    """A file on the disk, open."""
    path = folder / "file"
    path.write_bytes(content)
    with path.open("rb") as source:
        yield source


def unpack(content: bytes) -> dict[str, bytes]:
    with ZipFile(BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def others(xml: bytes) -> list[str]:
    """Elements that are neither text nor its format, with their attributes; comments too."""
    root = etree.fromstring(xml)
    etree.strip_elements(root, "{*}rPr", with_tail=False)  # text that is empty now has none
    found = []
    for node in root.iter():
        attributes = sorted(item for item in node.attrib.items() if not str(item[0]).endswith("string-value"))
        if str(node.tag).rpartition("}")[2] not in {"r", "t", "s"}:  # formats write these as they need them
            found.append(f"{node.tag} {attributes}")
    return sorted(found)


def own(entry: Entry) -> TargetText:
    return target_text(entry.marked)


def shouted(entry: Entry) -> TargetText:
    """In capitals, marks and objects aside."""
    if entry.marked.is_plain:
        return target_text(MarkedText(entry.text.upper()))
    parts = _PARTS.split(noted(entry.marked))
    shout = "".join(part if i % 2 else part.upper() for i, part in enumerate(parts))
    return target_text(unnoted(shout, entry.marked))


def anything(random: Random) -> Callable[[Entry], TargetText]:
    """What a translator could say: the markup is kept, any text may be in it."""

    def say(entry: Entry) -> TargetText:
        return target_text(outcome(entry.marked, lambda text: any_translation(random, text)).marked)

    return say
