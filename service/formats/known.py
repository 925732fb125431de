"""Lookup of file formats by the suffix of the file name."""

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
    """Loaded with the first file of its kind: dependencies may take long to load or not be installed."""
    name: str
    is_streamed: bool = False
    """Whether the format reads sequentially and never seeks."""
    package: str | None = None
    """Optional package that the format needs."""
    depends_on_languages: bool = False
    """Whether the languages determine which entries a file has."""


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
"""Extras of this project, by the package that they install."""

SUFFIXES = tuple(_KINDS)
"""Lower-case suffixes of files that can be translated; each may be followed by one of `COMPRESSIONS`."""


def is_known(name: str) -> bool:
    """Return whether a file name, in any case, has the suffix of a known format."""
    return _suffix_of(_plain_name(name)) is not None


def installed_suffixes() -> list[str]:
    """Return those of `SUFFIXES` whose required packages are installed."""
    return [
        suffix
        for suffix, kind in _KINDS.items()
        if kind.package is None or find_spec(kind.package) is not None
    ]


def depends_on_languages(name: str) -> bool:
    """Return whether the entries of a file depend on the languages.

    Raises:
        FileProblem: the suffix is unknown.
    """
    return _whole_kind(name)[0].depends_on_languages


def are_alike(name: str, other: str) -> bool:
    """Return whether two file names have the same format and compression.

    Raises:
        FileProblem: a suffix is unknown.
    """
    return _whole_kind(name) == _whole_kind(other)


def open_format(name: str, options: FileOptions, limits: FileLimits | None = None) -> FileFormat:
    """Return the format that reads and writes a file, by its name in any case.

    Args:
        name: name of the file.
        options: options for reading and writing it.
        limits: limits of the separate process for untrusted files; None to use the calling process.

    Raises:
        FileProblem: the suffix is unknown, or a required package is not installed.
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
    """Return one of `SUFFIXES`, and one of `COMPRESSIONS` or an empty string; raises FileProblem."""
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
