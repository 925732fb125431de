"""A double for the engine.

Run as a script, this file is the `dragoman` command with the double in the engine's place.
"""

import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path

from dragoman import DecodingOptions, EngineRequest, Overloaded, Translation, Translator
from dragoman.bundle import open_bundle
from dragoman.manifest import Manifest
from dragoman.pipeline.resolution import formality_ids
from dragoman.scheduling.metrics import QueueState
from dragoman.translator import DEFAULT_REQUEST
from service.cli import app as cli
from tests.engine.routing import doubles
from tests.engine.routing.doubles import line_segments
from tests.text.protection.bad_model import translate_badly


class DoubleTranslator(doubles.DoubleTranslator):
    """Translates into upper case. A word in a text makes it misbehave.

    `unusable` is an InputError, `explode` a RuntimeError that quotes the text, `full` Overloaded, `late`
    DeadlineExceeded, `slow` takes half a second, and `wait` lasts until `released` is set.
    """

    def __init__(self, manifest: Manifest) -> None:
        super().__init__(manifest, score=-0.5)
        self.minds_closing = False
        self.queue_state = QueueState(0, 1, 0)

    def queue(self) -> QueueState:
        return self.queue_state

    def submit(self, text: str, request: EngineRequest = DEFAULT_REQUEST) -> Future[Translation]:
        assert request.pair is not None
        assert request.pair in set(self.manifest.languages.pairs())
        if "full" in text:
            self.seen.append((text, request.options))
            raise Overloaded(num_waiting=8, queue_size=9, num_sources=2)
        formality_ids(self.manifest.controls, request.options.formality, request.pair)
        return super().submit(text, request)

    def _translate(self, text: str, options: DecodingOptions) -> Translation:
        if "slow" in text:
            time.sleep(0.5)
        done, upper = super()._translate(text, options), text.upper()
        segments = line_segments(text.split("\n"), upper.split("\n"), done.score, done.finish_reason)
        alternatives = [each._replace(text=upper + "!" * rank) for rank, each in enumerate(done.alternatives)]
        return done._replace(text=upper, segments=segments, alternatives=tuple(alternatives))


class BadTranslator(doubles.DoubleTranslator):
    """Translates as `translate_badly` does, and changes digits. Next to `Zusatz` it adds a number."""

    def _translate(self, text: str, options: DecodingOptions) -> Translation:
        del options
        return translate_badly(text.replace("Zusatz", "Zusatz 7654321"), changes_digits=True)


def open_bad(path: str | Path, **_options: object) -> BadTranslator:
    """The same as `open_double`, badly."""
    return BadTranslator(open_bundle(Path(path)).manifest)


def open_double(path: str | Path, **_options: object) -> DoubleTranslator:
    """In place of Translator.open; the bundle is verified all the same."""
    return DoubleTranslator(open_bundle(Path(path)).manifest)


def main(arguments: Sequence[str]) -> None:
    """The command, with the double."""
    Translator.open = open_double  # type: ignore[assignment,method-assign]
    sys.argv = ["dragoman", *arguments]
    cli.main()


if __name__ == "__main__":
    main(sys.argv[1:])
