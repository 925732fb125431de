"""Fields of a request: in its URL, and in a body of JSON or of a form.

Some APIs accept all of these, and old clients use them. All are validated by the models that document them.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from fastapi import Request
from pydantic import BaseModel, ConfigDict

from dragoman.text.validation import surrogate_problem
from service.http.errors import ApiError, ErrorKind, FieldProblem, field_error, invalid_input
from service.http.forms import Form, FormError, Upload, read_multipart, read_urlencoded
from service.http.request_bodies import SPOOLED_FILES, Body, parsed, read_body
from service.http.validation import READS_EMPTY, Model, shorten, validate

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
                shown = shorten(name)
                remaining.append((f"{path}.{shown}" if path else shown, each))


_FIELD_OF_OBJECT = re.compile(r"(?P<array>\w+)\[(?P<position>0|[1-9]\d{0,3})\]\.(?P<field>\w+)", re.ASCII)
MAX_OBJECT_FIELDS = 100
MULTIPART = "multipart/form-data"
UTF_8 = frozenset({"", "utf-8", "utf8", "us-ascii"})


@dataclass(frozen=True, slots=True)
class Fields:
    """Values by name."""

    json: Mapping[str, Any] = field(default_factory=dict)
    """The object in the body, if that is JSON."""
    form: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """All other fields, each with its values in order."""
    uploads: Mapping[str, Sequence[Upload]] = field(default_factory=dict)

    def read(self, model: type[Model]) -> Model:
        """Return the fields as a model. A JSON null is read as a missing field, and so is an empty string,
        except for texts, numbers and booleans.

        Raises:
            ApiError: naming each field that cannot be used.
        """
        sent = [*self.form.items(), *self.uploads.items()]
        values = {**self.json, **{name: each[0] if len(each) == 1 else tuple(each) for name, each in sent}}
        known = model.model_fields
        reads_empty = {name for name in known if any(each in known[name].metadata for each in READS_EMPTY)}
        missing = {
            name
            for name, each in values.items()
            if name in known and (each is None or (each == "" and name not in reads_empty))
        }
        return validate(model, {name: each for name, each in values.items() if name not in missing})

    def without(self, *names: str) -> "Fields":
        """Return the fields without some."""
        json = {name: each for name, each in self.json.items() if name not in names}
        form = {name: each for name, each in self.form.items() if name not in names}
        return Fields(json, form, self.uploads)

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
        if array in self.json or array in form:
            raise field_error(array, f"cannot be combined with {array}[0]; send one of them")
        if missing := set(range(max(objects))) - set(objects):
            raise field_error(f"{array}[{min(missing)}]", "is missing; number the objects from 0")
        ordered = [objects[position] for position in sorted(objects)]
        return Fields({**self.json, array: ordered}, form, self.uploads)

    def string(self, name: str) -> str | None:
        """Return the only value, a string, of a field that is read before all others."""
        values = self.uploads.get(name) or self.form.get(name) or [self.json.get(name)]
        if len(values) > 1:
            raise field_error(name, f"occurs {len(values)} times; send it once")
        if values[0] is None or isinstance(values[0], str):
            return values[0]
        raise field_error(name, "must be a string")


def read_url(request: Request, model: type[Model]) -> Model:
    """Return the fields in the URL as a model.

    Raises:
        ApiError: naming each field that cannot be used.
    """
    return Fields(form=read_query(request)).read(model)


class NoFields(BaseModel):
    """No fields: a route that changes data rejects all, by which a client may mean to restrict the change."""

    model_config = ConfigDict(extra="forbid")


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
        return _merge(url, Form(), await parsed(body, _read_object))
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


def read_json(body: Body) -> Any:
    """Return the value in a body of JSON.

    Raises:
        ApiError: it is no JSON, or other readers may understand it otherwise.
    """
    encoded = body.read()
    check_surrogates(encoded)
    try:
        return json.loads(encoded, object_pairs_hook=_check_object)
    except RecursionError:
        problem = "it is nested too deeply"
    except json.JSONDecodeError as error:
        problem = f"{error.msg} at character {error.pos}"
    except UnicodeDecodeError:
        problem = "it is not UTF-8"
    except ValueError:
        problem = "a number has too many digits"
    raise ApiError(ErrorKind.MALFORMED, f"the JSON body is invalid: {problem}")


def _read_object(body: Body) -> dict[str, Any]:
    value = read_json(body)
    if not isinstance(value, dict):
        raise field_error("body", "must be an object")
    return value


def _check_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    read = dict(pairs)
    if len(read) < len(pairs):
        raise ApiError(
            ErrorKind.MALFORMED, "the JSON body is invalid: a field occurs twice in the same object"
        )
    if len(read) > MAX_OBJECT_FIELDS:
        raise field_error("body", f"an object has {len(read)} fields, more than {MAX_OBJECT_FIELDS}")
    return read
