"""Inference beside the event loop, and whether it has proved to work."""

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol

import anyio.to_thread
from anyio import CapacityLimiter

from dragoman import DecodingOptions, InputError, Priority, Translation
from dragoman.bundle import Manifest

WARM_UP_TEXT = "Guten Morgen."
MAX_PREPARING = 4
"""Requests whose texts are taken apart at the same time; more would only take turns."""

logger = logging.getLogger(__name__)


class TextTranslator(Protocol):
    """What the service needs of a `dragoman.translator.Translator`."""

    @property
    def manifest(self) -> Manifest: ...

    def submit(
        self,
        text: str,
        options: DecodingOptions = ...,
        *,
        priority: Priority = ...,
        timeout_s: float | None = ...,
    ) -> Future[Translation]: ...


class Inference:
    """Hands texts to a translator and awaits them, so that the event loop stays free."""

    def __init__(self, translator: TextTranslator, timeout_s: float) -> None:
        self.manifest = translator.manifest
        self.is_ready = False
        self._translator = translator
        self._timeout_s = timeout_s
        self._preparing = CapacityLimiter(MAX_PREPARING)

    async def translate(
        self, texts: Sequence[str], options: DecodingOptions
    ) -> list[Translation | InputError]:
        """Per text its translation or its error. Cancelled, or failed in one text, it gives all texts up.

        Raises:
            InputError: an option is beyond the model's limits.
            Overloaded: there is no room for all texts.
            DeadlineExceeded: they were not done in time.
        """
        request = _Request(texts, options)
        try:
            # Taking texts apart is work: done here, it would hold up every other request.
            await anyio.to_thread.run_sync(self._submit, request, limiter=self._preparing)
            futures = [asyncio.wrap_future(one) for one in request.submitted if isinstance(one, Future)]
            found = iter(await asyncio.gather(*futures))
        finally:
            request.give_up()
        return [outcome if isinstance(outcome, InputError) else next(found) for outcome in request.submitted]

    def _submit(self, request: "_Request") -> None:
        for item, text in enumerate(request.texts):
            try:
                future = self._translator.submit(text, request.options, timeout_s=self._timeout_s)
            except InputError as error:
                if error.field != "text":
                    raise
                request.submitted.append(InputError(error.field, error.problem, item))
                continue
            request.submitted.append(future)
            if request.is_given_up:  # only now: whoever gave it up may have missed this one
                future.cancel()
                return

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


@dataclass(slots=True)
class _Request:
    """The texts of a request on their way: a thread appends while the event loop may give up."""

    texts: Sequence[str]
    options: DecodingOptions
    submitted: list[Future[Translation] | InputError] = field(default_factory=list)
    is_given_up: bool = False

    def give_up(self) -> None:
        """Cancel what is not done."""
        self.is_given_up = True
        for outcome in self.submitted:
            if isinstance(outcome, Future):
                outcome.cancel()
