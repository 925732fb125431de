"""Checks of a translation against its source, after placeholders were restored."""

import re
from collections import Counter
from collections.abc import Callable, Sequence

from dragoman.text.segmentation import has_letters
from service.text.icu_parser import IcuSyntaxError, has_branches, parse_icu
from service.text.marked_text import Object, Shown
from service.text.outcome import Check, CheckFailure
from service.text.patterns import find_spans
from service.text.searching import never_pause

MAX_LENGTH_RATIO = 3
LENGTH_MARGIN = 20
"""Characters that short texts may differ by: `OK`."""
_MAX_SHOWN = 80
_TAG = re.compile(r"</?[A-Za-z\d]")


def check_syntax(
    source: str, target: str, pause: Callable[[], None] = never_pause
) -> tuple[CheckFailure, ...]:
    """Return failures that would break a program or a page: placeholders, tags, ICU syntax, emptiness."""
    failures = check_form(source, target)
    return failures or check_added(source, target, pause)


def check_form(source: str, target: str) -> tuple[CheckFailure, ...]:
    """Return failures of a translation that is empty, or an ICU message no longer."""
    if has_letters(source) and not target.strip():
        return (CheckFailure(Check.EMPTY, "the translation is empty"),)
    return () if source == target else _check_icu(source, target)


def check_added(
    source: str, target: str, pause: Callable[[], None] = never_pause
) -> tuple[CheckFailure, ...]:
    """Return failures of placeholders and tags: those that only one of two texts has."""
    if source == target:
        return ()
    expected, found = (
        [(text[span.start : span.end], span) for span in find_spans(text, pause)] for text in (source, target)
    )
    return (*_check_tags(expected, found), *_check_placeholders(source, target, expected, found))


def _check_icu(source: str, target: str) -> tuple[CheckFailure, ...]:
    if not has_branches(source):
        return ()
    try:
        parse_icu(target)
    except IcuSyntaxError as error:
        return (CheckFailure(Check.ICU, str(error)),)
    return ()


_Spans = Sequence[tuple[str, Object]]


def _check_placeholders(
    source: str, target: str, expected_spans: _Spans, found_spans: _Spans
) -> tuple[CheckFailure, ...]:
    if has_branches(source):
        return ()  # its branches are other ones in another language
    literals = Counter(one for one, span in expected_spans if not span.is_syntax)
    broken = [one for one, number in literals.items() if target.count(one) < number]
    if broken:
        return (CheckFailure(Check.PLACEHOLDERS, f"{', '.join(broken)[:_MAX_SHOWN]} is missing"),)
    both = expected_spans, found_spans
    problem = _difference(
        *(Counter(one for one, span in spans if span.is_syntax and not _TAG.match(one)) for spans in both)
    )
    first, last = (
        [one for one, span in spans if span.shown in {Shown.STRING, Shown.NUMBER}] for spans in both
    )
    problem = problem or "placeholders without a name changed their order" * (first != last)
    return (CheckFailure(Check.PLACEHOLDERS, problem),) if problem else ()


def _check_tags(*both: _Spans) -> tuple[CheckFailure, ...]:
    problem = _difference(*(Counter(one for one, _ in spans if _TAG.match(one)) for spans in both))
    return (CheckFailure(Check.TAGS, problem),) if problem else ()


def check_length(source: str, target: str) -> tuple[CheckFailure, ...]:
    """Return a failure if a translation is far longer or shorter than its source."""
    kind = "long" if len(target) > len(source) else "short"
    longest, shortest = max(len(source), len(target)), min(len(source), len(target))
    if longest <= MAX_LENGTH_RATIO * shortest + LENGTH_MARGIN:
        return ()
    problem = f"{len(target)} characters for {len(source)}, which is over {MAX_LENGTH_RATIO} times as {kind}"
    return (CheckFailure(Check.LENGTH, problem),)


def _difference(expected: Counter[str], found: Counter[str]) -> str:
    """Return what is missing or added; an empty text if nothing is."""
    missing, added = expected - found, found - expected
    problems = [f"{', '.join(missing)[:_MAX_SHOWN]} is missing"] if missing else []
    problems += [f"{', '.join(added)[:_MAX_SHOWN]} is not in the source"] if added else []
    return "; ".join(problems)
