"""Several batches at once: the only threads of the engine."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Batch = TypeVar("Batch")
Result = TypeVar("Result")


class BatchPool:
    """Runs batches on `workers` threads; with one worker, on the caller's own.

    onnxruntime lets go of the interpreter's lock while it computes, so threads that share one session use as
    many cores as there are workers.
    """

    def __init__(self, workers: int) -> None:
        if workers < 1:
            raise ValueError(f"workers must be at least 1, not {workers}")
        self._executor = ThreadPoolExecutor(workers, "dragoman") if workers > 1 else None

    def map(self, run: Callable[[Batch], Result], batches: Iterable[Batch]) -> list[Result]:
        """Results in the order of the batches; the first error is raised and drops what has not begun."""
        if self._executor is None:
            return [run(batch) for batch in batches]
        futures = [self._executor.submit(run, batch) for batch in batches]
        try:
            return [future.result() for future in futures]
        finally:
            for future in futures:
                future.cancel()
