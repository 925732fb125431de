"""Reader of .npz files that accepts only arrays of numbers."""

import math
import zipfile
from pathlib import Path
from typing import IO, Any

from numpy.lib import format as npy
from numpy.typing import NDArray

from export.marian.archive import UNREADABLE, ArchiveLimits, duplicate_problems, size_problems
from export.original import ImportRejectedError

SUFFIX = ".npy"
Array = NDArray[Any]
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def array_names(path: Path) -> frozenset[str]:
    """Return the names of the arrays in a file; none if it is not an .npz."""
    try:
        with zipfile.ZipFile(path) as members:
            return frozenset(name.removesuffix(SUFFIX) for name in members.namelist())
    except (*UNREADABLE, ValueError, OSError):
        return frozenset()


def read_arrays(path: Path, limits: ArchiveLimits | None = None) -> dict[str, Array]:
    """Return all arrays of an .npz by name.

    No code in it is run: arrays of Python objects, which NumPy stores as pickles, are rejected. Memory for an
    array is allocated only once its header agrees with the size of its data.

    Raises:
        ImportRejectedError: it is not a readable .npz, or its contents are rejected; with all reasons.
    """
    try:
        with zipfile.ZipFile(path) as members:
            return _read(path, members, limits or ArchiveLimits())
    except ImportRejectedError:
        raise
    except (*UNREADABLE, ValueError, OSError) as error:
        raise ImportRejectedError(str(path), (f"is not a readable .npz: {error}",)) from error


def _read(path: Path, members: zipfile.ZipFile, limits: ArchiveLimits) -> dict[str, Array]:
    infos = members.infolist()
    problems = size_problems(infos, path.stat().st_size, limits)
    problems += duplicate_problems([info.filename for info in infos])
    if problems:
        raise ImportRejectedError(str(path), tuple(problems))
    for info in infos:
        with members.open(info) as file:
            if (problem := _header_problem(file, info)) is not None:
                problems.append(f"{info.filename.removesuffix(SUFFIX)} {problem}")
    if problems:
        raise ImportRejectedError(str(path), tuple(problems))
    arrays: dict[str, Array] = {}
    for info in infos:
        with members.open(info) as file:
            arrays[info.filename.removesuffix(SUFFIX)] = npy.read_array(file, allow_pickle=False)
    return arrays


def _header_problem(file: IO[bytes], info: zipfile.ZipInfo) -> str | None:
    """Return why a member is not an array of numbers; None if it is one."""
    if not info.filename.endswith(SUFFIX):
        return "is not an array"
    try:
        version = npy.read_magic(file)
        if version not in _HEADERS:
            return f"is of an unknown format, version {version}"
        shape, _, dtype = _HEADERS[version](file)
    except ValueError as error:
        return f"is not an array: {error}"
    if dtype.hasobject:
        return "contains Python objects, which are not supported"
    declared_bytes, there_bytes = math.prod(shape) * dtype.itemsize, info.file_size - file.tell()
    if min(shape, default=0) < 0 or declared_bytes != there_bytes:
        return f"has {there_bytes} bytes of data, but shape {list(shape)} of {dtype} needs {declared_bytes}"
    return None
