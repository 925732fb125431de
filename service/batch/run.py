"""A whole batch job: survey the files, translate entries that the journal does not have, write the files.

The same text always gets the same translation, so the journal has one outcome for each distinct entry,
wherever it occurs. Three guarantees follow: repeated entries are translated once; entries translated by an
earlier run are not translated again; and the output is the same, byte for byte, however often the job was
killed and resumed.
"""

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import BinaryIO

from dragoman.manifest import Manifest
from dragoman.providers import ONNXRUNTIME, Provider
from dragoman.routing.options import DEFAULT_TRANSLATORS, TranslatorOptions
from dragoman.routing.router import Router
from dragoman.search_model import has_native_kernels
from dragoman.terms import Terminology
from dragoman.types import Pair
from service.batch.errors import InputChanged, JobCancelled
from service.batch.files import (
    JobFile,
    Survey,
    digest_file,
    open_source,
    read_entries,
    survey_all,
    write_atomically,
)
from service.batch.journal import Journal, look_up
from service.batch.pending_entries import ChunkLimits, PendingEntriesPass, TranslatorOf
from service.batch.progress import BatchReport, OnProgress
from service.formats.entries import Entry, TargetText
from service.formats.isolation import IsolatedFormat
from service.formats.review_marks import ReviewMarks
from service.text.marked_text import MarkedText
from service.text.outcome import TextOutcome
from service.translation.options import BATCH, OnFailure, TranslationOptions
from service.versions import installed_version

UNTRANSLATED = "untranslated"
FLAGGED = "flagged"
CUT = "a length limit was reached; the translation may be incomplete"


def finish(
    job: "BatchJob", surveys: Sequence[Survey], journal: Journal, *, num_translated: int, stop: Event
) -> BatchReport:
    """Write all files, each completely or not at all, and list problems with their entries in a side file.

    The side file has a JSON object for each entry that was not translated, was cut or failed a check. If
    there are none, there is no such file.

    Args:
        job: job whose entries are all in the journal.
        surveys: survey of each file from when the job began.
        journal: journal of the job.
        num_translated: number of distinct entries translated in this run.
        stop: checked now and then.

    Raises:
        InputChanged: a file has changed since its survey.
        InputProblem: a file cannot be read.
        OutputFailed: a file cannot be written.
        JobCancelled: `stop` was set.
    """
    report = BatchReport(sum(survey.num_entries for survey in surveys), num_translated=num_translated)
    with ExitStack() as opened:
        problems = _ProblemsFile(job.problems_path, opened)
        for file, survey in zip(job.files, surveys, strict=True):
            _write_file(file, survey, _OutputTexts(job, file, journal, report, problems, stop))
    if problems.target is None:
        job.problems_path.unlink(missing_ok=True)  # left by an earlier run
    return report


def _write_file(file: JobFile, survey: Survey, texts: "_OutputTexts") -> None:
    with write_atomically(file.target) as target, open_source(file) as source:
        file.format.write(source, iter(texts), target)
        if digest_file(source) != (survey.size_bytes, survey.sha256):
            raise InputChanged(file.name)


def reports_failures(problems_path: Path) -> bool:
    """Return whether the side file, if it exists, lists entries that failed, and not only cut ones."""
    return any(_problems(problems_path, {UNTRANSLATED, FLAGGED}))


def first_failure(problems_path: Path) -> str | None:
    """Return the position and the problem of the first untranslated entry; None if there is none."""
    record = next(_problems(problems_path, {UNTRANSLATED}), None)
    return None if record is None else f"{record['file']}: {record['place']}: {record['problem']}"


def _problems(problems_path: Path, outcomes: Collection[str]) -> Iterator[Mapping[str, str]]:
    """Yield the records of these outcomes; none if there is no file."""
    try:
        with problems_path.open(encoding="utf-8") as lines:
            yield from (record for record in map(json.loads, lines) if record["outcome"] in outcomes)
    except FileNotFoundError:
        return


@dataclass(slots=True)
class _ProblemsFile:
    """The side file, which is created with the first problem."""

    path: Path
    opened: ExitStack
    target: BinaryIO | None = None

    def add(self, file: JobFile, entry: Entry, outcome: str, problem: str, check: str | None = None) -> None:
        if self.target is None:
            self.target = self.opened.enter_context(write_atomically(self.path))
        record = {
            "file": file.name,
            "place": entry.location,
            "outcome": outcome,
            "problem": problem,
            "text": entry.text,
        }
        if check is not None:
            record["check"] = check
        line = json.dumps(record, ensure_ascii=False) + "\n"
        # A lone surrogate cannot be encoded in UTF-8.
        self.target.write(line.encode("utf-8", "backslashreplace"))


@dataclass(frozen=True, slots=True)
class _OutputTexts:
    """The texts to write for the entries of a file, in order."""

    job: "BatchJob"
    file: JobFile
    journal: Journal
    report: BatchReport
    problems: _ProblemsFile
    stop: Event

    def __iter__(self) -> Iterator[TargetText]:
        for window in look_up(self.journal, read_entries(self.file), self.file.pair):
            if self.stop.is_set():
                raise JobCancelled
            for _, entry, outcome in window:
                if outcome is None:
                    raise InputChanged(self.file.name)  # all entries of the surveyed file have an outcome
                yield self._text(entry, outcome)

    def _text(self, entry: Entry, outcome: TextOutcome) -> TargetText:
        """Return a text with its review marks, unless these are off, or nothing was to be done."""
        check = outcome.failed[0].check if outcome.failed else None
        if outcome.is_cut:
            self.report.num_cut += 1
            self.problems.add(self.file, entry, "cut", CUT)
        if outcome.is_source:
            self.report.num_failed += 1
            self.report.failed_characters += len(entry.text)
            self.problems.add(self.file, entry, UNTRANSLATED, outcome.problem or "", check)
            if self.job.options.on_failure is OnFailure.EMPTY:
                return TargetText(MarkedText(""))
        elif outcome.problem is not None:
            self.report.num_flagged += 1
            self.problems.add(self.file, entry, FLAGGED, outcome.problem, check)
        review, pair = self.job.options.review, self.file.pair
        is_marked = review is not ReviewMarks.OFF and pair.source != pair.target
        confidence = outcome.confidence if review is ReviewMarks.CONFIDENCE else None
        return TargetText(outcome.marked, outcome.origin if is_marked else None, confidence)


@dataclass(frozen=True, slots=True)
class BatchJob:
    """A batch job: files to translate, and all that their translation depends on."""

    files: tuple[JobFile, ...]
    facts: Mapping[str, str]
    """All that the output depends on besides the files, such as bundles and options, under readable names."""
    problems_path: Path
    """Path of the side file that lists entries that failed, were cut or are to be reviewed, as JSON lines."""
    options: TranslationOptions = BATCH
    chunks: ChunkLimits = field(default_factory=ChunkLimits)


def run_job(
    job: BatchJob,
    translator_of: TranslatorOf,
    journal: Journal,
    *,
    on_progress: OnProgress = lambda _: None,
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


def begin(job: BatchJob, journal: Journal, stop: Event) -> list[Survey]:
    """Survey the files and record the job's facts in the journal. Errors are those of `run_job`."""
    surveys = survey_all(job.files, stop)
    journal.begin({**job.facts, **_facts_of_files(job, surveys)})
    return surveys


def translate_pending(
    job: BatchJob,
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


def _facts_of_files(job: BatchJob, surveys: Sequence[Survey]) -> dict[str, str]:
    facts = {
        "what stands for entries that fail": str(job.options.on_failure),
        "review marks": str(job.options.review),
        "number of files": str(len(job.files)),
    }
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


SHOWN_DIGITS = 16
"""Number of hexadecimal digits of a manifest's digest."""


def translator_facts(
    router: Router,
    pairs: Collection[Pair],
    options: TranslationOptions,
    translators: TranslatorOptions = DEFAULT_TRANSLATORS,
) -> dict[str, str]:
    """Return bundles, versions and options, each under a readable name.

    Args:
        router: router that will translate.
        pairs: languages of all files.
        options: how texts are translated.
        translators: how the bundles are opened.

    Raises:
        UnsupportedPair: no model serves a pair.
        InputError: there is no such model.
    """
    decoding = options.decoding
    manifests = {known.offer.name: known.manifest for known in router.models()}
    facts = {
        "engine": _engine(translators.providers),
        "kernels": _kernels(translators),
        "decoding": json.dumps(asdict(replace(decoding, terminology=None)), sort_keys=True, default=str),
        "terms": _terms_digest(decoding.terminology),
        "placeholders": str(options.placeholders),
    }
    for pair in sorted(set(pairs)):
        route = None if pair.source == pair.target else router.route(*pair, options.model)
        names = [] if route is None else [step.offer.name for step in route.steps]
        bundles = [f"{name} (manifest {manifest_digest(manifests[name])})" for name in names]
        facts[f"bundles of {pair}"] = " then ".join(bundles) or "none, as nothing is to be done"
    return facts


def manifest_digest(manifest: Manifest) -> str:
    """Return a digest that identifies the bundle, as its manifest has digests of all its files."""
    manifest_json = json.dumps(asdict(manifest), sort_keys=True, default=str)
    return hashlib.sha256(manifest_json.encode()).hexdigest()[:SHOWN_DIGITS]


def _terms_digest(terminology: Terminology | None) -> str:
    """Return a digest of all terms, which may be many."""
    if terminology is None:
        return "none"
    digest = hashlib.sha256(json.dumps(asdict(terminology)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:SHOWN_DIGITS]


def _kernels(translators: TranslatorOptions) -> str:
    """Return whether the engine's own kernels run what they can run: translations may differ by that."""
    return "native" if has_native_kernels(translators.session, translators.kernels) else ONNXRUNTIME


def _engine(providers: Sequence[Provider]) -> str:
    versions = (
        f"{name} {installed_version(name)}" for name in ("dragoman", "onnxruntime", "onnxruntime-gpu")
    )
    return f"{', '.join(versions)} on {','.join(providers)}"
