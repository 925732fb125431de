"""Whether the server can translate now, and whether it should be sent more to translate."""

from service.http.errors import RETRY_AFTER, ApiError, ErrorKind
from service.telemetry.worker_counters import WorkerCounters
from service.translation.inference import Inference

FULL_SHARE = 0.9
"""Of the queue: from here on others had better be sent what comes."""


class Readiness:
    """What a load balancer is told."""

    def __init__(self, inference: Inference, workers: WorkerCounters) -> None:
        self._inference = inference
        self._workers = workers
        self._is_draining = False

    def begin_to_drain(self) -> None:
        """The server is going to stop: what comes is still answered, and should come no more."""
        self._is_draining = True

    @property
    def is_draining(self) -> bool:
        """Whether the server is about to stop."""
        return self._is_draining

    def require(self) -> None:
        """Raise an ApiError that says why the server should be sent nothing."""
        require_ready(self._inference)
        if self._is_draining:
            raise ApiError(ErrorKind.NOT_READY, "the server is about to stop", headers=RETRY_AFTER)
        if silent := self._workers.silent():
            named = ", ".join(f"{worker} ({age_s:.0f} s)" for worker, age_s in sorted(silent.items()))
            problem = f"job workers give no sign of life: {named}; the server's log may say why"
            raise ApiError(ErrorKind.NOT_READY, problem, headers=RETRY_AFTER)
        queue = self._inference.router.queue()
        if queue.num_waiting and queue.num_waiting >= FULL_SHARE * queue.queue_size:
            problem = f"{queue.num_waiting} segments wait already, of {queue.queue_size} that may"
            raise ApiError(ErrorKind.NOT_READY, problem, headers=RETRY_AFTER)


def require_ready(inference: Inference) -> None:
    """Refuse what comes before the server can translate."""
    if not inference.is_ready:
        raise ApiError(
            ErrorKind.NOT_READY,
            "the server has not translated its warm-up sentences yet; try again",
            headers=RETRY_AFTER,
        )
