"""Checks of arguments by the annotations of public functions, so that a wrong one is named at once."""

import inspect
import reprlib
from collections.abc import Callable, Iterable, Sequence
from functools import cache, wraps
from types import UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

Checked = TypeVar("Checked", bound=Callable[..., Any])
_UNIONS = (Union, UnionType)
_SEQUENCES = (list, tuple, Sequence)
"""Types whose items are checked. A string is none of them, though it has items that are strings."""


def checks_arguments(target: Checked) -> Checked:
    """Make a function, or a class when called, raise TypeError that names an argument of a wrong type."""
    if inspect.isclass(target):
        target.__init__ = checks_arguments(target.__init__)  # type: ignore[method-assign]
        return target
    names = tuple(inspect.signature(target).parameters)

    @cache
    def hints() -> dict[str, Any]:
        return get_type_hints(target)  # it may name classes that are defined below it

    @wraps(target)
    def checked(*positional: Any, **named: Any) -> Any:
        expected = hints()
        for arguments in (zip(names, positional, strict=False), named.items()):
            for name, value in arguments:
                if name in expected and not _checker(expected[name])(value):
                    raise _error(name, value, expected[name])
        return target(*positional, **named)

    return cast("Checked", checked)


@cache
def _checker(hint: Any) -> Callable[[object], bool]:
    """Return a function that tells whether a value has the type of an annotation."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in _UNIONS:
        options = [_checker(part) for part in parts]
        return lambda value: any(option(value) for option in options)
    if origin in (*_SEQUENCES, Iterable):
        item = _checker(Any if origin is Iterable else parts[0])  # which may be read once only
        return lambda value: (
            isinstance(value, origin)
            and not isinstance(value, str)
            and (origin is Iterable or all(map(item, value)))
        )
    if origin is Literal:
        kinds: Any = tuple({type(part) for part in parts})
    elif hint is float:
        kinds = (float, int)
    else:
        kinds = origin or (hint if inspect.isclass(hint) and hint is not Any else object)
    return lambda value: isinstance(value, kinds)


def _error(name: str, value: object, hint: Any) -> TypeError:
    """Return the error for an argument, or for the first of its items that is at fault."""
    for part in get_args(hint) if get_origin(hint) in _UNIONS else (hint,):
        kind = get_origin(part)
        if kind in _SEQUENCES and isinstance(value, kind) and not isinstance(value, str):
            (item_hint, *_) = get_args(part)
            for position, item in enumerate(value):
                if not _checker(item_hint)(item):
                    return _error(f"{name}[{position}]", item, item_hint)
    expected = inspect.formatannotation(hint, "dragoman").replace("collections.abc.", "")
    found = "None" if value is None else f"{type(value).__name__} {reprlib.repr(value)}"
    return TypeError(f"{name}: {found} is not {expected}")
