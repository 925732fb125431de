"""Lookup of file formats by the suffix of the file name.

Each isolated reader is a new process that begins with this module, so it loads only what its file needs.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from threading import Event
from typing import cast

from service.formats.entries import FileFormat, FileFormatError, FileOptions
from service.formats.limits import FileLimits

COMPRESSIONS = (".gz", ".zst")
_MAX_SHOWN_NAME = 80


@dataclass(frozen=True, slots=True)
class _FormatEntry:
    module: str
    """Loaded with the first file of its kind: dependencies may take long to load or not be installed."""
    name: str
    is_streamed: bool = False
    """Whether the format reads sequentially and never seeks."""
    package: str | None = None
    """Optional package that the format needs."""
    depends_on_languages: bool = False
    """Whether the languages determine which entries a file has."""
    outputs: tuple[str, ...] = ()
    """Suffixes of the files that it is written as, the default first; empty if it is written as itself."""
    alias: str = ""
    """Its suffix, if it is one of `ALIASES`."""


_FormatType = Callable[[FileOptions], FileFormat]


_FORMATS: dict[str, _FormatEntry] = {
    suffix: entry
    for suffixes, entry in (
        (".txt", _FormatEntry("plain_text", "PlainTextFormat", is_streamed=True)),
        (".jsonl .ndjson", _FormatEntry("json_lines", "JsonLinesFormat", is_streamed=True)),
        (".csv", _FormatEntry("delimited", "CommaFormat", is_streamed=True)),
        (".tsv", _FormatEntry("delimited", "TabFormat", is_streamed=True)),
        (".parquet", _FormatEntry("parquet", "ParquetFormat", package="pyarrow")),
        (".json", _FormatEntry("json_strings", "JsonFormat", depends_on_languages=True)),
        (".arb", _FormatEntry("json_strings", "ArbFormat", depends_on_languages=True)),
        (".xml", _FormatEntry("android_xml", "AndroidXmlFormat", depends_on_languages=True)),
        (".properties", _FormatEntry("java_properties", "PropertiesFormat")),
        (".yaml .yml", _FormatEntry("yaml_strings", "YamlFormat", depends_on_languages=True)),
        (".strings", _FormatEntry("apple_strings", "AppleStringsFormat")),
        (".stringsdict", _FormatEntry("stringsdict", "StringsdictFormat", depends_on_languages=True)),
        (".xcstrings", _FormatEntry("xcstrings", "XcstringsFormat", depends_on_languages=True)),
        (".ts", _FormatEntry("qt_ts", "QtTsFormat")),
        (".resx .resw", _FormatEntry("resx", "ResxFormat")),
        (".srt", _FormatEntry("subtitles", "SrtFormat", is_streamed=True)),
        (".vtt", _FormatEntry("subtitles", "VttFormat", is_streamed=True)),
        (".ass .ssa", _FormatEntry("subtitles", "AssFormat", is_streamed=True)),
        (".po .pot", _FormatEntry("po", "PoFormat")),
        (".xliff .xlf", _FormatEntry("bilingual_xml", "XliffFormat")),
        (".tmx", _FormatEntry("bilingual_xml", "TmxFormat", depends_on_languages=True)),
        (".html .htm", _FormatEntry("html", "HtmlFormat")),
        (".md .markdown", _FormatEntry("markdown", "MarkdownFormat")),
        (".pdf", _FormatEntry("pdf", "pdf_format", package="pypdfium2", outputs=(".docx", ".txt"))),
        (".docx", _FormatEntry("docx", "DocxFormat")),
        (".pptx", _FormatEntry("pptx", "PptxFormat")),
        (".xlsx", _FormatEntry("xlsx", "XlsxFormat")),
        (".odt", _FormatEntry("opendocument", "OdtFormat")),
        (".odp", _FormatEntry("opendocument", "OdpFormat")),
        (".ods", _FormatEntry("opendocument", "OdsFormat")),
        (".xhtml", _FormatEntry("epub", "XhtmlFormat")),
        (".epub", _FormatEntry("epub", "EpubFormat")),
    )
    for suffix in suffixes.split()
}
ALIASES: Mapping[str, str] = {
    alias: suffix
    for suffix, aliases in (
        (".html", ".erb .ejs .hbs .twig .liquid .vue"),
        (".md", ".mdx"),
        (".docx", ".docm .dotx"),
        (".pptx", ".pptm .ppsx .potx"),
        (".xlsx", ".xlsm .xltx"),
        (".odt", ".ott"),
        (".odp", ".otp"),
        (".ods", ".ots"),
    )
    for alias in aliases.split()
}
"""Suffixes of files that are read and written as others; neither may have the name of the other."""
_FORMATS |= {alias: replace(_FORMATS[suffix], alias=alias) for alias, suffix in ALIASES.items()}
_EXTRAS = {"pyarrow": "parquet", "pypdfium2": "pdf"}
"""Extras of this project, by the package that they install."""

SUFFIXES = tuple(_FORMATS)
"""Lower-case suffixes of files that can be translated; each may be followed by one of `COMPRESSIONS`."""


def is_known(name: str) -> bool:
    """Return whether a file name, in any case, has the suffix of a known format."""
    return _suffix_of(_plain_name(name)) is not None


def installed_suffixes() -> list[str]:
    """Return those of `SUFFIXES` whose required packages are installed."""
    return [
        suffix
        for suffix, kind in _FORMATS.items()
        if kind.package is None or find_spec(kind.package) is not None
    ]


def supported_suffixes() -> str:
    """Return all of them, for messages."""
    return f"{', '.join(installed_suffixes())}, also followed by {' or '.join(COMPRESSIONS)}"


def depends_on_languages(name: str) -> bool:
    """Return whether the entries of a file depend on the languages.

    Raises:
        FileFormatError: the suffix is unknown.
    """
    return _FORMATS[_split_suffixes(name)[0]].depends_on_languages


def output_name(name: str, output: str = "") -> str:
    """Return the name of a translated file: the file's own, with another suffix if it is written as another.

    Args:
        name: name of the file; one without a known suffix stays as it is.
        output: suffix of the output; empty for the format's default.
    """
    plain_name = _plain_name(name)
    suffix = _suffix_of(plain_name)
    if suffix is None or not _FORMATS[suffix].outputs:
        return name
    compression = name[len(plain_name) :]
    return f"{name[: len(plain_name) - len(suffix)]}{output or _FORMATS[suffix].outputs[0]}{compression}"


def output_suffix(name: str, target_name: str) -> str:
    """Return the suffix that the name of an output file chooses; empty for the format's default.

    Raises:
        FileFormatError: a file is not written in the format of that name, or its suffix is unknown.
    """
    own_suffix, compression = _split_suffixes(name)
    kind = _FORMATS[own_suffix]
    if not is_known(target_name):
        return ""
    suffix, target_compression = _split_suffixes(target_name)
    is_output = suffix in kind.outputs if kind.outputs else _FORMATS[suffix] == kind
    if not is_output or compression != target_compression:
        if not kind.outputs:
            raise FileFormatError(f"the output must have the format of {name}; use the same suffix")
        outputs = " or ".join(f"{each}{compression}" for each in kind.outputs)
        raise FileFormatError(f"{name} can only be written as {outputs}; use such a suffix")
    return suffix if kind.outputs else ""


def requested_output(name: str, requested: str) -> str:
    """Return the suffix of the output for a format that a client names; empty for the format's default.

    Args:
        name: name of the file.
        requested: suffix without its dot, or an empty string.

    Raises:
        FileFormatError: a file is not written in that format, or a suffix is unknown.
    """
    if not requested:
        return ""
    _, compression = _split_suffixes(name)
    target_name = f".{requested}".removesuffix(compression) + compression
    _split_suffixes(target_name)
    return output_suffix(name, target_name)


def open_format(
    name: str, options: FileOptions, limits: FileLimits | None = None, stop: Event | None = None
) -> FileFormat:
    """Return the format that reads and writes a file, by its name in any case.

    Args:
        name: name of the file.
        options: options for reading and writing it.
        limits: limits of the separate process for untrusted files; None to use the calling process.
        stop: set by another thread to end what the separate process does.

    Raises:
        FileFormatError: the suffix is unknown, or a required package is not installed.
    """
    suffix, compression = _split_suffixes(name)
    kind = _FORMATS[suffix]
    found = _format_type(kind, suffix)(options)
    if compression:
        from service.formats.compression import CompressedFormat  # noqa: PLC0415 -- see above

        found = CompressedFormat(found, compression, kind.is_streamed, options.max_bytes)
    if limits is None:
        return found
    from service.formats.isolation import IsolatedFormat  # noqa: PLC0415 -- see above

    return IsolatedFormat(found, f"file{suffix}{compression}", options, limits, stop or Event())


def _split_suffixes(name: str) -> tuple[str, str]:
    """Return one of `SUFFIXES`, and one of `COMPRESSIONS` or an empty string; raises FileFormatError."""
    plain_name = _plain_name(name)
    suffix = _suffix_of(plain_name)
    if suffix is None:
        shown = name if len(name) <= _MAX_SHOWN_NAME else f"...{name[-_MAX_SHOWN_NAME:]}"
        raise FileFormatError(f"{shown!a} has no supported suffix; supported are {supported_suffixes()}")
    return suffix, name.lower().removeprefix(plain_name)


def _plain_name(name: str) -> str:
    name = name.lower()
    compression = next((end for end in COMPRESSIONS if name.endswith(end)), "")
    return name.removesuffix(compression)


def _suffix_of(plain_name: str) -> str | None:
    return next((suffix for suffix in SUFFIXES if plain_name.endswith(suffix)), None)


def _format_type(kind: _FormatEntry, suffix: str) -> _FormatType:
    try:
        module = import_module(f"service.formats.{kind.module}")
    except ModuleNotFoundError as error:
        extra = _EXTRAS.get((error.name or "").split(".")[0])
        if extra is None:
            raise
        raise FileFormatError(
            f"{suffix} files are not read here: the operator has to install dragoman[{extra}]"
        ) from error
    return cast("_FormatType", getattr(module, kind.name))
