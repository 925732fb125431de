"""Checks of arguments by the annotations of public functions, so that a wrong one is named at once."""

import inspect
import reprlib
from collections.abc import Callable, Iterable, Sequence
from functools import cache, wraps
from itertools import chain
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

    @cache
    def checks() -> dict[str, Callable[[object], bool]]:
        return {name: _check_of(hint) for name, hint in hints().items()}

    @wraps(target)
    def checked(*positional: Any, **named: Any) -> Any:
        check_of_name = checks()
        for arguments in (zip(names, positional, strict=False), named.items()):
            for name, value in arguments:
                if name in check_of_name and not check_of_name[name](value):
                    raise _error(name, value, hints()[name])
        return target(*positional, **named)

    return cast("Checked", checked)


def _check_of(hint: Any) -> Callable[[object], bool]:
    """Return a function that tells whether a value has the type of an annotation."""
    origin, parts = get_origin(hint), get_args(hint)
    if (kinds := _classes_of(hint)) is not None:
        return lambda value: isinstance(value, kinds)
    if origin in _UNIONS:
        options = [_check_of(part) for part in parts]
        return lambda value: any(option(value) for option in options)
    item = _check_of(Any if origin is Iterable else parts[0])  # an iterable may be read once only
    return lambda value: (
        isinstance(value, origin)
        and not isinstance(value, str)
        and (origin is Iterable or all(map(item, value)))
    )


def _classes_of(hint: Any) -> tuple[type, ...] | None:
    """Return the classes whose instances an annotation allows; None if their items count, too."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in _UNIONS:
        found = [_classes_of(part) for part in parts]
        return None if None in found else tuple(chain.from_iterable(filter(None, found)))
    if origin in (*_SEQUENCES, Iterable):
        return None
    if origin is Literal:
        return tuple({type(part) for part in parts})
    if hint is float:
        return float, int
    return (origin or (hint if inspect.isclass(hint) and hint is not Any else object),)


def _error(name: str, value: object, hint: Any) -> TypeError:
    """Return the error for an argument, or for the first of its items that is at fault."""
    for part in get_args(hint) if get_origin(hint) in _UNIONS else (hint,):
        kind = get_origin(part)
        if kind in _SEQUENCES and isinstance(value, kind) and not isinstance(value, str):
            (item_hint, *_) = get_args(part)
            for position, item in enumerate(value):
                if not _check_of(item_hint)(item):
                    return _error(f"{name}[{position}]", item, item_hint)
    expected = inspect.formatannotation(hint, "dragoman").replace("collections.abc.", "")
    found = "None" if value is None else f"{type(value).__name__} {reprlib.repr(value)}"
    return TypeError(f"{name}: {found} is not {expected}")
