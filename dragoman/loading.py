"""Parts of a translator other than its graphs: read from a bundle, or chosen for the hardware."""

from functools import lru_cache
from pathlib import Path

from dragoman.bundle import Bundle, verify_files
from dragoman.contract import INT8
from dragoman.cpus import available_cpus
from dragoman.errors import BundleError
from dragoman.manifest import Manifest, TokenizerFiles
from dragoman.providers import SessionOptions
from dragoman.reading.reading_file import AS_WRITTEN, READING_FILE, Reading, load_reading
from dragoman.scheduling.policy import Capacity
from dragoman.scheduling.scheduler import SchedulerOptions
from dragoman.shortlist import SHORTLIST_FILE, Shortlist
from dragoman.text.alphabet import Spelling
from dragoman.text.tokenizer import Tokenizer

MAX_CACHED_READINGS = 64
GPU_CAPACITY = Capacity(
    max_rows=1024,
    max_sources=256,
    budget_tokens=32768,
    encoder_tokens=32768,
    encoder_run_tokens=16384,
    step_rows=4096,
    bulk_join_steps=8,
    max_jobs_with_interactive=64,
)
"""A guess: a step of few rows leaves most of a GPU idle. On an H200, encoding and joining a small batch took
6 ms, the time of four steps, or of some 16,000 tokens in a large batch."""


def scheduler_options(session: SessionOptions, replicas: int | None, queue_size: int) -> SchedulerOptions:
    """Choose the number of replicas and their capacity.

    Args:
        session: options of the graphs' sessions.
        replicas: None for one on a GPU, otherwise for as many as there are CPUs for their threads.
        queue_size: maximum number of waiting segments.
    """
    if replicas is None:
        replicas = 1 if session.is_gpu else max(1, available_cpus() // session.threads)
    return SchedulerOptions(replicas, queue_size, GPU_CAPACITY if session.is_gpu else Capacity())


def open_tokenizers(bundle: Bundle) -> tuple[Tokenizer, Tokenizer]:
    """Load the source's and the target's tokenizer.

    Raises:
        BundleError: a tokenizer and the model differ in the number of pieces, or a language uses an id that
            no vocabulary has.
    """
    manifest, sizes = bundle.manifest, bundle.manifest.sizes
    source = _open_tokenizer(bundle, manifest.source_tokenizer)
    target = source
    if manifest.target_tokenizer != manifest.source_tokenizer:
        target = _open_tokenizer(bundle, manifest.target_tokenizer)
    found = (
        (manifest.source_tokenizer, source.vocab_size, sizes.source_vocab),
        (manifest.target_tokenizer, target.vocab_size, sizes.target_vocab),
    )
    problems = [
        f"{files.vocabulary or files.model} has {has} pieces, but the manifest says {wanted}"
        for files, has, wanted in found
        if has != wanted
    ]
    problems += _language_problems(manifest)
    if problems:
        raise BundleError(str(bundle.path), tuple(problems))
    return source, target


def verify_bundle(bundle: Bundle) -> list[str]:
    """Return a problem for every file that is missing or damaged; else those of the tokenizers."""
    problems = verify_files(bundle)
    if not problems:
        try:
            open_tokenizers(bundle)
            open_reading(bundle)
        except BundleError as error:
            problems.extend(error.problems)
    return problems


def open_reading(bundle: Bundle) -> Reading:
    """Load what the bundle's model reads in place of texts as they are written; raise BundleError."""
    record = bundle.manifest.files.get(READING_FILE)
    if record is None:
        return AS_WRITTEN
    return _cached_reading(bundle.file(READING_FILE), tuple(bundle.manifest.languages.sources), record.sha256)


@lru_cache(MAX_CACHED_READINGS)
def _cached_reading(path: Path, sources: tuple[str, ...], _sha256: str) -> Reading:
    return load_reading(path, sources)


def open_spelling(bundle: Bundle) -> Spelling:
    """Load the tokenizers alone. Raises BundleError."""
    return Spelling(*open_tokenizers(bundle))


def _open_tokenizer(bundle: Bundle, files: TokenizerFiles) -> Tokenizer:
    vocabulary = None if files.vocabulary is None else bundle.file(files.vocabulary)
    return Tokenizer.load(bundle.file(files.model), vocabulary, normalises=files.normalises)


def _language_problems(manifest: Manifest) -> list[str]:
    """Return a problem for each language that adds ids which are outside the vocabulary."""
    sizes, languages = manifest.sizes, manifest.languages
    used = [
        (f"sources.{code}", max((*source.before, *source.after), default=0), sizes.source_vocab)
        for code, source in languages.sources.items()
    ]
    for code, target in languages.targets.items():
        used.append((f"targets.{code}", max(target.source_before, default=0), sizes.source_vocab))
        used.append((f"targets.{code}", max(target.begin), sizes.target_vocab))
    return [
        f"languages.{field}: id {largest} is outside the vocabulary of {size}"
        for field, largest, size in used
        if largest >= size
    ]


def open_shortlist(bundle: Bundle) -> Shortlist | None:
    """Load the bundle's shortlist, if it has one.

    Raises:
        BundleError: its graphs cannot use the shortlist, or the file is damaged.
    """
    manifest = bundle.manifest
    if SHORTLIST_FILE not in manifest.files:
        return None
    if manifest.precision != INT8:
        problem = f"{SHORTLIST_FILE} is for {INT8} bundles, but this one is {manifest.precision}"
        raise BundleError(str(bundle.path), (problem,))
    sizes = manifest.sizes
    path = bundle.file(SHORTLIST_FILE)
    return Shortlist.load(path, sizes.source_vocab, sizes.target_vocab, manifest.special_ids.eos)
