"""The server process: opens the preloaded bundles, then listens."""

import errno
import gc
import logging
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext

import uvicorn
from fastapi import FastAPI

from dragoman.graphs.process_memory import c_function
from dragoman.routing.router import Router
from service.http.server_protocol import DrainingServer, bounded_protocol
from service.jobs.job_storage import ScratchFolder
from service.models.engine import open_router, preloaded
from service.server.app import create_app
from service.server.processes import EXIT_NOT_STARTED, Processes, end
from service.server.shared import load_shared, num_processes, shared_settings
from service.server.sockets import open_sockets
from service.server.telemetry import Telemetry
from service.settings.groups import NetworkSettings
from service.settings.settings import Settings, log_ignored_variables
from service.telemetry.logs import configure_logs
from service.telemetry.tracing_setup import open_tracing

logger = logging.getLogger(__name__)
KEEP_ALIVE_S = 75
"""Idle seconds before a connection is closed: clients that poll every few seconds keep theirs. Uvicorn's own
5 s end just when DeepL's client polls."""
GC_THRESHOLDS = (10_000, 5, 50)
"""Thresholds of the garbage collector: new objects per collection of generation 0, and collections of a
generation per collection of the next. Full collections are rare: with the segments of 16 large texts, one
blocks all requests for 0.1 s, and texts leave no cycles."""
SWITCH_INTERVAL_S = 0.0005
"""Seconds after which a running thread yields the interpreter to a waiting one. While a large text is
segmented, each of a step's few waits would take Python's default of 5 ms, ten times the step itself."""
M_ARENA_MAX = -8
"""Option of the GNU C library's mallopt(3)."""
MAX_ARENAS = 2
"""Number of heaps that all threads share. With one per thread, a thread's freed memory is not reused by
others: 240 MiB more after three minutes of hostile load."""


def serve(settings: Settings) -> None:
    """Serve until SIGINT or SIGTERM; finish running requests first.

    Preloaded bundles are verified and opened before the server listens, so that an untrusted bundle never
    serves.

    Raises:
        BundleError: there is no such bundle, or it cannot be trusted.
        ProviderError: a provider cannot be used.
        KernelsError: the required kernels cannot run a bundle.
    """
    _limit_arenas()
    configure_logs(settings.log_format, settings.log_level)
    log_ignored_variables()
    # Warnings of the form parser may quote a client's text.
    logging.getLogger("python_multipart").setLevel(logging.CRITICAL)
    telemetry = Telemetry(open_tracing(settings.otlp_endpoint))
    # Uvicorn raises the signal again after it has stopped; a requested stop is no failure, so exit with 0.
    signal.signal(signal.SIGTERM, end)
    if settings.uds is None and not settings.reuse_port and _is_port_in_use(settings):
        logger.error("port %d of %s is in use; choose another with --port", settings.port, settings.host)
        sys.exit(EXIT_NOT_STARTED)
    with ExitStack() as opened:
        count = num_processes(settings)
        if count > 1:
            settings = shared_settings(settings, count, opened)
        router = opened.enter_context(open_router(settings, telemetry.engine_metrics))
        if count == 1:
            _run(router, settings, telemetry)
            return
        load_shared(router, settings)
        sockets = opened.enter_context(open_sockets(settings)) or []
        inherited = sockets
        if settings.uds is None:  # each process has a socket of its own; this one only holds the port
            settings = settings.model_copy(update={"port": sockets[0].getsockname()[1]})
            inherited = []
        folder = ScratchFolder(opened).folder

        def run_one(number: int) -> None:
            telemetry.share(folder, number)
            _run(router, settings, telemetry, inherited)

        if status := Processes(run_one).supervise(count):
            sys.exit(status)


def _run(
    router: Router, settings: Settings, telemetry: Telemetry, sockets: Sequence[socket.socket] = ()
) -> None:
    """Serve in this process."""
    names = preloaded(settings, router)
    router.preload(names)
    server = create_server(create_app(router, settings, names, telemetry), settings)
    _configure_gc()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    logger.info("%s", describe_start([offer.name for offer in router.offers()], names, settings))
    with nullcontext([*sockets]) if sockets else open_sockets(settings) as own:
        server.run(own)
    if not server.started:
        sys.exit(EXIT_NOT_STARTED)


def create_server(app: FastAPI, settings: Settings) -> DrainingServer:
    """Return the server that listens for an application's clients."""
    config = uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        log_config=None,
        access_log=False,
        ws="none",
        loop="asyncio",  # never uvloop, even if it is installed: docs/explanation/decisions/engine.md
        timeout_keep_alive=KEEP_ALIVE_S,
        http=bounded_protocol(settings),
        forwarded_allow_ips=settings.trusted_proxies,
    )
    return DrainingServer(config, settings, app.state.readiness.start_draining)


def describe_start(models: Sequence[str], preloaded_models: Sequence[str], settings: NetworkSettings) -> str:
    """Return the line that says which models are served, and the address of the page."""
    noun = "model" if len(models) == 1 else "models"
    loaded = f"{', '.join(preloaded_models)} loaded" if preloaded_models else "loaded on first use"
    line = f"{len(models)} {noun} ({', '.join(models)}), {loaded}"
    if settings.uds is not None or not settings.port:
        return line
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{line}; open http://{host}:{settings.port}{settings.root_path}"


def _is_port_in_use(settings: NetworkSettings) -> bool:
    """Return whether another process listens on the port. Any other problem is uvicorn's to report."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            return error.errno == errno.EADDRINUSE
    return False


def _limit_arenas() -> None:
    """Limit the number of heaps that threads allocate from; do nothing if the C library has no `mallopt`."""
    set_option = c_function("mallopt")
    if set_option is not None:
        set_option(M_ARENA_MAX, MAX_ARENAS)


def _configure_gc() -> None:
    """Exclude the application's own objects from garbage collection, and collect less often.

    A collection holds the interpreter. Over all objects of an application it took up to 0.2 s, several times
    a minute under load. No collection precedes: it would take 0.1 s of the start for one object in 40.
    """
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
    gc.enable()  # the command disabled it
