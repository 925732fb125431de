"""A double for the engine.

Run as a script, this file is the `dragoman` command with the double in the engine's place.
"""

import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from pathlib import Path

from dragoman import (
    Alternative,
    DeadlineExceeded,
    DecodingOptions,
    EngineRequest,
    FinishReason,
    InputError,
    Overloaded,
    Priority,
    Translation,
    Translator,
)
from dragoman.bundle import open_bundle
from dragoman.manifest import Manifest
from dragoman.providers import Provider
from dragoman.scheduling.metrics import NO_METRICS, EngineMetrics, QueueState
from dragoman.translator import DEFAULT_REQUEST
from dragoman.types import SegmentTranslation
from service.cli import app as cli
from tests.routing.doubles import TIMEOUT_S, line_segments, scored, started, tell

DOUBLE_WINDOW_TEXTS = 4


class DoubleTranslator:
    """Translates into upper case. A word in a text makes it misbehave.

    `unusable` is an InputError, `explode` a RuntimeError that quotes the text, `full` Overloaded, `late`
    DeadlineExceeded, `slow` takes half a second, and `wait` lasts until `released` is set.
    """

    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest
        self.is_closed = False
        self.queue_state = QueueState(0, 1, 0)
        self.released = threading.Event()
        self.is_waiting = threading.Event()
        self.seen: list[tuple[str, DecodingOptions]] = []
        self.requests: list[EngineRequest] = []
        self.cancelled: list[str] = []
        self._threads = ThreadPoolExecutor(8)

    def queue(self) -> QueueState:
        return self.queue_state

    def close(self) -> None:
        self.is_closed = True
        self.released.set()
        self._threads.shutdown(cancel_futures=True)

    def submit(self, text: str, request: EngineRequest = DEFAULT_REQUEST) -> Future[Translation]:
        """As the engine does: the future may be cancelled until it is done."""
        self._record_position(request)
        defaults = self.manifest.decoding
        request.options.resolve(defaults.beam_size, defaults.length_penalty, defaults.early_stopping)
        self.seen.append((text, request.options))
        if "unusable" in text:
            raise InputError("text", "is not usable")
        if "full" in text:
            raise Overloaded(num_waiting=8, queue_size=9, num_sources=2)

        def translate() -> Translation:
            outcome = self._translate(text, request.options)
            tell(outcome, request.on_segment, request.on_token)
            return outcome

        def note(done: Future[Translation]) -> None:
            if done.cancelled():
                self.cancelled.append(text)

        return started(self._threads, translate, note)

    def score(
        self, source: str, target: str, request: EngineRequest = DEFAULT_REQUEST
    ) -> Future[SegmentTranslation]:
        """See `scored`."""
        assert request.priority is Priority.INTERACTIVE
        self._record_position(request)
        return started(self._threads, lambda: scored(source, target), lambda _: None)

    def translate_many(
        self,
        texts: Iterable[str],
        request: EngineRequest = DEFAULT_REQUEST,
        read_ahead: int = DOUBLE_WINDOW_TEXTS,
    ) -> Iterator[Translation | InputError]:
        """Reads ahead, as the engine does."""
        self._record_position(request)
        remaining = enumerate(texts)
        while window := list(islice(remaining, min(read_ahead, DOUBLE_WINDOW_TEXTS))):
            for position, text in window:
                if "unusable" in text:
                    yield InputError("text", "is not usable", position)
                else:
                    yield self._translate(text, request.options)

    def _record_position(self, request: EngineRequest) -> None:
        assert request.pair in set(self.manifest.languages.pairs())
        self.requests.append(request)

    def _translate(self, text: str, options: DecodingOptions) -> Translation:
        if "explode" in text:
            raise RuntimeError(f"cannot handle {text}")
        if "late" in text:
            raise DeadlineExceeded(1.5)
        if "slow" in text:
            time.sleep(0.5)
        if "wait" in text:
            self.is_waiting.set()
            assert self.released.wait(TIMEOUT_S)
        score = -0.5 if options.return_scores else None
        hypotheses = tuple(
            Alternative(text.upper() + "!" * rank, score) for rank in range(options.num_hypotheses)
        )
        segments = line_segments(text.split("\n"), text.upper().split("\n"), score, FinishReason.STOP)
        confidence = None if score is None else 0.75
        return Translation(hypotheses[0].text, score, FinishReason.STOP, segments, hypotheses, confidence)


def open_double(
    path: str | Path,
    *,
    replicas: int | None = None,
    threads: int = 1,
    queue_size: int = 1,
    segment_cache_size: int = 0,
    providers: Sequence[Provider] = ("cpu",),
    engine_metrics: EngineMetrics = NO_METRICS,
) -> DoubleTranslator:
    """In place of Translator.open; the bundle is verified all the same."""
    assert min(replicas or 1, threads, queue_size) >= 1
    assert segment_cache_size >= 0
    assert tuple(providers) == ("cpu",)
    assert engine_metrics is not None
    return DoubleTranslator(open_bundle(Path(path)).manifest)


def main(arguments: Sequence[str]) -> None:
    """The command, with the double."""
    Translator.open = open_double  # type: ignore[assignment,method-assign]
    sys.argv = ["dragoman", *arguments]
    cli.main()


if __name__ == "__main__":
    main(sys.argv[1:])
