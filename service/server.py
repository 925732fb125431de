"""The process that serves: opens what is to be ready at once, then listens."""

import ctypes
import gc
import logging
import signal
import socket
import sys
from types import FrameType

import uvicorn
from fastapi import FastAPI

from service.app import create_app, observing_options
from service.engine import open_router, preloaded
from service.http.server_protocol import ConnectionLimits, DrainingServer, Stopping, patient_protocol
from service.server_telemetry import Telemetry
from service.settings import Settings
from service.telemetry.logs import configure_logs

KEEP_ALIVE_S = 75
"""Longer than clients that poll every few seconds pause: uvicorn's own 5 s close just when DeepL's asks."""
COLLECTING = (10_000, 5, 50)
"""Objects made before the youngest are looked at, rounds of that before older ones are, and before all are.
All of them are looked at seldom: with the segments of 16 large texts that takes 0.1 s, in which nobody is
answered, and texts leave no cycles behind."""
SWITCH_INTERVAL_S = 0.0005
"""After which a thread that computes leaves the interpreter to another that wants it. While a large text is
taken apart, each of a step's few waits for it would take Python's own 5 ms, ten times the step itself."""
M_ARENA_MAX = -8
"""Of the GNU C library's mallopt(3)."""
MAX_ARENAS = 2
"""Heaps that threads share: with one for each thread, what one frees stays in memory beside the others,
240 MiB more after three minutes of hostile load."""
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
    _share_arenas()
    configure_logs(settings.log_format, settings.log_level)
    # Its warnings may quote what a client sent.
    logging.getLogger("python_multipart").setLevel(logging.CRITICAL)
    telemetry = Telemetry.open(observing_options(settings))
    # Uvicorn raises the signal again once it has stopped; being asked to stop is no failure.
    signal.signal(signal.SIGTERM, _stop)
    with open_router(settings, telemetry.engine_metrics) as router:
        names = preloaded(settings, router)
        router.preload(names)
        server = create_server(create_app(router, settings, names, telemetry), settings)
        _spare_collector()
        sys.setswitchinterval(SWITCH_INTERVAL_S)
        server.run([_shared_socket(settings)] if settings.reuse_port else None)
        if not server.started:
            sys.exit(EXIT_NOT_STARTED)


def create_server(app: FastAPI, settings: Settings) -> DrainingServer:
    """Return what is to listen for an application's clients."""
    limits = ConnectionLimits(
        settings.client_timeout_s,
        settings.max_connections,
        settings.max_connections_of_address,
        settings.trusted_proxies,
    )
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        ws="none",
        loop="asyncio",  # not uvloop, wherever that is installed: docs/decisions/0014
        timeout_keep_alive=KEEP_ALIVE_S,
        http=patient_protocol(limits),
        forwarded_allow_ips=settings.trusted_proxies,
    )
    begin_to_drain = app.state.readiness.begin_to_drain
    return DrainingServer(config, Stopping(settings.drain_s, settings.stop_timeout_s, begin_to_drain))


def _share_arenas() -> None:
    """Let all threads allocate from a few heaps; nothing happens where the C library is another one."""
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is not None:
        set_option(M_ARENA_MAX, MAX_ARENAS)


def _spare_collector() -> None:
    """Keep the collector of cycles from what lasts as long as the process, and from looking at every breath.

    It holds the interpreter meanwhile: over all that an application is made of it did for up to 0.2 s at a
    time, several times a minute under load.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTING)


def _shared_socket(settings: Settings) -> socket.socket:
    """Bound to a port that other processes may be bound to as well.

    Raises:
        OSError: it is not to be had.
    """
    [(family, kind, protocol, _, address), *_] = socket.getaddrinfo(
        settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    shared = socket.socket(family, kind, protocol)
    shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    shared.bind(address)
    return shared


def _stop(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(0)
