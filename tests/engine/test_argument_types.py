"""A wrong kind of argument is a TypeError that names it, in every public function."""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

import pytest

import dragoman
from dragoman import DecodingOptions, EngineRequest, Router, Translator
from dragoman.types import Pair
from tests.engine.conftest import FP32


class _Wrong:
    """Has no type that any function expects."""

    __hash__ = None  # type: ignore[assignment]


def parts_of(hint: Any) -> Iterator[Any]:
    """Yield an annotation and those in it, but not those of a callback."""
    yield hint
    for part in get_args(hint) if get_origin(hint) is not Callable else ():
        yield from parts_of(part)


def public_functions() -> dict[str, Callable[..., object]]:
    """Return the methods of the public classes that do work, and the classes that their callers create."""
    found: dict[str, Callable[..., object]] = {
        f"{owner.__name__}.{name}": member
        for owner in (Translator, Router, dragoman.Deadline)
        for name, member in inspect.getmembers(owner, inspect.isroutine)
        if not name.startswith("_") and name not in {"close", "renew"}
    }
    waiting = list(found.values())
    made = {part for each in waiting for part in parts_of(get_type_hints(each).get("return"))}
    while waiting:
        hints = get_type_hints(waiting.pop())
        for hint in (hint for name, hint in hints.items() if name != "return"):
            for part in parts_of(hint):
                if is_dataclass(part) and part not in made and isinstance(part, type):
                    made.add(part)
                    found[part.__name__] = part.__init__
                    waiting.append(part.__init__)
    return found


FUNCTIONS = public_functions()
PARAMETERS = [
    (title, name)
    for title, function in FUNCTIONS.items()
    for name, hint in get_type_hints(function).items()
    if name != "return" and not name.startswith("_")
]


def test_functions_and_what_they_take_are_found() -> None:
    assert {"Translator.translate_many", "Router.follow", "DecodingOptions", "Sampling", "Term"} < set(
        FUNCTIONS
    )


@pytest.mark.parametrize(("title", "name"), PARAMETERS)
def test_an_argument_of_another_type_is_named(title: str, name: str) -> None:
    function = FUNCTIONS[title]
    parts = list(parts_of(get_type_hints(function)[name]))
    origins = [get_origin(part) for part in parts]
    wrong: list[object] = [_Wrong()]
    wrong += [kind([_Wrong()]) for kind in (list, tuple) if kind in origins]
    if str in parts and Iterable in origins:
        wrong.append("a string, which has strings as well")

    for value in wrong:
        others = {"self": None} if "self" in inspect.signature(function).parameters else {}
        with pytest.raises(TypeError, match=rf"^{re.escape(name)}(\[0\])*: .* is not "):
            function(**others, **{name: value})


def test_lists_and_single_texts_take_options_in_one_way(tiny: Translator) -> None:
    text, options = "Guten Morgen!", DecodingOptions(beam_size=2, num_hypotheses=2)
    expected = tiny.translate(text, options)

    for given in (options, EngineRequest(options)):
        assert list(tiny.translate_many([text], given)) == [expected]
        assert tiny.submit(text, given).result() == expected
    with Router.open({"tiny": FP32}) as router:
        for given in (options, EngineRequest(options)):
            assert router.submit(text, request=given).result().translation == expected
            (routed,) = router.translate_many([text], request=given)
            assert not isinstance(routed, dragoman.InputError)
            assert routed.translation == expected


def test_a_text_of_a_stream_that_is_no_string_is_named(tiny: Translator) -> None:
    texts: Any = iter(["Ja.", None])

    with pytest.raises(TypeError, match=r"texts\[1\]: NoneType None is not str"):
        list(tiny.translate_many(texts))


def test_the_message_says_what_was_expected(tiny: Translator) -> None:
    wrong: Any = 4

    with pytest.raises(TypeError, match=r"pair: tuple \('de', 'en'\) is not dragoman.types.Pair \| None"):
        EngineRequest(pair=("de", "en"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"text\[1\]: int 4 is not str"):
        tiny.translate(["Ja.", wrong], DecodingOptions(), pair=Pair("de", "en"))
