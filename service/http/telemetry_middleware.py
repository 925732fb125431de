"""Telemetry of every request: its id, its duration, a line in the log, and its counts."""

import logging
import time
from dataclasses import dataclass

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import Message, Receive, Scope, Send

from service.http.errors import CLIENT_GONE
from service.http.middleware import HttpMiddleware
from service.settings.groups import TelemetrySettings
from service.telemetry.counters import RequestCounters
from service.telemetry.request_record import (
    RequestRecord,
    api_of,
    begin_request,
    method_of,
    route_of,
    status_class_of,
)

REQUEST_ID_HEADER = "x-request-id"
QUIET_ROUTES = frozenset({"/healthz", "/readyz", "/metrics"})
"""Routes that machines poll every few seconds; their log lines are of level debug."""
FAILED = 500
"""Status of a request whose application fails without a response."""

logger = logging.getLogger("service.access")


@dataclass(slots=True, eq=False)
class TelemetryMiddleware(HttpMiddleware):
    """ASGI middleware around all others. Returns the request's id in a response header."""

    counters: RequestCounters
    settings: TelemetrySettings

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        record = begin_request(Headers(scope=scope).get(REQUEST_ID_HEADER))
        began_s = time.perf_counter()
        # Unless a response starts, the client has disconnected.
        status = CLIENT_GONE

        async def note_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)[REQUEST_ID_HEADER] = record.request_id
            await send(message)

        self.counters.in_flight += 1
        try:
            await self.app(scope, receive, note_status)
        except BaseException:
            status = FAILED if status == CLIENT_GONE else status
            raise
        finally:
            self.counters.in_flight -= 1
            duration_s = time.perf_counter() - began_s
            self.counters.count(api_of(scope), route_of(scope), status_class_of(status), duration_s)
            if record.characters:
                self.counters.characters.add(api_of(scope), amount=record.characters)
            self._log(scope, record, status, duration_s)

    def _log(self, scope: Scope, record: RequestRecord, status: int, duration_s: float) -> None:
        fields: dict[str, object] = {
            "method": method_of(scope),
            "route": route_of(scope),
            "status": status,
            "duration_ms": round(duration_s * 1e3, 1),
            "api": api_of(scope),
            "characters": record.characters,
        }
        if self.settings.log_addresses and scope.get("client"):
            fields["address"] = scope["client"][0]
        level = logging.DEBUG if route_of(scope) in QUIET_ROUTES else logging.INFO
        logger.log(level, "request", extra={"fields": fields})
        if self.settings.log_texts and record.texts:
            logger.debug("texts", extra={"fields": {"texts": list(record.texts)}})
