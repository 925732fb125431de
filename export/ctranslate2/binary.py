"""Index of a CTranslate2 `model.bin`: names, types, shapes and offsets of its variables.

All numbers are little-endian. A text has its length with a final zero byte in 2 bytes. After the version come
the name and the revision of the layout, the variables (name, number of axes, their sizes in 4 bytes each,
type, size in bytes, content), and the aliases: pairs of a new name and the name of a variable.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from export.tensors.bounded_reader import BoundedReader
from export.tensors.tensor import NUMPY_TYPES, StoredTensor, TensorFileError

MODEL_FILE = "model.bin"
VERSIONS = range(2, 7)
"""Versions of the file that are read. Version 1 has no name of its layout."""
FIRST_WITH_ALIASES, FIRST_WITH_TYPES = 3, 4
TYPES = ("float32", "int8", "int16", "int32", "float16", "bfloat16")
"""Types of elements by number."""
TYPE_OF_SIZE: Mapping[int, str] = {1: "int8", 2: "int16", 4: "float32"}
"""Types of elements by their size, in files without numbers of types."""
MAX_VARIABLES = 2**17
"""Maximum number of variables and of aliases; a layer has about 40."""
MAX_NAME_BYTES = 512
MAX_AXES = 4
MAX_ATTRIBUTE_BYTES = 4096
"""Maximum size of a variable that is read as a text."""
SCALE_SUFFIX = "_scale"
"""Suffix of the variable with the scales of a quantised one."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """Variables of a file, by name; aliases are other names of the same variable."""

    path: Path
    version: int
    layout: str
    """Name of the model's class, such as `TransformerSpec`."""
    revision: int
    """Revision of the layout."""
    variables: Mapping[str, StoredTensor]

    def number(self, name: str) -> float:
        """Return a variable with a single number.

        Raises:
            TensorFileError: it has several, or one that is not finite.
        """
        variable = self.variables[name]
        if variable.num_elements != 1:
            raise TensorFileError(f"{name} has shape {list(variable.shape)}, not one number")
        number = float((variable.read() if variable.is_float else _read_elements(variable)).reshape(-1)[0])
        if not math.isfinite(number):
            raise TensorFileError(f"{name} is {number}, not a number")
        return number

    def text(self, name: str) -> str:
        """Return a variable with a text, which is stored as bytes.

        Raises:
            TensorFileError: it has other elements, is not UTF-8, or is too long.
        """
        variable = self.variables[name]
        if variable.dtype != "int8" or variable.size_bytes > MAX_ATTRIBUTE_BYTES:
            raise TensorFileError(f"{name} is not a text of at most {MAX_ATTRIBUTE_BYTES} bytes")
        try:
            return _read_elements(variable).tobytes().decode()
        except UnicodeDecodeError as error:
            raise TensorFileError(f"{name} is not UTF-8: {error}") from error


def _read_elements(variable: StoredTensor) -> np.ndarray:
    with variable.path.open("rb") as file:
        file.seek(variable.offset_bytes)
        return np.frombuffer(file.read(variable.size_bytes), NUMPY_TYPES[variable.dtype])


def read_model_file(path: Path) -> ModelFile:
    """Read the index of a file. Contents of variables are not read; every size is checked first.

    Raises:
        TensorFileError: the file is damaged, or of a version that is not supported.
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        reader = _Reader(file, MODEL_FILE)
        version = reader.number("I", "the version")
        if version not in VERSIONS:
            raise TensorFileError(
                f"{MODEL_FILE}: version {version} is not supported, only {VERSIONS[0]} to {VERSIONS[-1]}"
            )
        layout, revision = reader.text("the layout's name"), reader.number("I", "the layout's revision")
        variables: dict[str, StoredTensor] = {}
        for index in range(reader.count("variables")):
            name = reader.text(f"the name of variable {index}")
            if name in variables:
                raise TensorFileError(f"{MODEL_FILE}: variable {name!r} occurs twice")
            variables[name] = _read_variable(reader, path, name, has_types=version >= FIRST_WITH_TYPES)
        if version >= FIRST_WITH_ALIASES:
            _read_aliases(reader, variables)
        reader.check_end("the last alias")
    return ModelFile(path, version, layout, revision, variables)


def _read_variable(reader: "_Reader", path: Path, name: str, *, has_types: bool) -> StoredTensor:
    num_axes = reader.number("B", f"the number of axes of {name}")
    if num_axes > MAX_AXES:
        raise TensorFileError(f"{MODEL_FILE}: {name} has {num_axes} axes; the limit is {MAX_AXES}")
    shape = tuple(reader.number("I", f"the shape of {name}") for _ in range(num_axes))
    number = reader.number("B", f"the type of {name}")
    if has_types:
        dtype = TYPES[number] if number < len(TYPES) else None
        size_bytes = reader.number("I", f"the size of {name}")
    else:
        dtype = TYPE_OF_SIZE.get(number)
        size_bytes = number * reader.number("I", f"the size of {name}")
    if dtype is None:
        raise TensorFileError(f"{MODEL_FILE}: {name} has elements of unknown type {number}")
    expected_bytes = math.prod(shape) * np.dtype(NUMPY_TYPES[dtype]).itemsize
    if size_bytes != expected_bytes:
        raise TensorFileError(
            f"{MODEL_FILE}: {name} declares {size_bytes} bytes, "
            f"but {dtype} {list(shape)} has {expected_bytes}"
        )
    return StoredTensor(path, dtype, reader.skip(size_bytes, f"the content of {name}"), size_bytes, shape)


def _read_aliases(reader: "_Reader", variables: dict[str, StoredTensor]) -> None:
    for index in range(reader.count("aliases")):
        alias, name = reader.text(f"the name of alias {index}"), reader.text(f"the variable of alias {index}")
        if alias in variables:
            raise TensorFileError(f"{MODEL_FILE}: alias {alias!r} is the name of a variable, too")
        if name not in variables:
            raise TensorFileError(f"{MODEL_FILE}: alias {alias!r} names {name!r}, which is missing")
        variables[alias] = variables[name]
        if name + SCALE_SUFFIX in variables:
            variables.setdefault(alias + SCALE_SUFFIX, variables[name + SCALE_SUFFIX])


class _Reader(BoundedReader):
    """Reads the parts of an index."""

    def number(self, kind: str, what: str) -> int:
        """Return a whole number; `kind` is the letter of its format in `struct`."""
        return self.numbers(kind, 1, what)[0]

    def text(self, what: str) -> str:
        size_bytes = self.number("H", what)
        if size_bytes > MAX_NAME_BYTES:
            raise TensorFileError(
                f"{self.file_name}: {what} has {size_bytes} bytes; the limit is {MAX_NAME_BYTES}"
            )
        try:
            text = self.take(size_bytes, what).removesuffix(b"\0").decode()
        except UnicodeDecodeError as error:
            raise TensorFileError(f"{self.file_name}: {what} is not UTF-8: {error}") from error
        if not text.isprintable():
            raise TensorFileError(f"{self.file_name}: {what}, {text!r}, has control characters")
        return text

    def count(self, what: str) -> int:
        found = self.number("I", f"the number of {what}")
        if found > MAX_VARIABLES:
            raise TensorFileError(f"{self.file_name}: has {found} {what}; the limit is {MAX_VARIABLES}")
        return found
