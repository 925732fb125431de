"""The process that serves: opens the model, then listens."""

import logging
import signal
import sys
from types import FrameType

import uvicorn

from dragoman import Translator
from dragoman.providers import parse_providers
from service.app import create_app
from service.bundles import find_bundle
from service.settings import Settings


def serve(settings: Settings) -> None:
    """Serve until SIGINT or SIGTERM; requests under way are answered first.

    The bundle is verified and opened before anything listens, so one that cannot be trusted never serves.

    Raises:
        BundleError: there is no such bundle, or it cannot be trusted.
        ProviderError: a provider cannot be used.
    """
    logging.basicConfig(level=settings.log_level.upper(), format="%(levelname)s: %(name)s: %(message)s")
    # Uvicorn raises the signal again once it has stopped; being asked to stop is no failure.
    signal.signal(signal.SIGTERM, _stop)
    path = find_bundle(settings.model, settings.models_dir)
    with Translator.open(
        path,
        replicas=settings.replicas,
        threads=settings.threads,
        queue_size=settings.queue_size,
        recall_segments=settings.recall_segments,
        providers=parse_providers(settings.providers),
    ) as translator:
        app = create_app(translator, settings)
        uvicorn.run(app, host=settings.host, port=settings.port, log_level=settings.log_level)


def _stop(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(0)
