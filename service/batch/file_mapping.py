"""Mapping of input files to output files: one file to a file, folders to a folder with the same tree."""

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from service.batch.errors import InputProblem, OutputProblem

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
            FileMapping(name.as_posix(), file, out / name) for file, name in zip(files, relative, strict=True)
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
    unknown = tuple(
        (str(file), "this file format is not supported") for file in files if not is_known(file.name)
    )
    if unknown:
        raise InputProblem(unknown)


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
