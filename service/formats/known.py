"""Kinds of files by the ends of their names."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Protocol, cast

from service.formats.compression import COMPRESSIONS, CompressedFormat
from service.formats.entries import FileFormat, FileOptions
from service.formats.errors import FileProblem
from service.formats.isolation import IsolatedFormat
from service.formats.limits import FileLimits

__all__ = ["COMPRESSIONS", "SUFFIXES", "are_alike", "installed_suffixes", "is_known", "open_format"]

_MAX_SHOWN_NAME = 80


@dataclass(frozen=True, slots=True)
class _Kind:
    module: str
    """Loaded when a file of its kind comes: what some need takes long to load, or is not installed."""
    name: str
    is_streamed: bool = False
    """Whether it reads from the beginning to the end and seeks nothing."""
    package: str | None = None
    """What it needs that is not always installed."""
    depends_on_languages: bool = False
    """Whether the languages decide which entries a file has."""


class _FormatType(Protocol):
    def __call__(self, options: FileOptions) -> FileFormat: ...


_KINDS: Mapping[str, _Kind] = {
    ".txt": _Kind("plain_text", "PlainTextFormat", is_streamed=True),
    ".jsonl": _Kind("json_lines", "JsonLinesFormat", is_streamed=True),
    ".ndjson": _Kind("json_lines", "JsonLinesFormat", is_streamed=True),
    ".csv": _Kind("delimited", "CommaFormat", is_streamed=True),
    ".tsv": _Kind("delimited", "TabFormat", is_streamed=True),
    ".parquet": _Kind("parquet", "ParquetFormat", package="pyarrow"),
    ".srt": _Kind("subtitles", "SrtFormat", is_streamed=True),
    ".vtt": _Kind("subtitles", "VttFormat", is_streamed=True),
    ".po": _Kind("po", "PoFormat"),
    ".pot": _Kind("po", "PoFormat"),
    ".xliff": _Kind("xliff", "XliffFormat"),
    ".xlf": _Kind("xliff", "XliffFormat"),
    ".tmx": _Kind("tmx", "TmxFormat", depends_on_languages=True),
    ".html": _Kind("html", "HtmlFormat"),
    ".htm": _Kind("html", "HtmlFormat"),
    ".md": _Kind("markdown", "MarkdownFormat"),
    ".markdown": _Kind("markdown", "MarkdownFormat"),
    ".docx": _Kind("docx", "DocxFormat"),
    ".odt": _Kind("odt", "OdtFormat"),
    ".epub": _Kind("epub", "EpubFormat"),
}
_EXTRAS = {"pyarrow": "parquet"}
"""Extras of this project by the packages that come with them."""

SUFFIXES = tuple(_KINDS)
"""Of files that can be translated, in lower case; each may be followed by one of `COMPRESSIONS`."""


def is_known(name: str) -> bool:
    """Whether a file's name tells of a kind that can be translated, in whatever case."""
    return _suffix_of(_plain_name(name)) is not None


def installed_suffixes() -> list[str]:
    """Those of `SUFFIXES` that can be translated here, as all is installed that they need."""
    return [
        suffix
        for suffix, kind in _KINDS.items()
        if kind.package is None or find_spec(kind.package) is not None
    ]


def depends_on_languages(name: str) -> bool:
    """Return whether a file has other entries with other languages.

    Raises:
        FileProblem: the name tells no known kind.
    """
    return _whole_kind(name)[0].depends_on_languages


def are_alike(name: str, other: str) -> bool:
    """Whether files of two names are of one kind, and compressed alike.

    Raises:
        FileProblem: a name tells no known kind.
    """
    return _whole_kind(name) == _whole_kind(other)


def open_format(name: str, options: FileOptions, limits: FileLimits | None = None) -> FileFormat:
    """What reads and writes a file, by its name in whatever case.

    Args:
        name: of the file.
        options: what it is read and written with.
        limits: of the process in which files of others are read and written; None to do so in this one.

    Raises:
        FileProblem: the name tells no known kind, or what reads it is not installed.
    """
    suffix, compression = _known_ends(name)
    kind = _KINDS[suffix]
    plain = _format_type(kind, suffix)(options)
    found = CompressedFormat(plain, compression, kind.is_streamed) if compression else plain
    return found if limits is None else IsolatedFormat(found, f"file{suffix}{compression}", options, limits)


def _whole_kind(name: str) -> tuple[_Kind, str]:
    suffix, compression = _known_ends(name)
    return _KINDS[suffix], compression


def _known_ends(name: str) -> tuple[str, str]:
    """One of `SUFFIXES`, and one of `COMPRESSIONS` or nothing; raises FileProblem."""
    plain_name = _plain_name(name)
    suffix = _suffix_of(plain_name)
    if suffix is None:
        shown = name if len(name) <= _MAX_SHOWN_NAME else f"...{name[-_MAX_SHOWN_NAME:]}"
        raise FileProblem(
            f"{shown!a} ends in nothing that can be translated; known are {', '.join(SUFFIXES)}, also "
            f"with {' or '.join(COMPRESSIONS)} after them"
        )
    return suffix, name.lower().removeprefix(plain_name)


def _plain_name(name: str) -> str:
    name = name.lower()
    compression = next((end for end in COMPRESSIONS if name.endswith(end)), "")
    return name.removesuffix(compression)


def _suffix_of(plain_name: str) -> str | None:
    return next((suffix for suffix in SUFFIXES if plain_name.endswith(suffix)), None)


def _format_type(kind: _Kind, suffix: str) -> _FormatType:
    try:
        module = import_module(f"service.formats.{kind.module}")
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").split(".")[0])
        if extra is None:
            raise
        raise FileProblem(
            f"{suffix} files need {error.name}, which is not installed: pip install 'dragoman[{extra}]'"
        ) from error
    return cast("_FormatType", getattr(module, kind.name))
