"""Counts the steps of a search with a regular expression: they depend on no clock and no other process.

Python's engine reports no counts, so this one searches the same parsed pattern in the same order.
"""

import re
from collections.abc import Callable, Container, Iterator, Mapping
from functools import cache, partial
from importlib import import_module
from typing import Any

_compiler: Any = import_module("re._compiler")
_parser: Any = import_module("re._parser")
Matcher = Callable[[int], Iterator[int]]
"""Yields the ends of all matches from a place on, in the engine's order."""
_ONE_CHARACTER = frozenset({"LITERAL", "NOT_LITERAL", "ANY", "IN", "CATEGORY"})
_REPEATS = frozenset({"MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"})


class _Search:
    """Searches texts with one pattern."""

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        self.num_steps = 0
        self._text: Any = ""
        self._groups: dict[int, tuple[int, int]] = {}
        self._others: Mapping[str, Callable[[Any, int], Matcher]] = {
            "BRANCH": self._branch,
            "SUBPATTERN": self._group,
            "ATOMIC_GROUP": lambda items, flags: self._first(self._sequence(list(items), flags)),
            "ASSERT": partial(self._assertion, is_wanted=True),
            "ASSERT_NOT": partial(self._assertion, is_wanted=False),
            "AT": self._at,
            "GROUPREF": self._reference,
            "GROUPREF_EXISTS": self._choice,
        }
        parsed = _parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
        self._state, self._flags = parsed.state, pattern.flags
        self._match = self._sequence(list(parsed), pattern.flags)

    def spans(self, text: Any, starts: Container[int] | None) -> Iterator[tuple[int, int]]:
        """Yield what `finditer` finds, of matches that begin at some places."""
        self._text, self.num_steps = text, 0
        at, empty_at = 0, -1
        while at <= len(self._text):
            self._groups.clear()
            ends = self._match(at) if starts is None or at in starts else ()
            end = next((end for end in ends if end > at or at != empty_at), None)
            if end is None:
                at += 1
                continue
            yield at, end
            empty_at = end if end == at else -1
            at = end

    def _step(self) -> None:
        self.num_steps += 1

    def _sequence(self, items: list[Any], flags: int) -> Matcher:
        matchers = [self._item(str(op), argument, flags) for op, argument in items]
        if len(matchers) == 1:
            return matchers[0]

        def run(at: int, index: int = 0) -> Iterator[int]:
            if index == len(matchers):
                yield at
                return
            for end in matchers[index](at):
                yield from run(end, index + 1)

        return run

    def _item(self, op: str, argument: Any, flags: int) -> Matcher:
        if op in _ONE_CHARACTER:
            return self._character(op, argument, flags)
        if op in _REPEATS:
            least, most, items = argument
            if len(items) == 1 and str(items[0][0]) in _ONE_CHARACTER:
                repeated, of_repeated = items[0]
                return self._run(op, least, most, self._accepts(repeated, of_repeated, flags))
            repeat = self._repeat(op, least, most, self._sequence(list(items), flags))
            return self._first(repeat) if op == "POSSESSIVE_REPEAT" else repeat
        return self._others[op](argument, flags)

    def _accepts(self, op: Any, argument: Any, flags: int) -> Callable[[Any], bool]:
        return _accepts(_one_item(self._state, op, argument), flags)

    def _character(self, op: str, argument: Any, flags: int) -> Matcher:
        accepts = self._accepts(getattr(_parser, op), argument, flags)

        def run(at: int) -> Iterator[int]:
            self._step()
            if at < len(self._text) and accepts(self._text[at : at + 1]):
                yield at + 1

        return run

    def _run(self, op: str, least: int, most: int, accepts: Callable[[Any], bool]) -> Matcher:
        """Return the matcher of a repeated character, which the engine counts without recursion."""

        def run(at: int) -> Iterator[int]:
            end = at
            if op == "MIN_REPEAT":
                while True:
                    self._step()
                    if end - at >= least:
                        yield end
                    if end - at >= most or end >= len(self._text) or not accepts(self._text[end : end + 1]):
                        return
                    end += 1
            while end - at < most and end < len(self._text) and accepts(self._text[end : end + 1]):
                self._step()
                end += 1
            self._step()
            last = max(at + least, end) if op == "POSSESSIVE_REPEAT" else at + least
            for place in range(end, last - 1, -1):
                self._step()
                yield place

        return run

    def _repeat(self, op: str, least: int, most: int, item: Matcher) -> Matcher:
        def run(at: int, num: int = 0, before: int = -1) -> Iterator[int]:
            self._step()
            if op == "MIN_REPEAT" and num >= least:
                yield at
            if num < most and (num < least or at != before):
                for end in item(at):
                    yield from run(end, num + 1, at)
            if op != "MIN_REPEAT" and num >= least:
                yield at

        return run

    def _branch(self, argument: Any, flags: int) -> Matcher:
        branches = [self._sequence(list(items), flags) for items in argument[1]]

        def run(at: int) -> Iterator[int]:
            for branch in branches:
                self._step()
                yield from branch(at)

        return run

    def _first(self, matcher: Matcher) -> Matcher:
        def run(at: int) -> Iterator[int]:
            for end in matcher(at):
                yield end
                return

        return run

    def _group(self, argument: Any, flags: int) -> Matcher:
        group, added, removed, items = argument
        matcher = self._sequence(list(items), (flags | added) & ~removed)
        if group is None:
            return matcher

        def run(at: int) -> Iterator[int]:
            before = self._groups.get(group)
            for end in matcher(at):
                self._groups[group] = at, end
                yield end
            if before is None:
                self._groups.pop(group, None)
            else:
                self._groups[group] = before

        return run

    def _assertion(self, argument: Any, flags: int, *, is_wanted: bool) -> Matcher:
        direction, items = argument
        matcher = self._sequence(list(items), flags)
        width = items.getwidth()[0] if direction < 0 else 0

        def run(at: int) -> Iterator[int]:
            self._step()
            holds = at >= width and next(matcher(at - width), None) is not None
            if holds == is_wanted:
                yield at

        return run

    def _at(self, argument: Any, flags: int) -> Matcher:
        holds = _compiler.compile(_one_item(self._state, _parser.AT, argument), flags)

        def run(at: int) -> Iterator[int]:
            self._step()
            # Two characters on each side decide: `$` looks for a line break and the end after it.
            start = max(at - 1, 0)
            end = at + 2
            if holds.match(self._text[start:end], at - start):
                yield at

        return run

    def _reference(self, group: int, _: int) -> Matcher:
        def run(at: int) -> Iterator[int]:
            self._step()
            if group in self._groups:
                start, end = self._groups[group]
                if self._text.startswith(self._text[start:end], at):
                    yield at + end - start

        return run

    def _choice(self, argument: Any, flags: int) -> Matcher:
        group, *choices = argument
        matchers = [self._sequence(list(items or ()), flags) for items in choices]

        def run(at: int) -> Iterator[int]:
            yield from matchers[group not in self._groups](at)

        return run


def _one_item(state: Any, op: Any, argument: Any) -> Any:
    return _parser.SubPattern(state, [(op, argument)])


def _accepts(item: Any, flags: int) -> Callable[[Any], bool]:
    """Return whether a character matches an item, as the engine says."""
    compiled = _compiler.compile(item, flags)
    return cache(lambda character: compiled.match(character) is not None)


_search_of = cache(_Search)


def num_steps(pattern: re.Pattern[Any], text: Any, starts: Container[int] | None = None) -> int:
    """Return the steps that it takes to find all matches that do not overlap.

    Args:
        pattern: what is looked for.
        text: where.
        starts: where a match may begin; None for everywhere.
    """
    search = _search_of(pattern)
    found = list(search.spans(text, starts))
    if starts is None:
        assert found == [one.span() for one in pattern.finditer(text)], pattern
    else:
        assert all((one := pattern.match(text, start)) and one.end() == end for start, end in found), pattern
    return search.num_steps


_SAMPLES = "a1A_ .-/\n\t,:;<>=\"'(){}[]&%#@!?*+|~$`\\xéäß0"
NEVER = "\0"
"""A character that ends what is repeated and belongs to nothing."""


def hostile_parts(pattern: re.Pattern[Any]) -> list[tuple[str, str]]:
    """Return what a text may repeat, and how it may end so that a match fails late, by the pattern itself.

    A sample of each repeated part, before what a negative look-ahead rejects; and a sample of each branch.
    """
    parsed = _parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    is_text = isinstance(pattern.pattern, str)
    found: set[tuple[str, str]] = set()

    def of_sequence(items: Any) -> str:
        listed = [(str(op), op, argument) for op, argument in items]
        samples = [of_item(*item) for item in listed]
        for i, (name, _, argument) in enumerate(listed):
            if name in _REPEATS and argument[1] > 1:
                repeated = of_sequence(argument[2])
                found.add((repeated, NEVER))
                for j in range(i + 1, len(listed)):
                    if listed[j][0] == "ASSERT_NOT":
                        rejected = of_sequence(listed[j][2][1])
                        found.update(
                            {(repeated, "".join(samples[i + 1 : j]) + rejected), (repeated, rejected)}
                        )
        return "".join(samples)

    def of_item(name: str, op: Any, argument: Any) -> str:
        if name in _ONE_CHARACTER:
            accepts = _accepts(_one_item(parsed.state, op, argument), pattern.flags)
            among = chr(argument) if name == "LITERAL" else _SAMPLES
            return next((c for c in among if accepts(c if is_text else c.encode("latin-1"))), "")
        if name in _REPEATS:
            least: int = argument[0]
            return of_sequence(argument[2]) * max(1, min(least, 8))
        if name == "BRANCH":
            wholes = [of_sequence(branch) for branch in argument[1]]
            found.update(
                (whole, NEVER)
                for whole, branch in zip(wholes, argument[1], strict=True)
                if not {str(op) for op, _ in branch} <= {"LITERAL"}
            )
            return wholes[0]
        return of_sequence(argument[3]) if name == "SUBPATTERN" else ""

    whole = of_sequence(parsed)
    found |= {(whole, NEVER), (whole[:-1], NEVER)}
    return sorted((unit, end) for unit, end in found if unit)
