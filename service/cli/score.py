"""`dragoman score`: how probable a model finds given translations."""

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from functools import partial
from typing import Annotated

import typer

from dragoman import InputError
from dragoman.types import SegmentTranslation
from service.cli import options as cli_options
from service.cli.exit_status import EXIT_INCOMPLETE
from service.cli.languages import LanguageArguments, find_route, preload
from service.cli.lines import defer_interrupts, flushed, open_lines
from service.formats.entries import FileFormatError
from service.formats.lines import parse_line
from service.models.engine import open_router
from service.settings.settings import load_settings

MAX_IN_PROGRESS = 64
"""Maximum number of pairs in the engine at a time."""
QUEUE_SHARE = 4
"""They may take one in this many rows of the queue."""
NO_SCORE = "nan"
TextPair = tuple[str, str]
Submit = Callable[[str, str], Future[SegmentTranslation]]

app = cli_options.new_command()


@app.command()
def score(
    text: Annotated[
        str | None, typer.Argument(metavar="TEXT", help="The text, about a sentence. Default: stdin.")
    ] = None,
    translation: Annotated[
        str | None, typer.Argument(metavar="TRANSLATION", help="Its translation, by anybody.")
    ] = None,
    *,
    file: cli_options.FileOption = None,
    source: cli_options.SourceOption = None,
    target: cli_options.TargetOption = None,
    model: cli_options.ModelOption = None,
    config: cli_options.ConfigOption = None,
) -> None:
    """Score given translations.

    Prints the mean log-probability of a translation's tokens; higher is better. Without a TEXT, each line of
    the input is a text, a tab and its translation, and output line n is the score of input line n. A pair
    that cannot be scored is reported on stderr and has the score `nan`; the exit status is then 1.
    """
    if (text is None) != (translation is None) or (text is not None and file is not None):
        raise InputError("TEXT", "needs its TRANSLATION, and no --file")
    settings = load_settings(config, {"model": model})
    names = LanguageArguments(source, target)
    with ExitStack() as stack:
        router = stack.enter_context(open_router(settings))
        if text is None or translation is None:
            lines = stack.enter_context(open_lines(None, file))
            pairs, num_read_ahead = parse_pairs(lines), 1 if lines.is_terminal else MAX_IN_PROGRESS
            route = find_route(names, router, settings.detection, lambda: _first_column(lines.beginning()))
        else:
            pairs, num_read_ahead = iter([(text, translation)]), 1
            route = find_route(names, router, settings.detection, lambda: text)
        if route is None:
            raise InputError("--source", "the text seems to be in no language that is translated; name it")
        preload(route, router)
        at_a_time = max(1, min(num_read_ahead, settings.queue_size // QUEUE_SHARE))
        interrupts = stack.enter_context(defer_interrupts())
        scores = score_pairs(partial(router.score, route), interrupts.lines(pairs), at_a_time)
        is_complete = write_scores(scores, interrupts.check)
    if not is_complete:
        raise typer.Exit(EXIT_INCOMPLETE)


def parse_pairs(lines: Iterable[bytes]) -> Iterator[TextPair]:
    """Yield text and translation of each line.

    Raises:
        FileFormatError: a line is not UTF-8, or has not exactly one tab.
    """
    for number, line in enumerate(lines, start=1):
        texts = parse_line(line, number, container="input").text.split("\t")
        if len(texts) != 2:  # noqa: PLR2004 -- a text and its translation
            raise FileFormatError(
                f"line {number} has {len(texts) - 1} tabs; one must separate a text from its translation"
            )
        yield texts[0], texts[1]


def score_pairs(submit: Submit, pairs: Iterable[TextPair], at_a_time: int) -> Iterator[float | InputError]:
    """Yield the score of each pair, or why it has none.

    Args:
        submit: begins to score a pair.
        pairs: texts with their translations.
        at_a_time: maximum number of pairs in progress.
    """
    in_progress: deque[Future[SegmentTranslation] | InputError] = deque()
    for text, translation in pairs:
        try:
            in_progress.append(submit(text, translation))
        except InputError as error:
            in_progress.append(error)
        if len(in_progress) >= at_a_time:
            yield _outcome(in_progress.popleft())
    yield from map(_outcome, in_progress)


def write_scores(outcomes: Iterable[float | InputError], check: Callable[[], None]) -> bool:
    """Write a line for each pair to standard output, call `check`; return whether all pairs have a score."""
    is_complete = True
    with flushed(sys.stdout.buffer) as _:
        for number, outcome in enumerate(outcomes, start=1):
            if isinstance(outcome, InputError):
                is_complete = False
                typer.echo(f"dragoman: line {number}: {outcome}", err=True)
            typer.echo(NO_SCORE if isinstance(outcome, InputError) else f"{outcome:.6f}")
            check()
    return is_complete


def _outcome(scored: Future[SegmentTranslation] | InputError) -> float | InputError:
    try:
        return scored if isinstance(scored, InputError) else scored.result().score or 0.0
    except InputError as error:
        return error


def _first_column(beginning: str) -> str:
    return "\n".join(line.partition("\t")[0] for line in beginning.splitlines())
