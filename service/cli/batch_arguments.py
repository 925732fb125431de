"""Options of `dragoman batch`, once they are parsed."""

from dataclasses import dataclass
from pathlib import Path

from service.batch.job_directory import StartMode
from service.batch.planning import LanguageOptions
from service.cli.terms import NO_TERMS, TermOptions
from service.cluster import ClusterOptions
from service.translation.options import TranslationOptions


@dataclass(frozen=True, slots=True)
class BatchArguments:
    """The command's options."""

    inputs: tuple[str, ...]
    output: str
    languages: LanguageOptions
    options: TranslationOptions
    start: StartMode
    cluster: ClusterOptions | None = None
    """None to translate in this process."""
    memory: Path | None = None
    """TMX file whose exact matches are used."""
    terms: TermOptions = NO_TERMS
    """Terms, for the only language pair of all files."""
