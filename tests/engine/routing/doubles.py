"""Bundles without a model, and a double for what opens them."""

import json
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from dragoman.bundle import file_sha256, open_bundle
from dragoman.contract import DECODER_FILE, ENCODER_FILE, FORMAT_VERSION
from dragoman.decoding.options import DecodingOptions
from dragoman.errors import DeadlineExceeded, InputError, TranslatorClosed
from dragoman.languages import Languages, SourceLanguage, TargetLanguage
from dragoman.manifest import (
    MANIFEST_FILE,
    AlignmentHeads,
    DecodingDefaults,
    FileRecord,
    Manifest,
    ModelLimits,
    Sizes,
    SpecialIds,
    TokenizerFiles,
)
from dragoman.manifest_json import to_json_content
from dragoman.pipeline.engine_request import EngineRequest
from dragoman.pipeline.pending_translation import resolve
from dragoman.routing.routes import Offer
from dragoman.scheduling.metrics import EngineMetrics, QueueState
from dragoman.translator import DEFAULT_REQUEST
from dragoman.types import (
    Alternative,
    FinishReason,
    Pair,
    Priority,
    SearchKind,
    SegmentTranslation,
    Span,
    Token,
    Translation,
)
from tests.paths import TINY

Result = TypeVar("Result")
TIMEOUT_S = 60
TOKENIZER = TINY / "bundle-int8" / "source.spm"
VOCAB_SIZE = 360


def languages(sources: Iterable[str], targets: Iterable[str]) -> Languages:
    return Languages(
        {code: SourceLanguage((), (), (3,)) for code in sources},
        {code: TargetLanguage((), (), (2,)) for code in targets},
    )


def offer(name: str, sources: str, targets: str, title: str | None = None) -> Offer:
    """Codes with spaces between them."""
    return Offer(name, title or name, languages(sources.split(), targets.split()))


def write_bundle(
    folder: Path,
    name: str,
    sources: Sequence[str] = ("de",),
    targets: Sequence[str] = ("en",),
    filler: str = "",
) -> Path:
    """A bundle whose files verify, with a tokenizer but no model; `filler` makes them other ones."""
    folder.mkdir(parents=True)
    names = (ENCODER_FILE, DECODER_FILE, "source.model", "target.model")
    for file_name in names:
        filled = (file_name + filler).encode() * 1000
        (folder / file_name).write_bytes(TOKENIZER.read_bytes() if file_name.endswith(".model") else filled)
    records = {
        file_name: FileRecord(file_sha256(folder / file_name), (folder / file_name).stat().st_size)
        for file_name in names
    }
    source, target = (TokenizerFiles(f"{side}.model", None, normalises=True) for side in ("source", "target"))
    manifest = Manifest(
        FORMAT_VERSION,
        name,
        languages(sources, targets),
        "int8",
        "float32",
        "attention",
        Sizes(2, 4, 16, VOCAB_SIZE, VOCAB_SIZE),
        SpecialIds(0, 1, 3),
        ModelLimits(256, 200),
        source,
        target,
        DecodingDefaults(),
        AlignmentHeads(1, (0,), reads_token=False),
        records,
        licence="CC-BY-4.0",
        origin={"steps": 1000},
        scores={"captions": {"bleu": 31.5}},
    )
    (folder / MANIFEST_FILE).write_text(json.dumps(to_json_content(manifest)), encoding="utf-8")
    return folder


def replace_bundle(folder: Path, name: str, source: str = "de", target: str = "en", filler: str = "") -> None:
    """Replace a bundle as the exporter does: written elsewhere, then renamed."""
    staging = folder.with_name(f".{folder.name}.new")
    write_bundle(staging, name, [source], [target], filler)
    old = folder.with_name(f".{folder.name}.old")
    folder.rename(old)
    staging.rename(folder)
    shutil.rmtree(old)


class DisruptingMetrics(EngineMetrics):
    """Sits in the engine's steps, where it may raise or wait."""

    def __init__(self) -> None:
        self.is_armed = False
        self._is_due = False
        self._is_held = False
        """Neither before a replica took something: a step of what was asked before may be ending still."""
        self.may_go_on = threading.Event()
        self.may_go_on.set()

    def segments_joined(self, kind: SearchKind, waited_s: Sequence[float]) -> None:
        super().segments_joined(kind, waited_s)
        self._is_due = self.is_armed
        self._is_held = not self.may_go_on.is_set()

    def step_done(self, num_rows: int, num_sources: int, capacity_rows: int, duration_s: float) -> None:
        """What it raises is no source's fault: the replica's thread ends, and with it the translator."""
        del num_rows, num_sources, capacity_rows, duration_s
        assert not self._is_held or self.may_go_on.wait(TIMEOUT_S)
        if self._is_due:
            self._is_due = self.is_armed = False
            raise MemoryError


def line_segments(
    lines: Sequence[str], targets: Sequence[str], score: float | None, reason: FinishReason
) -> tuple[SegmentTranslation, ...]:
    """Every line that is not empty as a segment; lines and targets have one character between them."""
    segments = []
    source_start = start = 0
    for line, target in zip(lines, targets, strict=True):
        spans = Span(source_start, source_start + len(line)), Span(start, start + len(target))
        if line:
            segments.append(SegmentTranslation(line, target, score, reason, 1, 1, *spans))
        source_start, start = spans[0].end + 1, spans[1].end + 1
    return tuple(segments)


def tell(
    translation: Translation,
    on_segment: Callable[[SegmentTranslation], object] | None,
    on_token: Callable[[int, str], object] | None,
) -> None:
    """What the engine tells while it translates; tokens are words."""
    for number, segment in enumerate(translation.segments):
        words = segment.text.split(" ")
        if on_token is not None:
            for count in range(1, len(words) + 1):
                on_token(number, " ".join(words[:count]))
        if on_segment is not None:
            on_segment(segment)


def scored(source: str, target: str) -> SegmentTranslation:
    """Every word is a token, of log-probability -1."""
    if "unusable" in target:
        raise InputError("target", "is not usable")
    tokens = tuple(Token(word, -1.0) for word in target.split())
    spans = Span(0, len(source)), Span(0, len(target))
    return SegmentTranslation(
        source, target, -1.0, FinishReason.STOP, 1, len(tokens), *spans, links=(), tokens=tokens
    )


def answer(future: Future[Result], make: Callable[[], Result]) -> None:
    """Resolve a future that may have been cancelled."""
    try:
        outcome: Result | Exception = make()
    except Exception as error:  # noqa: BLE001 -- the caller sees it
        outcome = error
    resolve(future, outcome)


def started(
    threads: ThreadPoolExecutor, make: Callable[[], Result], on_done: Callable[[Future[Result]], object]
) -> Future[Result]:
    """What a thread makes; it may be cancelled until it is done, as the engine's may."""
    future: Future[Result] = Future()
    future.add_done_callback(on_done)
    threads.submit(answer, future, make)
    return future


class DoubleTranslator:
    """Puts its name behind every segment, as in `Hallo|de-en`; segments are lines. Words make it misbehave.

    `unusable` is an InputError, `explode` a RuntimeError, `late` DeadlineExceeded, `cut` ends by length,
    `copy` is copied, and `wait` lasts until `released` is set.
    """

    def __init__(self, manifest: Manifest, score: float = -1.0) -> None:
        self.manifest = manifest
        self.usual_score = score
        self.released = threading.Event()
        self.is_waiting = threading.Event()
        self.is_closed = False
        self.minds_closing = True
        self.kernels, self.why_not_native = "doubled", "it is a double"
        self.num_under_way = 0
        self.seen: list[tuple[str, DecodingOptions]] = []
        self.requests: list[EngineRequest] = []
        self.submitted_on: list[str] = []
        self.cancelled: list[str] = []
        self._counting = threading.Lock()
        self._threads = ThreadPoolExecutor(8, "double-engine")

    @property
    def pairs(self) -> list[Pair | None]:
        return [request.pair for request in self.requests]

    def queue(self) -> QueueState:
        return QueueState(self.num_under_way, 1, 0)

    def unknown_spans(self, text: str) -> Sequence[Span]:
        """It spells everything."""
        del text
        return ()

    def can_spell(self, target: str) -> bool:
        """It spells all but Cyrillic."""
        return not any("\u0400" <= letter <= "\u04ff" for letter in target)

    def close(self) -> None:
        assert not (self.num_under_way and self.minds_closing), "closed in use"
        self.is_closed = True
        self.released.set()
        self._threads.shutdown(wait=False, cancel_futures=True)

    def submit(self, text: str, request: EngineRequest = DEFAULT_REQUEST) -> Future[Translation]:
        """As the engine does: the future may be cancelled until it is done."""
        self.requests.append(request)
        if self.is_closed:
            raise TranslatorClosed("the double is closed")
        self.seen.append((text, request.options))
        self.submitted_on.append(threading.current_thread().name)
        defaults = self.manifest.decoding
        request.options.resolve(defaults.beam_size, defaults.length_penalty, defaults.early_stopping)
        if "unusable" in text:
            raise InputError("text", "is not usable")
        self._count(1)

        def translate() -> Translation:
            outcome = self._translate(text, request.options)
            if request.on_segmented is not None:
                request.on_segmented([segment.source for segment in outcome.segments])
            tell(outcome, request.on_segment, request.on_token)
            return outcome

        def note(done: Future[Translation]) -> None:
            self._count(-1)
            if done.cancelled():
                self.cancelled.append(text)

        return started(self._threads, translate, note)

    def translate_many(
        self, texts: Iterable[str], request: EngineRequest = DEFAULT_REQUEST, read_ahead: int = 4
    ) -> Iterator[Translation | InputError]:
        assert read_ahead >= 1
        self.requests.append(request)
        self._count(1)
        try:
            for position, text in enumerate(texts):
                self.seen.append((text, request.options))
                if "unusable" in text:
                    yield InputError("text", "is not usable", position)
                else:
                    yield self._translate(text, request.options)
        finally:
            self._count(-1)

    def score(
        self, source: str, target: str, request: EngineRequest = DEFAULT_REQUEST
    ) -> Future[SegmentTranslation]:
        """Every word of the target is a token."""
        assert request.priority is Priority.INTERACTIVE
        self.requests.append(request)
        self._count(1)
        return started(self._threads, lambda: scored(source, target), lambda _: self._count(-1))

    def _count(self, change: int) -> None:
        with self._counting:
            self.num_under_way += change

    def _translate(self, text: str, options: DecodingOptions) -> Translation:
        if "explode" in text:
            raise RuntimeError(f"cannot handle {text}")
        if "late" in text:
            raise DeadlineExceeded(0.25)
        if "wait" in text:
            self.is_waiting.set()
            assert self.released.wait(TIMEOUT_S)
        reason = next((reason for word, reason in REASONS.items() if word in text), FinishReason.STOP)
        score = self.usual_score if options.return_scores else None
        lines = text.split("\n")
        targets = [line and f"{line}|{self.manifest.name}" for line in lines]
        segments = line_segments(lines, targets, score, reason)
        whole = "\n".join(targets)
        alternatives = tuple(
            Alternative(whole + "!" * rank, None if score is None else score - rank)
            for rank in range(options.num_hypotheses)
        )
        confidence = None if score is None else 0.5
        return Translation(whole, score, reason, segments, alternatives, confidence)


REASONS = {"cut": FinishReason.LENGTH, "copy": FinishReason.COPIED}


class DoubleBundles:
    """Opens folders as doubles, and remembers every one."""

    def __init__(self, scores: Mapping[str, float] | None = None) -> None:
        self.opened: list[DoubleTranslator] = []
        self.scores = scores or {}
        self.may_open = threading.Event()
        self.may_open.set()
        self.num_opening = 0
        self.failure: Exception | None = None

    def open(self, path: Path) -> DoubleTranslator:
        self.num_opening += 1
        assert self.may_open.wait(TIMEOUT_S)
        if self.failure is not None:
            raise self.failure
        manifest = open_bundle(path).manifest
        double = DoubleTranslator(manifest, self.scores.get(manifest.name, -1.0))
        self.opened.append(double)
        return double

    def named(self, name: str) -> DoubleTranslator:
        """The last one opened of a name."""
        return [double for double in self.opened if double.manifest.name == name][-1]

    @property
    def names(self) -> list[str]:
        """Of all that were opened, in order."""
        return [double.manifest.name for double in self.opened]

    @property
    def open_names(self) -> list[str]:
        """Of those that are open still."""
        return [double.manifest.name for double in self.opened if not double.is_closed]


def until(condition: Callable[[], object]) -> None:
    """Wait for a condition, but not for ever."""
    until_equal(lambda: bool(condition()), expected=True)


def until_equal(read: Callable[[], object], expected: object) -> None:
    """Wait for a value, but not for ever."""
    end_s = time.monotonic() + TIMEOUT_S
    while (found := read()) != expected and time.monotonic() < end_s:
        time.sleep(0.005)
    assert found == expected, f"waited {TIMEOUT_S} s"
