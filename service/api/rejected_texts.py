"""Errors about some of a request's texts, with the names that the texts have in the request."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from service.http.errors import FieldProblem, invalid_input
from service.translation.planned_text import TextsRejectedError


@contextmanager
def name_rejected_texts(field_name: Callable[[int], str]) -> Iterator[None]:
    """Convert an error about texts to one that names them as in the client's request."""
    try:
        yield
    except TextsRejectedError as error:
        fields = [FieldProblem(field=field_name(item), problem=problem) for item, problem in error.problems]
        raise invalid_input(fields, total=len(fields)) from error
