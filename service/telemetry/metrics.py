"""Metrics in Prometheus's format, in a registry of their own.

Nothing is counted here: each read builds the families from counters and from the server's state. The server
defines all labels, so that clients cannot create series.
https://prometheus.io/docs/instrumenting/writing_exporters/
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from dragoman.scheduling.metrics import QueueState
from service.telemetry import counters as counting
from service.versions import installed_version

PREFIX = "dragoman_"


@dataclass(frozen=True, slots=True)
class ServerState:
    """The state of the server at one moment."""

    is_ready: bool
    num_models: int
    """Number of models offered, open or not."""
    open_models: Mapping[str, int]
    """Number of open models by kernels; see `Translator.kernels`."""
    memory_bytes: int
    """Estimated memory of the open models."""
    queue: QueueState


class Metrics(Collector):
    """All metrics of a server."""

    def __init__(
        self,
        engine: counting.EngineMetricsCollector,
        requests: counting.RequestCounters,
        workers: counting.WorkerCounters,
        get_state: Callable[[], ServerState],
        memory_budget_bytes: int | None,
    ) -> None:
        """Register the metrics, but read none yet.

        Args:
            engine: metrics of the engine.
            requests: counters of requests.
            workers: counters of job workers.
            get_state: returns the server's state; called for every exposition.
            memory_budget_bytes: limit of the estimated memory of all open models; None for no limit.
        """
        self._engine = engine
        self._requests = requests
        self._workers = workers
        self._look = get_state
        self._budget_bytes = float("inf") if memory_budget_bytes is None else float(memory_budget_bytes)
        self._registry = CollectorRegistry()
        self._registry.register(self)
        ProcessCollector(registry=self._registry)

    def exposition(self) -> bytes:
        """Return all metrics in Prometheus's text format; this takes milliseconds."""
        return generate_latest(self._registry)

    def families(self) -> list[Metric]:
        """Return all metrics as objects."""
        return list(self._registry.collect())

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics that are no metrics of a process."""
        yield from _request_families(self._requests)
        yield from _of_engine(self._engine.total())
        yield from _of_workers(self._workers)
        yield from _of_state(self._look())
        yield _gauge("memory_budget_bytes", "Maximum estimated memory of the open models", self._budget_bytes)
        build = {installed_version("dragoman"): 1}
        yield _gauges("build_info", "Version of the server; the value is always 1", "version", build)


def _request_families(counters: counting.RequestCounters) -> Iterator[Metric]:
    durations = HistogramMetricFamily(
        PREFIX + "request_seconds",
        "Time from the head of a request to the end of its response",
        labels=["api", "route", "status"],
    )
    for labels, distribution in counters.durations_s.copy().items():
        durations.add_metric(labels, distribution.buckets(), distribution.total)
    yield durations
    yield _gauge("requests_in_flight", "Requests in progress", counters.in_flight)
    yield _counter("rejections", "Requests with an error response", ["reason"], counters.rejections)
    yield _counter("characters", "Characters of the texts in requests", ["api"], counters.characters)


def _of_engine(counters: counting.EngineCounters) -> Iterator[Metric]:
    distributions: Mapping[str, tuple[str, counting.Histogram]] = {
        "queue_seconds": ("Time that a segment waited in the queue", counters.queue_s),
        "first_token_seconds": (
            "Time from the submission of a segment to its first token",
            counters.first_token_s,
        ),
        "step_seconds": ("Duration of a decoder step of a replica", counters.step_s),
        "step_rows": ("Rows in a decoder step of a replica", counters.step_rows),
    }
    for name, (meaning, distribution) in distributions.items():
        family = HistogramMetricFamily(PREFIX + name, meaning)
        family.add_metric([], distribution.buckets(), distribution.total)
        yield family
    totals: Mapping[str, tuple[str, int]] = {
        "step_capacity_rows": (
            "Maximum rows of a decoder step, summed over all steps",
            counters.capacity_row_steps,
        ),
        "source_tokens": ("Source tokens of translated segments", counters.source_tokens),
        "target_tokens": (
            "Target tokens of translated segments, in the best hypothesis",
            counters.target_tokens,
        ),
        "segments_refused": ("Segments rejected because the queue was full", counters.refused),
        "segments_from_cache": ("Segments translated from the segment cache", counters.cache_hit),
    }
    for name, (meaning, total) in totals.items():
        yield CounterMetricFamily(PREFIX + name, meaning, value=total)
    yield _counter(
        "segments",
        "Segments that left the scheduler, by method and outcome",
        ["method", "ending"],
        counters.segments,
    )
    yield _counter(
        "segments_finished", "Translated segments, by finish reason", ["reason"], counters.finished
    )


def _of_workers(counters: counting.WorkerCounters) -> Iterator[Metric]:
    meaning = "Time since the last heartbeat of a job worker loop"
    yield _gauges("worker_heartbeat_age_seconds", meaning, "worker", counters.heartbeat_ages_s())
    yield _gauge("workers_silent", "Job worker loops whose heartbeat is overdue", len(counters.silent()))
    yield _counter(
        "worker_restarts", "Restarts of job worker loops after a failure", ["worker"], counters.restarts
    )
    yield _counter("jobs_ended", "Jobs that ended", ["state"], counters.jobs)


def _of_state(state: ServerState) -> Iterator[Metric]:
    yield _gauge("ready", "1 if the warm-up sentences are translated, else 0", float(state.is_ready))
    num_open = sum(state.open_models.values())
    models = {"open": num_open, "closed": state.num_models - num_open}
    yield _gauges("models", "Available models, open or closed", "state", models)
    yield _gauges("open_models", "Open models, by what computes them", "kernels", state.open_models)
    yield _gauge("models_memory_bytes", "Estimated memory of the open models", state.memory_bytes)
    yield _gauge("segments_waiting", "Queued segments", state.queue.num_waiting)
    yield _gauge("segments_running", "Segments in progress on a replica", state.queue.num_running)
    yield _gauge("queue_size", "Maximum queued segments of all open models", state.queue.queue_size)


def _gauge(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(PREFIX + name, meaning, value=value)


def _gauges(name: str, meaning: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(PREFIX + name, meaning, labels=[label])
    for labelled, value in values.items():
        family.add_metric([labelled], value)
    return family


def _counter(name: str, meaning: str, labels: list[str], counts: counting.LabeledCounter) -> Metric:
    family = CounterMetricFamily(PREFIX + name, meaning, labels=labels)
    for values, count in counts.by_labels.copy().items():
        family.add_metric(values, count)
    return family
