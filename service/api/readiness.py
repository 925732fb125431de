"""Readiness: whether the server can translate, and whether it should get more requests."""

from dataclasses import dataclass

from service.http.errors import RETRY_AFTER, ApiError, ErrorKind
from service.telemetry.counters import WorkerCounters
from service.translation.inference import Inference

MAX_QUEUE_SHARE = 0.9
"""Share of the queue from which on a load balancer should send requests to other servers."""


@dataclass(slots=True, eq=False)
class Readiness:
    """The readiness that a load balancer checks."""

    inference: Inference
    workers: WorkerCounters
    is_draining: bool = False
    """Whether the server is about to stop."""

    def start_draining(self) -> None:
        """Report the server as not ready, since it is about to stop; it still answers requests."""
        self.is_draining = True

    def require(self) -> None:
        """Raise an ApiError with the reason if the server should get no requests."""
        require_ready(self.inference)
        if self.is_draining:
            raise ApiError(
                ErrorKind.NOT_READY, "the server is stopping; try again later", headers=RETRY_AFTER
            )
        if silent := self.workers.silent():
            named = ", ".join(f"{worker} ({age_s:.0f} s)" for worker, age_s in sorted(silent.items()))
            problem = f"job workers do not respond: {named}; the server's log may say why"
            raise ApiError(ErrorKind.NOT_READY, problem, headers=RETRY_AFTER)
        queue = self.inference.router.queue()
        if queue.num_waiting and queue.num_waiting >= MAX_QUEUE_SHARE * queue.queue_size:
            problem = f"the queue is nearly full ({queue.num_waiting} of {queue.queue_size}); try again later"
            raise ApiError(ErrorKind.NOT_READY, problem, headers=RETRY_AFTER)


def require_ready(inference: Inference) -> None:
    """Raise an ApiError if the server cannot translate yet."""
    if not inference.is_ready:
        raise ApiError(
            ErrorKind.NOT_READY,
            "the server has not translated its warm-up sentences yet; try again",
            headers=RETRY_AFTER,
        )
