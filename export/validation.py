"""Comparison of a bundle with its original model, in a fresh process, on the files as written.

The original is run as float32 graphs, or in PyTorch. The process reads what to compare as JSON from standard
input, and writes its report as JSON.
"""

import gc
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryFile
from typing import BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

from dragoman.bundle import Bundle, open_bundle
from dragoman.decoding.loop import make_strategy, search
from dragoman.decoding.strategy import Source, TargetLimits, TargetVocabulary
from dragoman.errors import BundleError, InputError
from dragoman.graphs.decoder import Decoder
from dragoman.graphs.encoder import CrossKV, Encoder
from dragoman.graphs.process_memory import give_back_free_memory
from dragoman.loading import open_tokenizers
from dragoman.manifest import Manifest
from dragoman.pipeline.preparation import Preparer
from dragoman.pipeline.segment_input import SegmentInput
from dragoman.providers import SessionOptions
from dragoman.reading.reader import Reader
from dragoman.types import Pair
from export.calibration import batches
from export.model_config import ModelConfig
from export.model_weights import ModelWeights
from export.original import RequestedLanguages
from export.reference import ReferenceGraphs
from export.samples import SampleText
from export.sources import load_original

RANDOM_BATCHES = 8
RANDOM_SOURCES = 4
"""Maximum number of sources of a random batch that run together: each row has a number for every token."""
SEED = 7
MAX_LOGPROB_DIFFERENCE = {"fp32": 1e-4, "fp16": 0.1}
MAX_RMS_DIFFERENCE = {"int8": 0.5}
"""Bounds on the root mean square of the differences: int8 rounds weights and activations, so that of
millions of log-probabilities after random tokens a few differ by some nats. The bounds catch a broken graph;
scores judge the rest."""
MIN_EQUAL_SENTENCES = {"fp32": 1.0, "fp16": 0.9, "int8": 0.6}
"""Share of sentences whose greedy output must equal the model's, token by token, up to a tie."""
MAX_TIE_DIFFERENCE = 1e-5
"""Difference of two log-probabilities below which rounding decides between their tokens."""
MIN_SENTENCES = 200

Ids = Sequence[Sequence[int]]


@dataclass(slots=True)
class ValidationReport:
    """Results of the comparison."""

    max_logprob_difference: float = 0.0
    rms_logprob_difference: float = 0.0
    num_sentences: int = 0
    num_equal: int = 0
    problems: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class GreedySearch:
    """A batch that the bundle has translated greedily."""

    sources: Sequence[Sequence[int]]
    begin: Sequence[int]
    """Ids that begin each target."""
    max_tokens: int
    """Limit of each target, `begin` and the end included."""
    found: Sequence[tuple[int, ...]]
    """Targets without `begin` and the end."""


class Implementation(Protocol):
    """The original model, however it is run."""

    config: ModelConfig

    def logprobs(
        self, sources: Sequence[Sequence[int]], targets: NDArray[np.int64]
    ) -> Iterator[NDArray[np.float32]]:
        """Yield the log-probabilities [R, V] after each token of given targets [R, T]."""
        ...

    def greedy(
        self, sources: Sequence[Sequence[int]], begin: Sequence[int], limits: Sequence[int]
    ) -> tuple[Ids, object]:
        """Return greedy translations without `begin` and the end; `limits` count both."""
        ...


def validate_in_fresh_process(
    bundle: Path,
    model: Path,
    wanted: RequestedLanguages,
    texts: Sequence[SampleText],
    *,
    with_pytorch: bool = False,
    is_generated: bool = False,
) -> ValidationReport:
    """Run this module in a process of its own; a crash there is a problem in the report."""
    given = {
        "bundle": str(bundle),
        "model": str(model),
        "languages": (wanted.sources, wanted.targets),
        "texts": [(*text.pair, str(text.path)) for text in texts],
        "with_pytorch": with_pytorch,
        "is_generated": is_generated,
    }
    command = [sys.executable, "-m", "export.validation"]
    done = subprocess.run(  # noqa: S603 -- our own module
        command, input=json.dumps(given), capture_output=True, text=True, check=False
    )
    try:
        return ValidationReport(**json.loads(done.stdout))
    except (ValueError, TypeError):
        return ValidationReport(
            problems=[f"validation ended with status {done.returncode}: {done.stderr[-2000:]}"]
        )


def validate(
    bundle_path: Path,
    open_model: Callable[[], Implementation],
    texts: Sequence[SampleText],
    *,
    is_generated: bool = False,
) -> ValidationReport:
    """Compare names and axes, log-probabilities over random batches, greedy output on sentences.

    The bundle runs first, and is closed before the original is opened: both are never in memory together.
    What the bundle has computed is kept, its log-probabilities on disk next to its folder.

    Args:
        bundle_path: folder of the bundle.
        open_model: opens the original.
        texts: sentences.
        is_generated: whether the texts are made up: rounding changes translations of nonsense more often.
    """
    report = ValidationReport()
    with TemporaryFile(dir=bundle_path.parent) as logprobs:
        try:
            bundle = open_bundle(bundle_path)
            searches = _run_bundle(bundle, texts, logprobs, report)
        except BundleError as error:
            report.problems += error.problems
            return report
        _give_back_memory()
        model = open_model()
        logprobs.seek(0)
        _compare_logprobs(bundle.manifest, logprobs, model, report)
    for ours in searches:
        theirs, _ = model.greedy(ours.sources, ours.begin, [ours.max_tokens] * len(ours.sources))
        report.num_equal += sum(
            tuple(target) == found or is_tie(model, ours, source, found, target)
            for source, found, target in zip(ours.sources, ours.found, theirs, strict=True)
        )
        give_back_free_memory()
    _judge(bundle.manifest.precision, report, is_generated=is_generated)
    return report


def is_tie(
    model: Implementation,
    search: GreedySearch,
    source: Sequence[int],
    found: Sequence[int],
    target: Sequence[int],
) -> bool:
    """Return whether the first tokens that differ are equally probable, up to rounding."""
    eos = model.config.eos_id
    pairs = enumerate(zip_longest(found, target, fillvalue=eos))
    position, tokens = next((index, pair) for index, pair in pairs if pair[0] != pair[1])
    begun = np.array([[*search.begin, *target[:position]]], np.int64)
    *_, last = model.logprobs([source], begun)
    ours, theirs = last[0, list(tokens)]
    return bool(abs(ours - theirs) < MAX_TIE_DIFFERENCE)


def _judge(precision: str, report: ValidationReport, *, is_generated: bool) -> None:
    """Add the problems that the numbers of a report show."""
    for measured, found, bounds in (
        ("up to", report.max_logprob_difference, MAX_LOGPROB_DIFFERENCE),
        ("a root mean square of", report.rms_logprob_difference, MAX_RMS_DIFFERENCE),
    ):
        allowed = bounds.get(precision)
        if allowed is not None and not found <= allowed:
            report.problems.append(f"log-probabilities differ by {measured} {found:.3g}, over {allowed}")
    wanted = 0.0 if is_generated and precision != "fp32" else MIN_EQUAL_SENTENCES[precision]
    if report.num_sentences < MIN_SENTENCES:
        report.problems.append(f"{report.num_sentences} sentences given; at least {MIN_SENTENCES} are needed")
    if report.num_equal < wanted * report.num_sentences:
        report.problems.append(
            f"greedy output equals the model's on {report.num_equal} of {report.num_sentences} sentences; "
            f"at least {wanted:.0%} is required"
        )


def _run_bundle(
    bundle: Bundle, texts: Sequence[SampleText], logprobs: BinaryIO, report: ValidationReport
) -> list[GreedySearch]:
    """Run the bundle: write its log-probabilities over random batches, return its greedy output.

    Encoder and decoder are never open together: what the encoder has computed for all sources waits on disk.

    Raises:
        BundleError: a graph cannot be loaded.
    """
    preparer = Preparer(bundle.manifest.languages, bundle.manifest.limits, Reader(open_tokenizers(bundle)[0]))
    random = list(_random_batches(bundle.manifest))
    in_texts = [
        (preparer.begin(text.pair), batch)
        for text in texts
        for batch in batches(_sources(preparer, text), len)
    ]
    searches: list[GreedySearch] = []
    with TemporaryFile(dir=bundle.path.parent) as file:
        _encode(bundle, [batch for batch, _ in random] + [batch for _, batch in in_texts], file)
        _give_back_memory()  # loading takes several times the size of a graph
        decoder = Decoder(bundle, SessionOptions())
        _give_back_memory()
        file.seek(0)
        for batch, targets in random:
            steps = _logprobs_by_steps(decoder, _read_encoded(file, batch), targets)
            logprobs.writelines(found.data for found in steps)
        try:
            for begin, batch in in_texts:
                cross = _read_encoded(file, batch)
                searches.append(_search_greedily(bundle.manifest, decoder, cross, batch, begin))
        except FloatingPointError as error:
            report.problems.append(f"greedy search: {error}")
    report.num_sentences = sum(len(each.sources) for each in searches)
    return searches


def _encode(bundle: Bundle, sources: Iterable[Ids], file: BinaryIO) -> None:
    """Write the cross K/V of each batch of sources to a file."""
    encoder = Encoder(bundle, SessionOptions())
    for batch in sources:
        np.save(file, encoder.run(batch).memory, allow_pickle=False)


def _read_encoded(file: BinaryIO, sources: Ids) -> CrossKV:
    """Read the cross K/V of the next batch of sources from a file."""
    return CrossKV(np.load(file, allow_pickle=False), np.array([len(source) for source in sources], np.int64))


def _give_back_memory() -> None:
    gc.collect()
    give_back_free_memory()


def _compare_logprobs(
    manifest: Manifest, logprobs: BinaryIO, model: Implementation, report: ValidationReport
) -> None:
    squares, count = 0.0, 0
    for sources, targets in _random_batches(manifest):
        for expected in model.logprobs(sources, targets):
            found = np.frombuffer(logprobs.read(expected.nbytes), np.float32).reshape(expected.shape)
            is_forbidden = (expected == found) & np.isneginf(expected)
            difference = np.abs(np.subtract(found, expected, where=~is_forbidden, out=np.zeros_like(found)))
            report.max_logprob_difference = _max_or_nan(report.max_logprob_difference, difference)
            squares += float(np.square(difference, dtype=np.float64).sum())
            count += difference.size
        give_back_free_memory()
    report.rms_logprob_difference = math.sqrt(squares / count)


def _random_batches(manifest: Manifest) -> Iterator[tuple[Ids, NDArray[np.int64]]]:
    """Yield the same random sources and targets at each call."""
    rng, sizes, eos_id = np.random.default_rng(SEED), manifest.sizes, manifest.special_ids.eos
    for _ in range(RANDOM_BATCHES):
        sources = _random_rows(rng, sizes.source_vocab, eos_id)
        beams = int(rng.integers(1, 4))
        targets = rng.integers(eos_id + 1, sizes.target_vocab, (len(sources) * beams, 12))
        for first in range(0, len(sources), RANDOM_SOURCES):
            last = first + RANDOM_SOURCES
            yield sources[first:last], targets[first * beams : last * beams]


def _logprobs_by_steps(
    decoder: Decoder, cross: CrossKV, targets: NDArray[np.int64]
) -> Iterator[NDArray[np.float32]]:
    """Yield the bundle's log-probabilities [R, V] after each token of given targets [R, T]."""
    num_rows, num_steps = targets.shape
    steps = decoder.start(cross, num_rows // cross.num_sources)
    for step in range(num_steps):
        logprobs, ids = steps.step(targets[:, step], decoder.vocab_size)
        found = np.empty_like(logprobs)
        np.put_along_axis(found, ids, logprobs, axis=1)
        yield found


def _search_greedily(
    manifest: Manifest, decoder: Decoder, cross: CrossKV, sources: Ids, begin: tuple[int, ...]
) -> GreedySearch:
    target = TargetVocabulary(manifest.special_ids.eos, manifest.sizes.target_vocab)
    wanted = min(2 * max(map(len, sources)) + 10, manifest.limits.max_target_tokens)
    max_tokens = wanted + len(begin) - 1
    limits = TargetLimits(max_tokens, len(begin) - 1)
    strategy = make_strategy([Source(source, limits, begin) for source in sources], 1, target)
    found = search(decoder.start(cross, 1), strategy)
    return GreedySearch(sources, begin, max_tokens, [best[0].ids for best in found])


def _sources(preparer: Preparer, text: SampleText) -> Ids:
    """Return the segments of all lines as ids, the shortest first."""
    sources: list[Sequence[int]] = []
    for prepared in preparer.prepare([*text.lines()], text.pair, 0):
        if not isinstance(prepared, InputError):
            sources += [source.ids for source in prepared.sources if isinstance(source, SegmentInput)]
    return sorted(sources, key=len)


def _random_rows(rng: np.random.Generator, vocab_size: int, eos_id: int) -> Ids:
    """Return one to eight random sources of 1 to 40 tokens."""
    lengths = rng.integers(1, 41, int(rng.integers(1, 9)))
    return [[*rng.integers(eos_id + 1, vocab_size, length - 1).tolist(), eos_id] for length in lengths]


def _max_or_nan(so_far: float, difference: NDArray[np.float32]) -> float:
    """Return the larger value, or NaN if either is NaN, so that a broken graph cannot hide behind one."""
    return float(np.maximum(so_far, difference.max()))


def open_original(model: ModelWeights, *, with_pytorch: bool) -> Implementation:
    """Return the original in float32 graphs, or in PyTorch."""
    if not with_pytorch:
        return ReferenceGraphs(model)
    from export.pytorch import PyTorchModel  # noqa: PLC0415 -- only here PyTorch is needed

    return PyTorchModel(model)


def main() -> None:
    given = json.load(sys.stdin)
    wanted = RequestedLanguages(*map(tuple, given["languages"]))
    texts = [SampleText(Pair(source, target), Path(file)) for source, target, file in given["texts"]]

    def open_model() -> Implementation:
        model = load_original(Path(given["model"]), wanted).model
        return open_original(model, with_pytorch=given["with_pytorch"])

    report = validate(Path(given["bundle"]), open_model, texts, is_generated=given["is_generated"])
    json.dump(asdict(report), sys.stdout)


if __name__ == "__main__":
    main()
