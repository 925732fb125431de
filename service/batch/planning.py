"""Planning of a batch job: determine the format and the languages of each file."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from dragoman.errors import InputError
from dragoman.routing.router import Router
from dragoman.types import Pair
from service.batch.errors import InputProblem, OutputProblem
from service.batch.file_mapping import FileMapping
from service.batch.files import JobFile, read_entries
from service.formats.entries import Entry, FileFormatError, FileOptions
from service.formats.known import have_same_format, is_known, open_format
from service.formats.limits import FileLimits
from service.markup.marked_up import parse
from service.markup.options import MarkupError
from service.translation.detection import MAX_LOOKED_AT
from service.translation.request import AUTO, UNDETERMINED
from service.translation.source_language import resolve_source

MAX_DETECTION_ENTRIES = 200
"""Maximum number of entries, from the beginning of a file, that are used to detect its language."""


@dataclass(frozen=True, slots=True)
class LanguageOptions:
    """Options that apply to all files of a command."""

    source: str | None
    """Source language. None: the only possible one. `auto`: detected for each file, from its beginning."""
    target: str | None
    columns: tuple[str, ...] = ()
    model: str | None = None
    """The only bundle to use."""
    limits: FileLimits | None = None
    """Limits of file processing; None if files are trusted."""


def plan_files(
    mappings: Sequence[FileMapping], options: LanguageOptions, router: Router
) -> tuple[JobFile, ...]:
    """Determine the formats and the languages of all files.

    Raises:
        UnsupportedPair: no model translates between the languages.
        InputProblem: files have no known format or no detectable language; the error names each.
        OutputProblem: the name of an output file belongs to another format.
    """
    is_auto = options.source is not None and options.source.lower() == AUTO
    pair = None if is_auto else router.route(options.source, options.target, options.model).pair
    files, problems = [], list[tuple[str, str]]()
    for place in mappings:
        _check_kind(place)
        try:
            files.append(_plan(place, pair or _detect(place, options, router), options))
        except InputProblem as error:
            problems += error.problems
    if problems:
        raise InputProblem(tuple(problems))
    return tuple(files)


def _plan(place: FileMapping, pair: Pair, options: LanguageOptions) -> JobFile:
    try:
        file_options = FileOptions(pair.source, pair.target, options.columns)
        opened = open_format(place.source.name, file_options, options.limits)
    except FileFormatError as error:
        raise InputProblem(((place.name, error.problem),)) from error
    return JobFile(place.name, place.source, place.target, opened, pair)


def _check_kind(place: FileMapping) -> None:
    is_other = is_known(place.target.name) and not have_same_format(place.target.name, place.source.name)
    if is_other:
        problem = f"the output must have the format of {place.source.name}; use the same suffix"
        raise OutputProblem(str(place.target), problem)


def _detect(place: FileMapping, options: LanguageOptions, router: Router) -> Pair:
    """Return a file's languages; the same twice if the file is already in the target language."""
    undetermined = Pair(UNDETERMINED, options.target or UNDETERMINED)
    file = _plan(place, undetermined, options)
    try:
        found = resolve_source(read_beginning(file), options.target, options.model, router.routes)
    except InputError as error:
        if error.field != "text":
            raise
        raise InputProblem(((place.name, error.problem),)) from error
    return Pair(found.language or found.target, found.target)


def read_beginning(file: JobFile) -> str:
    """Return enough plain text from the beginning of a file to detect its language.

    Raises:
        InputProblem: the file cannot be read.
    """
    texts, num_characters = list[str](), 0
    for entry in islice(read_entries(file), MAX_DETECTION_ENTRIES):
        texts.append(_running_text(entry))
        num_characters += len(texts[-1])
        if num_characters >= MAX_LOOKED_AT:
            break
    return "\n".join(texts)


def _running_text(entry: Entry) -> str:
    if entry.markup is None:
        return entry.text
    try:
        return "\n".join(parse(entry.text, entry.markup).blocks)
    except MarkupError:
        return ""  # reported when the entry is translated
