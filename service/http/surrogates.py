r"""Lone surrogates in JSON: `"\ud800"` is well-formed JSON, but not text, and has no UTF-8.

Tokenizers, language detectors, databases and file names each fail on them in a different way. They are
therefore rejected when a body is read, for all APIs and fields.
"""

import json
import re
from collections.abc import Iterator

from dragoman.text.validation import surrogate_problem
from service.http.errors import MAX_SHOWN_NAME_CHARACTERS, FieldProblem, invalid_input

_LONE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    rb"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F]"
    rb"|\xed[\xa0-\xbf]"
)
"""Matches every body with lone surrogates, and some without (`\\\\ud800` is a backslash and five letters)."""
UTF_8 = ("utf-8", "utf-8-sig")


def check_surrogates(body: bytes) -> None:
    """Reject JSON with lone surrogates.

    Malformed JSON passes: the code that parses it reports what is wrong.

    Raises:
        ApiError: naming each field that has one.
    """
    if json.detect_encoding(body) in UTF_8 and _LONE.search(body) is None:
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
