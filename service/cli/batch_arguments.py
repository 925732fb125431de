"""Options of `dragoman batch`, once they are parsed."""

from dataclasses import dataclass
from pathlib import Path

from dragoman.decoding.options import DecodingOptions
from service.batch.job_directory import StartMode
from service.batch.planning import LanguageOptions
from service.batch.texts import OnFailure
from service.cli.terms import NO_TERMS, TermOptions
from service.cluster import ClusterOptions
from service.formats.review_marks import ReviewMarks
from service.text.modes import PlaceholderMode


@dataclass(frozen=True, slots=True)
class BatchArguments:
    """The command's options."""

    inputs: tuple[str, ...]
    output: str
    languages: LanguageOptions
    decoding: DecodingOptions
    on_failure: OnFailure
    start: StartMode
    placeholders: PlaceholderMode
    cluster: ClusterOptions | None = None
    """None to translate in this process."""
    review: ReviewMarks = ReviewMarks.MARK
    memory: Path | None = None
    """TMX file whose exact matches are used."""
    terms: TermOptions = NO_TERMS
    """Terms, for the only language pair of all files."""
