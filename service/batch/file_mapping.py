"""Which files are read and where each is written: a file to a file, folders to a folder with their tree."""

import glob
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from service.batch.errors import InputProblem, OutputProblem

SHOWN = 5
"""Names that a message lists."""


@dataclass(frozen=True, slots=True)
class FileMapping:
    """One file to translate."""

    name: str
    """Below the output, or the file's own: what people know it by."""
    source: Path
    target: Path


@dataclass(frozen=True, slots=True)
class FileMappings:
    """All files of a command."""

    mappings: tuple[FileMapping, ...]
    skipped: tuple[Path, ...]
    """In folders, of kinds that nobody reads. Hidden files are not looked at."""


def find_places(inputs: Sequence[str], output: str, is_known: Callable[[str], bool]) -> FileMappings:
    """Look up what a command names.

    Args:
        inputs: files, folders and patterns (`*`, `?`, `[...]`, `**` for folders of any depth), whose files
            are taken in the order of their names.
        output: the file to write where one file is named and there is no such folder, else a folder.
        is_known: whether files of a name can be read.

    Raises:
        InputProblem: naming each input that is not there or of no known kind.
        OutputProblem: two files would have one name, or a file would be written over an input.
    """
    out = Path(os.path.abspath(output))  # noqa: PTH100 -- unlike `resolve`, links stay what they are called
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
            problems.append((given, "there is no such file, and nothing of a known kind there"))
        relative = [file.relative_to(base) for file in files]
        mappings += [
            FileMapping(name.as_posix(), file, out / name) for file, name in zip(files, relative, strict=True)
        ]
    if problems:
        raise InputProblem(tuple(problems))
    return FileMappings(tuple(mappings), tuple(skipped))


def _walk(folder: Path) -> Iterator[Path]:
    """Regular files, by name. Links to folders are not followed, as they may lead round in a circle."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _walk(path)
        elif path.is_file():
            yield path


def _named(given: str) -> tuple[Path, list[Path]]:
    """Files that a name or a pattern means, and the folder that their tree begins at."""
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
        (str(file), "files of this kind are not known") for file in files if not is_known(file.name)
    )
    if unknown:
        raise InputProblem(unknown)


def _check_targets(mappings: Sequence[FileMapping]) -> None:
    sources = {place.source.resolve() for place in mappings}
    targets: dict[Path, FileMapping] = {}
    for place in mappings:
        other = targets.setdefault(place.target, place)
        if other is not place:
            problem = f"{other.source} and {place.source} would both be written to it"
            raise OutputProblem(str(place.target), problem)
        if place.target.resolve() in sources:
            raise OutputProblem(str(place.target), "is an input; choose another output")
        if place.target.is_dir():
            raise OutputProblem(str(place.target), "is a folder, and a file would have to be written there")
