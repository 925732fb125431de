"""The scope of a request: what it causes ends when its client disconnects, or when its time is over."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from starlette.types import Message, Receive, Scope, Send

from dragoman import Deadline, DeadlineExceeded
from service.http.errors import ErrorForms, to_api_error
from service.http.middleware import HttpMiddleware
from service.http.uploads import has_body
from service.work.deadlines import current_deadline

GRACE_S = 1.0
"""Seconds after a deadline in which the engine ends its work itself, with an error that says more."""


@dataclass(slots=True, eq=False)
class RequestScopes(HttpMiddleware):
    """ASGI middleware that cancels a request whose client has disconnected, or that takes too long.

    Its time begins when its body is complete, and ends with the beginning of its response.
    """

    forms: ErrorForms
    timeout_s: float
    is_untimed: Callable[[str], bool]
    """Tells paths whose requests have files, which have limits of their own."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        timeout_s = None if self.is_untimed(scope["path"]) else self.timeout_s
        running = _RunningRequest(receive, send, timeout_s)
        try:
            async with running.limit:
                if not has_body(scope):
                    running.begin()
                await self.app(scope, running.receive, running.send)
        except TimeoutError:
            if not running.limit.expired():
                raise
            if running.is_gone.is_set() or running.has_started or timeout_s is None:
                return  # nobody reads the response, or it cannot begin again
            error = to_api_error(DeadlineExceeded(timeout_s))
            await self.forms.respond(error, scope["path"])(scope, receive, send)
        finally:
            running.end()


class _RunningRequest:
    """One request, and the task that waits for its client to disconnect."""

    def __init__(self, receive: Receive, send: Send, timeout_s: float | None) -> None:
        self.limit = asyncio.timeout(None)
        self.is_gone = asyncio.Event()
        self.has_started = False
        self._receive = receive
        self._send = send
        self._timeout_s = timeout_s
        self._is_empty = False
        self._watching: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Begin the time and the watch of a request without a body."""
        self._is_empty = True
        self._begin()

    async def receive(self) -> Message:
        """Receive a part of the body; after the body, wait for the client to disconnect."""
        if self._is_empty:
            self._is_empty = False
            return {"type": "http.request", "body": b"", "more_body": False}
        if self._watching is not None:
            await self.is_gone.wait()
            return {"type": "http.disconnect"}
        message = await self._receive()
        if message["type"] == "http.request" and not message.get("more_body", False):
            self._begin()
        return message

    async def send(self, message: Message) -> None:
        """Send a part of the response. Once it has begun, it has time; once it is complete, nobody leaves."""
        if message["type"] == "http.response.start":
            self.has_started = True
            if not self.limit.expired():
                self.limit.reschedule(None)
        elif not message.get("more_body", False):
            self.end()
        await self._send(message)

    def end(self) -> None:
        """Stop the watch."""
        if self._watching is not None:
            self._watching.cancel()

    def _begin(self) -> None:
        if self._timeout_s is not None and not self.has_started:
            deadline = Deadline.after(self._timeout_s)
            current_deadline.set(deadline)
            self.limit.reschedule(deadline.at_s + GRACE_S)  # the loop's clock is that of deadlines
        self._watching = asyncio.ensure_future(self._watch())

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.is_gone.set()
        if not self.limit.expired():
            self.limit.reschedule(asyncio.get_running_loop().time())
