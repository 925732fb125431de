"""A whole batch job: survey the files, translate entries that the journal does not have, write the files.

The same text always gets the same translation, so the journal has one outcome for each distinct entry,
wherever it occurs. Three guarantees follow: repeated entries are translated once; entries translated by an
earlier run are not translated again; and the output is the same, byte for byte, however often the job was
killed and resumed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event

from dragoman.types import Pair
from service.batch.files import JobFile, Survey, survey_all
from service.batch.journal import Journal
from service.batch.output_files import OnFailure, write_files
from service.batch.pending_entries import ChunkLimits, PendingEntriesPass, TranslatorOf
from service.batch.progress import BatchReport, OnProgress, ignore_progress
from service.formats.isolation import IsolatedFormat


@dataclass(frozen=True, slots=True)
class Job:
    """A batch job: files to translate, and all that their translation depends on."""

    files: tuple[JobFile, ...]
    facts: Mapping[str, str]
    """All that the output depends on besides the files, such as bundles and options, under readable names."""
    problems_path: Path
    """Path of the side file that lists entries that were not translated or were cut, in JSON lines."""
    on_failure: OnFailure = OnFailure.SOURCE
    chunks: ChunkLimits = field(default_factory=ChunkLimits)


def run_job(
    job: Job,
    translator_of: TranslatorOf,
    journal: Journal,
    *,
    on_progress: OnProgress = ignore_progress,
    stop: Event | None = None,
) -> BatchReport:
    """Run a job, or resume it from its journal.

    Args:
        job: the job.
        translator_of: returns the translator for a pair of languages.
        journal: journal of this job; nobody else may write to it meanwhile.
        on_progress: called often, on this thread; must be fast.
        stop: set by another thread or a signal handler to end the job soon.

    Raises:
        OtherJob: the journal belongs to a job with other files or facts.
        JournalDamaged, InputProblem, InputChanged: see `service.batch.errors`; a retry would fail as well.
        JobCancelled, ReadingStopped, OutputFailed, JournalFailed: the same call resumes the job.
        TranslatorClosed: the translator was closed; the same call resumes the job.
    """
    stop = stop or Event()
    surveys = begin(job, journal, stop)
    num_translated = translate_pending(
        job, translator_of, journal, surveys=surveys, on_progress=on_progress, stop=stop
    )
    return finish(job, surveys, journal, num_translated=num_translated, stop=stop)


def begin(job: Job, journal: Journal, stop: Event) -> list[Survey]:
    """Survey the files and record the job's facts in the journal. Errors are those of `run_job`."""
    surveys = survey_all(job.files, stop)
    journal.begin({**job.facts, **_facts_of_files(job, surveys)})
    return surveys


def translate_pending(
    job: Job,
    translator_of: TranslatorOf,
    journal: Journal,
    *,
    surveys: Sequence[Survey],
    on_progress: OnProgress,
    stop: Event,
) -> int:
    """Translate the pending entries; return the number of distinct ones. Errors are those of `run_job`."""
    num_entries = sum(survey.num_entries for survey in surveys)
    pending = PendingEntriesPass(journal, num_entries, chunks=job.chunks, on_progress=on_progress, stop=stop)
    for pair, files in by_pair(job.files).items():
        pending.run(files, pair, translator_of(pair))
    return pending.num_translated


def finish(
    job: Job, surveys: Sequence[Survey], journal: Journal, *, num_translated: int, stop: Event
) -> BatchReport:
    """Write the files, whose entries are all in the journal. Errors are those of `run_job`."""
    tally = write_files(
        job.files,
        surveys,
        journal,
        on_failure=job.on_failure,
        problems_path=job.problems_path,
        stop=stop,
    )
    num_entries = sum(survey.num_entries for survey in surveys)
    return BatchReport(num_entries, tally.num_failed, tally.num_cut, num_translated)


def _facts_of_files(job: Job, surveys: Sequence[Survey]) -> dict[str, str]:
    facts = {"what stands for entries that fail": str(job.on_failure), "number of files": str(len(job.files))}
    for file, survey in zip(job.files, surveys, strict=True):
        # The process in which a file is read makes no difference.
        known = file.format.inner if isinstance(file.format, IsolatedFormat) else file.format
        facts[f"file {file.name}"] = f"{survey.fact}, {file.pair}, read by {type(known).__name__}"
    return facts


def by_pair(files: Sequence[JobFile]) -> dict[Pair, list[JobFile]]:
    """Group files by pair of languages: each group goes to one translator, as one stream."""
    grouped: dict[Pair, list[JobFile]] = {}
    for file in files:
        grouped.setdefault(file.pair, []).append(file)
    return grouped
