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
            raise _not_ready("the server is stopping; try again later")
        if silent := self.workers.silent():
            named = ", ".join(f"{worker} ({age_s:.0f} s)" for worker, age_s in sorted(silent.items()))
            raise _not_ready(f"job workers do not respond: {named}; the server's log may say why")
        queue = self.inference.router.queue()
        if queue.num_waiting and queue.num_waiting >= MAX_QUEUE_SHARE * queue.queue_size:
            share = f"{queue.num_waiting} of {queue.queue_size}"
            raise _not_ready(f"the queue is nearly full ({share}); try again later")


def require_ready(inference: Inference) -> None:
    """Raise an ApiError if the server cannot translate yet."""
    if not inference.is_ready:
        raise _not_ready("the server has not translated its warm-up sentences yet; try again")


def _not_ready(problem: str) -> ApiError:
    return ApiError(ErrorKind.NOT_READY, problem, headers=RETRY_AFTER)
