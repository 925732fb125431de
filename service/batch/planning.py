"""Planning of a batch job: determine the format and the languages of each file."""

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from dragoman.errors import InputError
from dragoman.routing.router import Router
from dragoman.types import Pair
from service.batch.errors import InputProblem, OutputProblem
from service.batch.files import JobFile, input_errors, read_entries
from service.formats.entries import FileFormatError, FileOptions
from service.formats.limits import FileLimits
from service.formats.registry import open_format, output_name, output_suffix, supported_suffixes
from service.translation.detection import MAX_LOOKED_AT
from service.translation.request import UNDETERMINED
from service.translation.source_language import DetectionMode, resolve_source

SHOWN = 5
"""Maximum number of names that a message lists."""


@dataclass(frozen=True, slots=True)
class FileMapping:
    """One file to translate."""

    name: str
    """Path below the output folder, or the file's own name: identifies the file for users."""
    source: Path
    target: Path


@dataclass(frozen=True, slots=True)
class FileMappings:
    """All files of a command."""

    mappings: tuple[FileMapping, ...]
    skipped: tuple[Path, ...]
    """Files in folders that have no known format. Hidden files are ignored and not listed."""


def map_files(inputs: Sequence[str], output: str, is_known: Callable[[str], bool]) -> FileMappings:
    """Find the files that a command names.

    Args:
        inputs: files, folders and patterns (`*`, `?`, `[...]`, `**` for folders of any depth), whose files
            are sorted by name.
        output: file to write if one file is named and there is no such folder; else a folder.
        is_known: returns whether files of a name can be read.

    Raises:
        InputProblem: inputs do not exist or have no known format; the error names each.
        OutputProblem: two files would be written to one name, or a file would overwrite an input.
    """
    out = Path(os.path.abspath(output))  # noqa: PTH100 -- unlike `resolve`, it keeps links
    is_file = len(inputs) == 1 and Path(inputs[0]).is_file() and not out.is_dir()
    if is_file and not output.endswith(("/", os.sep)):
        source = Path(inputs[0])
        _check_known([source], is_known)
        found = FileMappings((FileMapping(source.name, source, out),), ())
    else:
        found = _find_in_folders(inputs, out, is_known)
    _check_targets(found.mappings)
    return found


def _find_in_folders(inputs: Sequence[str], out: Path, is_known: Callable[[str], bool]) -> FileMappings:
    mappings, skipped = [], []
    problems: list[tuple[str, str]] = []
    for given in inputs:
        path = Path(given)
        if path.is_dir():
            base, files = path, [file for file in _walk(path) if not _is_below(file, out)]
            skipped += [file for file in files if not is_known(file.name)]
            files = [file for file in files if is_known(file.name)]
        else:
            base, files = _named(given)
            _check_known(files, is_known)
        if not files:
            problems.append((given, "not found, or contains no file in a supported format"))
        relative = [file.relative_to(base) for file in files]
        mappings += [
            FileMapping(name.as_posix(), file, out / name.with_name(output_name(name.name)))
            for file, name in zip(files, relative, strict=True)
        ]
    if problems:
        raise InputProblem(tuple(problems))
    return FileMappings(tuple(mappings), tuple(skipped))


def _walk(folder: Path) -> Iterator[Path]:
    """Yield regular files, sorted by name. Do not follow links to folders, which may form a cycle."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _walk(path)
        elif path.is_file():
            yield path


def _named(given: str) -> tuple[Path, list[Path]]:
    """Return the base folder of a name or a pattern, and the files that match it."""
    path = Path(given)
    if path.is_file():  # a name may look like a pattern
        return path.parent, [path]
    found = [Path(match) for match in glob.glob(given, recursive=True)]  # noqa: PTH207 -- absolute ones too
    return _before_pattern(path), sorted(file for file in found if file.is_file())


def _before_pattern(path: Path) -> Path:
    fixed: list[str] = []
    for part in path.parts[:-1]:
        if glob.has_magic(part):
            break
        fixed.append(part)
    return Path(*fixed)


def _is_below(file: Path, folder: Path) -> bool:
    return file.resolve().is_relative_to(folder.resolve())


def _check_known(files: Sequence[Path], is_known: Callable[[str], bool]) -> None:
    unknown = [str(file) for file in files if not is_known(file.name)]
    if unknown:
        problem = f"this file format is not supported; supported are {supported_suffixes()}"
        raise InputProblem(((", ".join(unknown[:SHOWN]), problem),))


def _check_targets(mappings: Sequence[FileMapping]) -> None:
    sources = {mapping.source.resolve() for mapping in mappings}
    targets: dict[Path, FileMapping] = {}
    for mapping in mappings:
        other = targets.setdefault(mapping.target, mapping)
        if other is not mapping:
            problem = f"{other.source} and {mapping.source} would both be written to it"
            raise OutputProblem(str(mapping.target), problem)
        if mapping.target.resolve() in sources:
            raise OutputProblem(str(mapping.target), "is an input; choose another output")
        if mapping.target.is_dir():
            raise OutputProblem(
                str(mapping.target), "is a folder, but the output must be a file; choose another output"
            )


MAX_DETECTION_ENTRIES = 200
"""Maximum number of entries, from the beginning of a file, that are used to detect its language."""


@dataclass(frozen=True, slots=True)
class LanguageOptions:
    """Options that apply to all files of a command."""

    source: str | None
    """Source language. None: the only possible one, or detected. `auto`: detected for each file, from its
    beginning."""
    target: str | None
    columns: tuple[str, ...] = ()
    join_lines: bool = False
    limits: FileLimits | None = None
    """Limits of file processing; None if files are trusted."""
    detection: str = "on"
    """The setting; `off` detects nothing."""

    def is_detected(self, router: Router) -> bool:
        """Return whether the language of each file is detected, as it is named `auto` or left open.

        Raises:
            UnsupportedPair: it is, and nothing translates into the target.
            InputError: it is named `auto`, and detection is off.
        """
        if not DetectionMode(self.detection).is_wanted(self.source):
            return False
        return self.source is not None or len(router.routes.sources_of(self.target)) > 1


def plan_files(
    mappings: Sequence[FileMapping], options: LanguageOptions, router: Router
) -> tuple[JobFile, ...]:
    """Determine the formats and the languages of all files.

    Raises:
        UnsupportedPair: no model translates between the languages.
        InputProblem: files have no known format or no detectable language; the error names each.
        OutputProblem: the name of an output file belongs to another format.
    """
    pair = None if options.is_detected(router) else router.route(options.source, options.target).pair
    files, problems = [], list[tuple[str, str]]()
    for file_mapping in mappings:
        try:
            files.append(_plan(file_mapping, pair or _detect(file_mapping, options, router), options))
        except InputProblem as error:
            problems += error.problems
    if problems:
        raise InputProblem(tuple(problems))
    return tuple(files)


def _plan(file_mapping: FileMapping, pair: Pair, options: LanguageOptions) -> JobFile:
    try:
        output = output_suffix(file_mapping.source.name, file_mapping.target.name)
    except FileFormatError as error:
        raise OutputProblem(str(file_mapping.target), error.problem) from error
    with input_errors(file_mapping.name):
        file_options = FileOptions(pair.source, pair.target, options.columns, output, options.join_lines)
        opened = open_format(file_mapping.source.name, file_options, options.limits)
    return JobFile(file_mapping.name, file_mapping.source, file_mapping.target, opened, pair)


def _detect(file_mapping: FileMapping, options: LanguageOptions, router: Router) -> Pair:
    """Return a file's languages; the same twice if the file is already in the target language."""
    undetermined = Pair(UNDETERMINED, options.target or UNDETERMINED)
    file = _plan(file_mapping, undetermined, options)
    try:
        found = resolve_source(read_beginning(file), options.target, None, router.routes)
    except InputError as error:
        if error.field != "text":
            raise
        raise InputProblem(((file_mapping.name, error.problem),)) from error
    return Pair(found.language or found.target, found.target)


def read_beginning(file: JobFile) -> str:
    """Return enough plain text from the beginning of a file to detect its language.

    Raises:
        InputProblem: the file cannot be read.
    """
    texts, num_characters = list[str](), 0
    for entry in islice(read_entries(file), MAX_DETECTION_ENTRIES):
        texts.append(entry.marked.words)
        num_characters += len(texts[-1])
        if num_characters >= MAX_LOOKED_AT:
            break
    return "\n".join(texts)
