"""The process that serves: opens what is to be ready at once, then listens."""

import logging
import signal
import sys
from types import FrameType

import uvicorn

from service.app import create_app
from service.engine import open_router, preloaded
from service.front.listening import DrainingServer, patient_protocol
from service.settings import Settings

EXIT_NOT_STARTED = 3
"""As uvicorn has it: the port is taken, say."""


def serve(settings: Settings) -> None:
    """Serve until SIGINT or SIGTERM; requests under way are answered first.

    Bundles to be preloaded are verified and opened before anything listens, so that one that cannot be
    trusted never serves.

    Raises:
        BundleError: there is no such bundle, or it cannot be trusted.
        ProviderError: a provider cannot be used.
    """
    logging.basicConfig(level=settings.log_level.upper(), format="%(levelname)s: %(name)s: %(message)s")
    # Uvicorn raises the signal again once it has stopped; being asked to stop is no failure.
    signal.signal(signal.SIGTERM, _stop)
    with open_router(settings) as router:
        names = preloaded(settings, router)
        router.preload(names)
        app = create_app(router, settings, names)
        config = uvicorn.Config(
            app,
            host=settings.host,
            port=settings.port,
            log_level=settings.log_level,
            http=patient_protocol(settings.client_timeout_s),
            forwarded_allow_ips=settings.trusted_proxies,
        )
        server = DrainingServer(config, settings.drain_s, app.state.readiness.begin_to_drain)
        server.run()
        if not server.started:
            sys.exit(EXIT_NOT_STARTED)


def _stop(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(0)
