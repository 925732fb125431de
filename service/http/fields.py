"""Fields of a request: in its URL, and in a body of JSON or of a form.

Some APIs accept all of these, and old clients use them. Strings have the same type from any source; JSON's
other types are kept; numbers and booleans of a form are parsed from strings. Nothing is dropped or corrected.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, BinaryIO, NoReturn, TypeVar

from fastapi import Request

from dragoman.text.validation import surrogate_problem
from service.http.errors import (
    MAX_SHOWN_NAME_CHARACTERS,
    ApiError,
    ErrorKind,
    FieldProblem,
    field_error,
    invalid_input,
)
from service.http.forms import MAX_FIELDS, Form, FormError, Upload, read_multipart, read_urlencoded
from service.http.request_bodies import SPOOLED_FILES, Body, parsed, read_body

_LONE = (
    re.compile(
        rb"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
        rb"|[c-fC-F](?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD].))"
    ),
    re.compile(rb"\xed[\xa0-\xbf]"),
)
"""One of them matches a body with lone surrogates, and some without (`\\\\ud800` is a backslash and five
letters). Each begins with fixed characters, which are found much faster than alternatives: no thread runs
meanwhile."""


def check_surrogates(body: bytes) -> None:
    """Reject JSON with lone surrogates.

    Malformed JSON passes: the code that parses it reports what is wrong.

    Raises:
        ApiError: naming each field that has one.
    """
    if json.detect_encoding(body).startswith("utf-8") and not any(one.search(body) for one in _LONE):
        return
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return
    problems = list(_problems(content))
    if problems:
        named = (FieldProblem(field=field, problem=problem) for field, problem in problems)
        raise invalid_input(named, total=len(problems))


def _problems(content: object) -> Iterator[tuple[str, str]]:
    """Yield the fields with lone surrogates and their problems, in order."""
    remaining: list[tuple[str, object]] = [("", content)]
    while remaining:
        path, value = remaining.pop()
        if isinstance(value, str):
            problem = surrogate_problem(value)
            if problem is not None:
                yield path or "body", problem
        elif isinstance(value, list):
            remaining += [(f"{path}[{index}]", each) for index, each in reversed([*enumerate(value)])]
        elif isinstance(value, dict):
            for name, each in reversed(value.items()):
                problem = surrogate_problem(name)
                if problem is not None:
                    yield path or "body", f"a field name has a {problem}"
                    continue
                shown = (
                    name if len(name) <= MAX_SHOWN_NAME_CHARACTERS else f"{name[:MAX_SHOWN_NAME_CHARACTERS]}…"
                )
                remaining.append((f"{path}.{shown}" if path else shown, each))


_FIELD_OF_OBJECT = re.compile(r"(?P<array>\w+)\[(?P<position>0|[1-9]\d{0,3})\]\.(?P<field>\w+)", re.ASCII)
TRUE, FALSE = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off"})
MAX_DIGITS = 18
"""Maximum digits of a number in a form; it fits 64 bits."""
MULTIPART = "multipart/form-data"
DUPLICATE_FIELD = "a field occurs twice in the same object"
UTF_8 = frozenset({"", "utf-8", "utf8", "us-ascii"})

Choice = TypeVar("Choice", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Fields:
    """Values by name. A JSON null is read as a missing field.

    Methods that read a value raise an ApiError that names the field if the value has another type.
    """

    json: Mapping[str, Any] = field(default_factory=dict)
    """The object in the body, if that is JSON."""
    form: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """All other fields, each with its values in order."""
    uploads: Mapping[str, Sequence[Upload]] = field(default_factory=dict)
    prefix: str = ""
    """Prefix of the names of fields in errors, such as `dictionaries[0].`."""

    def __contains__(self, name: str) -> bool:
        return name in self.json or name in self.form or name in self.uploads

    def names(self) -> list[str]:
        return list({**self.json, **self.form, **self.uploads})

    def error(self, name: str, problem: str) -> ApiError:
        """Return the error for a field."""
        return field_error(f"{self.prefix}{name}", problem)

    def check_known(self, known: Collection[str]) -> None:
        """Reject all fields but the known ones."""
        for name in self.names():
            if name not in known:
                listed = f"known are {', '.join(sorted(known))}" if known else "this request takes no fields"
                problem = f"is not known; {listed}"
                raise self.error(name[:80], problem)

    def with_objects(self, array: str) -> "Fields":
        """Return the fields with those called `array[0].field` as an array of objects, as in JSON.

        Raises:
            ApiError: a position is left out, or an object has a field twice.
        """
        objects: dict[int, dict[str, str]] = {}
        form: dict[str, Sequence[str]] = {}
        for name, values in self.form.items():
            found = _FIELD_OF_OBJECT.fullmatch(name)
            if found is None or found["array"] != array:
                form[name] = values
            elif len(values) > 1:
                raise field_error(name, f"occurs {len(values)} times; send it once")
            else:
                position = int(found["position"])  # at most 4 digits
                objects.setdefault(position, {})[found["field"]] = values[0]
        if not objects:
            return self
        if array in self:
            raise field_error(array, f"cannot be combined with {array}[0]; send one of them")
        if missing := set(range(max(objects))) - set(objects):
            raise field_error(f"{array}[{min(missing)}]", "is missing; number the objects from 0")
        ordered = [objects[position] for position in sorted(objects)]
        return Fields({**self.json, array: ordered}, form, self.uploads)

    def is_json(self, name: str) -> bool:
        """Return whether the value comes from JSON, and so has a type."""
        return name in self.json

    def is_list(self, name: str) -> bool:
        """Return whether the value is an array in JSON, or occurs more than once."""
        return isinstance(self.json.get(name), list) or len(self.form.get(name, ())) > 1

    def string(self, name: str) -> str | None:
        """Return the only value, a string."""
        value = self._single_value(name)
        if value is None or isinstance(value, str):
            return value
        raise self.error(name, "must be a string")

    def required(self, name: str, advice: str = "") -> str:
        """Return the only value, a string that is not empty."""
        value = self.string(name)
        if not value:
            raise self.error(name, f"is missing; {advice}" if advice else "is missing")
        return value

    def given(self, name: str) -> str:
        """Return the only value, a string that may be empty."""
        value = self.string(name)
        if value is None:
            raise self.error(name, "is missing")
        return value

    def one_of(self, name: str, allowed: Sequence[str]) -> str | None:
        """Return the only value, one of some strings; None if it is missing or empty."""
        value = self.string(name) or None
        if value is not None and value not in allowed:
            raise self.error(name, f"must be one of {', '.join(allowed)}")
        return value

    def choice(self, name: str, kind: type[Choice]) -> Choice | None:
        """Return the only value, a string of an enumeration; None if it is missing or empty."""
        value = self.one_of(name, tuple(kind))
        return None if value is None else kind(value)

    def objects(self, name: str) -> "Iterator[Fields]":
        """Yield the fields of each object in a list of JSON."""
        for position, item in enumerate(self.json[name]):
            location = f"{name}[{position}]"
            if not isinstance(item, dict):
                raise self.error(location, "must be an object")
            yield Fields(json=item, prefix=f"{self.prefix}{location}.")

    def strings(self, name: str) -> tuple[str, ...] | None:
        """Return all values: a string, an array of strings, or a repeated field."""
        if name not in self.json:
            return tuple(self.form[name]) if name in self.form else None
        value = self.json[name]
        if value is None:
            return None
        if isinstance(value, str):
            return (value,)
        if not isinstance(value, list):
            raise self.error(name, "must be a string or an array of strings")
        if not {str}.issuperset(map(type, value)):  # by a loop, 100,000 texts would block the event loop
            position = [isinstance(each, str) for each in value].index(False)
            raise self.error(f"{name}[{position}]", "must be a string")
        return tuple(value)

    def integer(self, name: str) -> int | None:
        """Return the only value, a whole number or its digits as a string."""
        value = self._single_value(name)
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        if isinstance(value, str):
            digits = value.strip().removeprefix("-")
            if digits.isascii() and digits.isdigit() and len(digits) <= MAX_DIGITS:
                return int(value)  # at most 18 digits
        raise self.error(name, "must be a whole number")

    def boolean(self, name: str) -> bool | None:
        """Return the only value, a boolean or a string in `TRUE` or `FALSE`, such as `1`."""
        value = self._single_value(name)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in TRUE | FALSE:
            return value.lower() in TRUE
        raise self.error(name, "must be true or false")

    def upload(self, name: str) -> Upload | None:
        """Return the only file with this name."""
        files = self.uploads.get(name, ())
        if not files and name in self:
            raise self.error(name, "must be a file, sent as multipart/form-data with a file name")
        if len(files) > 1:
            raise self.error(name, f"occurs {len(files)} times; send one file")
        return files[0] if files else None

    def _single_value(self, name: str) -> object:
        if name in self.uploads:
            raise self.error(name, "must not be a file")
        values = self.form.get(name)
        if values is None:
            return self.json.get(name)
        if len(values) > 1:
            raise self.error(name, f"occurs {len(values)} times; send it once")
        return values[0]


def reject_query(request: Request) -> None:
    """Raise an ApiError if the URL has a query, for a route that changes data and takes no fields."""
    Fields(form=read_query(request)).check_known(())


def media_type_of(request: Request) -> str:
    """Return the body's declared media type, in lower case and without parameters; empty if there is none."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def read_query(request: Request) -> dict[str, list[str]]:
    """Read the fields in the URL.

    Raises:
        ApiError: they cannot be read.
    """
    try:
        return read_urlencoded(request.scope["query_string"])
    except FormError as error:
        raise ApiError(ErrorKind.MALFORMED, f"the URL's query is invalid: {error}") from error


async def read_fields(request: Request) -> Fields:
    """Read all fields of a request, whatever its method.

    Raises:
        ApiError: the body is neither JSON nor a form, is malformed or not UTF-8, has too many fields, or
            repeats a field of the URL.
    """
    url = read_query(request)
    body = await read_body(request)
    if body.file is None and not body.content:
        return Fields(form=url)
    kind = media_type_of(request)
    declared = request.headers.get("content-type", "")
    _require_utf_8(declared)
    files: list[BinaryIO] = request.scope[SPOOLED_FILES]
    if kind == "application/json" or (kind.startswith("application/") and kind.endswith("+json")):
        return _merge(url, Form(), await parsed(body, _read_json))
    readers: Mapping[str, Callable[[Body], Form]] = {
        "application/x-www-form-urlencoded": lambda body: Form(read_urlencoded(body.read())),
        MULTIPART: lambda body: read_multipart(declared, body, files),
    }
    if kind not in readers:
        raise ApiError(
            ErrorKind.UNSUPPORTED_MEDIA_TYPE,
            "send application/json, application/x-www-form-urlencoded or multipart/form-data, and name it "
            "in the header Content-Type",
        )
    try:
        return _merge(url, await parsed(body, readers[kind]), {})
    except FormError as error:
        raise ApiError(ErrorKind.MALFORMED, f"the form is invalid: {error}") from error


def _require_utf_8(content_type: str) -> None:
    """Reject other charsets. Ignore other parameters; boundaries are ASCII."""
    for parameter in content_type.split(";")[1:]:
        name, _, value = parameter.partition("=")
        name = name.strip().lower()
        if name.rstrip("*") == "charset" and (name != "charset" or value.strip(' \t"').lower() not in UTF_8):
            raise ApiError(ErrorKind.UNSUPPORTED_MEDIA_TYPE, "the body must be in UTF-8")


def _merge(url: Mapping[str, list[str]], form: Form, typed: dict[str, Any]) -> Fields:
    """Merge the fields of a URL and of a body; reject a name that occurs in two of them."""
    seen = [*typed, *form.strings, *form.uploads]
    for name in seen:
        if name in url or (name in form.strings and name in form.uploads):
            raise ApiError(ErrorKind.MALFORMED, f"the field {name[:80]!r} occurs twice; send it once")
    return Fields(typed, {**url, **form.strings}, form.uploads)


def _read_json(body: Body) -> dict[str, Any]:
    encoded = body.read()
    check_surrogates(encoded)
    try:
        value = json.loads(
            encoded.decode("utf-8-sig"), object_pairs_hook=_check_object, parse_constant=_reject_constant
        )
    except RecursionError:
        problem = "it is nested too deeply"
    except json.JSONDecodeError as error:
        problem = f"{error.msg} at character {error.pos}"
    except UnicodeDecodeError:
        problem = "it is not UTF-8"
    except ValueError as error:
        problem = str(error) if isinstance(error, _JsonError) else "a number has too many digits"
    else:
        if isinstance(value, dict):
            return value
        problem = "it must be an object"
    raise ApiError(ErrorKind.MALFORMED, f"the JSON body is invalid: {problem}")


class _JsonError(ValueError):
    """JSON that readers may interpret differently, or with too many fields."""


def _check_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) < len(pairs):
        raise _JsonError(DUPLICATE_FIELD)
    if len(read) > MAX_FIELDS:
        raise _JsonError(f"an object has {len(read)} fields, more than {MAX_FIELDS}")
    return read


def _reject_constant(name: str) -> NoReturn:
    raise _JsonError(f"{name} is not allowed")
