"""The tree of errors at the top of service/errors.py."""

import importlib
import pkgutil
from collections.abc import Iterator

import service
from service import errors
from service.errors import ServiceError

Row = tuple[str, str, str]
"""Name, name of the base class, and kind."""


def subclasses(base: type[ServiceError]) -> Iterator[type[ServiceError]]:
    for found in base.__subclasses__():
        yield found
        yield from subclasses(found)


def public_base(error: type[ServiceError]) -> type:
    return next(base for base in error.__bases__ if not base.__name__.startswith("_"))


def rows_of_code() -> set[Row]:
    for module in pkgutil.walk_packages(service.__path__, "service."):
        if "migrations" not in module.name and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    found = [each for each in subclasses(ServiceError) if each.__module__.startswith("service.")]
    public = [each for each in found if not each.__name__.startswith("_")]
    bases = [next(base for base in each.__bases__ if not base.__name__.startswith("_")) for each in public]
    return {
        (each.__name__, base.__name__, each.kind or "-") for each, base in zip(public, bases, strict=True)
    }


def rows_of_docstring() -> set[Row]:
    rows: set[Row] = set()
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        depth = (len(line) - len(line.lstrip())) // 4
        if depth:
            name, kind = line.split()
            above[depth - 1 :] = [name]
            if depth > 1:
                rows.add((name, above[depth - 2], kind))
    return rows


def test_the_docstring_has_each_error_below_its_base_with_its_kind() -> None:
    assert rows_of_docstring() == rows_of_code()
