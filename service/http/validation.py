"""Validation of requests by the models that document them, with errors that name the item, the limit and what
to do.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    BeforeValidator,
    Discriminator,
    Field,
    InstanceOf,
    Strict,
    Tag,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from service.http.errors import MAX_SHOWN_NAME_CHARACTERS, ApiError, FieldProblem, invalid_input
from service.http.forms import Upload
from service.settings.groups import MAX_TEXTS

Model = TypeVar("Model", bound=BaseModel)
Item = TypeVar("Item")

ONE, SEVERAL = "(one)", "(several)"
NUMBER = re.compile(r"\s*-?[0-9]{1,18}\s*")
"""A number in a form; it fits 64 bits."""
_ON, _OFF = ("1", "true", "yes", "on"), ("0", "false", "no", "off")
FLAGS = dict.fromkeys(_ON, True) | dict.fromkeys(_OFF, False)


def _read_flag(value: object) -> object:
    return FLAGS.get(value.lower(), value) if isinstance(value, str) else value


def _read_count(value: object) -> object:
    return int(value) if isinstance(value, str) and NUMBER.fullmatch(value) else value  # at most 18 digits


def text_tag(text: object) -> str | None:
    """Return which of two types a text has: a string, or a list."""
    if isinstance(text, str):
        return ONE
    return SEVERAL if isinstance(text, list) else None


def _read_repeated(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


REPEATED, READ_COUNT = BeforeValidator(_read_repeated), BeforeValidator(_read_count)
READ_FLAG = BeforeValidator(_read_flag, json_schema_input_type=bool | Literal["0", "1"])
READS_EMPTY = (REPEATED, READ_COUNT, READ_FLAG)
"""Validators of fields for which an empty string is a value, if perhaps a wrong one."""
Texts = Annotated[
    Annotated[str, Tag(ONE)]
    | Annotated[list[str], Field(max_length=MAX_TEXTS, fail_fast=True), Tag(SEVERAL)],
    Discriminator(
        text_tag,
        custom_error_type="text_type",
        custom_error_message="must be a string or an array of strings",
    ),
    REPEATED,
]
"""A string or an array of strings; in a form or a URL, a field that may be repeated."""
Flag = Annotated[bool, Strict(), READ_FLAG]
"""A boolean, or one of `FLAGS` in a form or a URL."""
Count = Annotated[int, Strict(), READ_COUNT]
"""A whole number, or its digits in a form or a URL."""


def _require_array(value: object) -> object:
    if not isinstance(value, list):
        raise PydanticCustomError("array", "must be an array")
    return value


Records = Annotated[Iterable[Item], BeforeValidator(_require_array)]
"""An array of any length. Each item is validated when `read_records` reaches it, so no other thread waits."""

File = Annotated[InstanceOf[Upload], WithJsonSchema({"type": "string", "format": "binary"})]
"""A file of a form."""

PROBLEMS: Mapping[str, str] = {
    "missing": "is missing",
    "extra_forbidden": "is not known",
    "string_type": "must be a string",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "string_too_short": "is empty",
    "list_type": "must be an array",
    "too_short": "is empty",
    "model_type": "must be an object",
    "dict_type": "must be an object",
    "literal_error": "must be one of {expected}",
    "enum": "must be one of {expected}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "too_long": "has {actual_length} items; the limit is {max_length}",
    "string_pattern_mismatch": "must match {pattern}; send what an earlier response returned",
    "is_instance_of": "must be a file, sent as multipart/form-data with a file name",
}
"""Problem by the type of pydantic's error; its own words serve for others."""


def listed(texts: str | list[str]) -> list[str]:
    """Return texts, one or several, as a list."""
    return [texts] if isinstance(texts, str) else texts


def validate(model: type[Model], content: object) -> Model:
    """Return what was sent as a model.

    Raises:
        ApiError: naming each field that cannot be used.
    """
    try:
        return model.model_validate(content)
    except ValidationError as error:
        raise to_api_error(error, model) from error


def read_records(items: Iterable[Item], name: str) -> Iterator[Item]:
    """Yield the items of an array.

    Args:
        items: the array.
        name: name of its field, for errors.

    Raises:
        ApiError: an item cannot be used.
    """
    try:
        yield from items
    except ValidationError as error:
        raise to_api_error(error, BaseModel, name) from error


def to_api_error(error: ValidationError, model: type[BaseModel], name: str = "") -> ApiError:
    """Convert a model's error to one for the client.

    Args:
        error: the error.
        model: the model, whose fields the error may name.
        name: name of the field in which the model stands, if it is not the whole request.
    """
    problems = error.errors(include_url=False)
    fields = (
        FieldProblem(field=_path(name, each["loc"]), problem=_problem(each["loc"], each, model))
        for each in problems
    )
    return invalid_input(fields, total=len(problems))


def _path(path: str, location: Sequence[str | int]) -> str:
    """Return `terms[3].source` for `("terms", 3, "source")`."""
    for part in location:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part not in {ONE, SEVERAL}:
            path += ("." if path else "") + shorten(part)
    return path or "body"


def _problem(location: Sequence[str | int], error: Mapping[str, Any], model: type[BaseModel]) -> str:
    value, kind = error["input"], error["type"]
    if isinstance(value, tuple) and kind in PROBLEMS:
        return f"occurs {len(value)} times; send it once"
    context = {
        name: str(each).replace("'", "").replace(" or ", ", ").strip(", ")
        for name, each in error.get("ctx", {}).items()
    }
    problem: str = PROBLEMS[kind].format_map(context) if kind in PROBLEMS else error["msg"]
    is_top = len(location) == 1
    if kind == "missing" and is_top and (field := model.model_fields.get(str(location[0]))):
        return f"{problem}. {' '.join((field.description or '').split())}".removesuffix(". ")
    if kind == "extra_forbidden" and is_top:
        return f"{problem}; known are {', '.join(model.model_fields)}"
    return problem


def shorten(name: str) -> str:
    """Return a name that a client sent, at most so long that it can stand in an error."""
    if len(name) <= MAX_SHOWN_NAME_CHARACTERS:
        return name
    return f"{name[:MAX_SHOWN_NAME_CHARACTERS]}… ({len(name)} characters)"
