"""Inference beside the event loop, and whether it has proved to work."""

import logging
from typing import Protocol

import anyio.to_thread
from anyio import CapacityLimiter

from dragoman import DecodingOptions, InputError, Translation
from dragoman.bundle import Manifest

WARM_UP_TEXT = "Guten Morgen."

logger = logging.getLogger(__name__)


class TextTranslator(Protocol):
    """What the service needs of a `dragoman.translator.Translator`."""

    @property
    def manifest(self) -> Manifest: ...

    def translate(
        self, text: list[str], options: DecodingOptions = ...
    ) -> list[Translation | InputError]: ...


class Inference:
    """Runs a translator in a bounded number of threads, so that the event loop stays free."""

    def __init__(self, translator: TextTranslator, workers: int) -> None:
        self.manifest = translator.manifest
        self.is_ready = False
        self._translator = translator
        self._workers = CapacityLimiter(workers)

    async def translate(self, texts: list[str], options: DecodingOptions) -> list[Translation | InputError]:
        """Per text its translation or its error; waits while all workers are busy."""
        return await anyio.to_thread.run_sync(
            self._translator.translate, texts, options, limiter=self._workers
        )

    async def warm_up(self) -> None:
        """Translate one sentence, and be ready if that works.

        A failure is logged and leaves the server alive but not ready: whoever watches `/readyz` decides.
        """
        try:
            [outcome] = await self.translate([WARM_UP_TEXT], DecodingOptions())
        except Exception:
            logger.exception("the warm-up sentence could not be translated; the server stays not ready")
            return
        if isinstance(outcome, InputError):
            logger.error("the warm-up sentence was refused (%s); the server stays not ready", outcome)
            return
        self.is_ready = True
        logger.info("model %s is ready", self.manifest.name)
