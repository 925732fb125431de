"""Metrics in Prometheus's format, in a registry of their own.

Nothing is counted here: each read builds the families from counters and from the server's state. The server
defines all labels, so that clients cannot create series.
https://prometheus.io/docs/instrumenting/writing_exporters/
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from dragoman.scheduling.metrics import QueueState
from service.telemetry.counters import Histogram, LabeledCounter
from service.telemetry.engine_metrics import EngineCounters, EngineMetricsCollector
from service.telemetry.request_counters import RequestCounters
from service.telemetry.worker_counters import WorkerCounters
from service.versions import installed_version

PREFIX = "dragoman_"


@dataclass(frozen=True, slots=True)
class ServerState:
    """The state of the server at one moment."""

    is_ready: bool
    num_models: int
    """Number of models offered, open or not."""
    num_open_models: int
    memory_bytes: int
    """Estimated memory of the open models."""
    queue: QueueState


class Metrics:
    """All metrics of a server."""

    def __init__(
        self,
        engine: EngineMetricsCollector,
        requests: RequestCounters,
        workers: WorkerCounters,
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
        self._registry.register(_FamilyCollector(self._families))
        ProcessCollector(registry=self._registry)

    def exposition(self) -> bytes:
        """Return all metrics in Prometheus's text format; this takes milliseconds."""
        return generate_latest(self._registry)

    def families(self) -> list[Metric]:
        """Return all metrics as objects."""
        return list(self._registry.collect())

    def _families(self) -> Iterator[Metric]:
        yield from _request_families(self._requests)
        yield from _of_engine(self._engine.total())
        yield from _of_workers(self._workers)
        yield from _of_state(self._look())
        yield _gauge(
            "memory_budget_bytes", "Memory that open models may be reckoned to take", self._budget_bytes
        )
        build = GaugeMetricFamily(PREFIX + "build_info", "1, with the release", labels=["version"])
        build.add_metric([installed_version("dragoman")], 1)
        yield build


class _FamilyCollector(Collector):
    def __init__(self, families: Callable[[], Iterable[Metric]]) -> None:
        self._families = families

    def collect(self) -> Iterable[Metric]:
        return self._families()


def _request_families(counters: RequestCounters) -> Iterator[Metric]:
    durations = HistogramMetricFamily(
        PREFIX + "request_seconds",
        "From a request's head to the end of its answer",
        labels=["api", "route", "status"],
    )
    for labels, distribution in counters.durations_s.copy().items():
        durations.add_metric(labels, distribution.buckets(), distribution.total)
    yield durations
    yield _gauge("requests_in_flight", "Requests that are not answered yet", counters.in_flight)
    yield _counter("rejections", "Requests that were answered with an error", ["reason"], counters.rejections)
    yield _counter("characters", "Characters that clients wanted translated", ["api"], counters.characters)


def _of_engine(counters: EngineCounters) -> Iterator[Metric]:
    distributions: Mapping[str, tuple[str, Histogram]] = {
        "queue_seconds": ("What a segment waited before a replica took it", counters.queue_s),
        "first_token_seconds": ("From a segment's arrival to its first token", counters.first_token_s),
        "step_seconds": ("A step of a replica", counters.step_s),
        "step_rows": ("Rows that a step of a replica had", counters.step_rows),
    }
    for name, (meaning, distribution) in distributions.items():
        family = HistogramMetricFamily(PREFIX + name, meaning)
        family.add_metric([], distribution.buckets(), distribution.total)
        yield family
    totals: Mapping[str, tuple[str, int]] = {
        "step_capacity_rows": (
            "Rows that there was room for, in all steps together",
            counters.capacity_row_steps,
        ),
        "source_tokens": ("Tokens of segments that were translated", counters.source_tokens),
        "target_tokens": ("Tokens of their best translations", counters.target_tokens),
        "segments_refused": ("Segments that were not let in, as too many waited", counters.refused),
        "segments_from_cache": ("Segments whose translation was remembered", counters.cache_hit),
    }
    for name, (meaning, total) in totals.items():
        yield CounterMetricFamily(PREFIX + name, meaning, value=total)
    yield _counter("segments", "Segments that left the engine", ["method", "ending"], counters.segments)
    yield _counter("segments_finished", "Why translated segments ended", ["reason"], counters.finished)


def _of_workers(counters: WorkerCounters) -> Iterator[Metric]:
    ages = GaugeMetricFamily(
        PREFIX + "worker_heartbeat_age_seconds",
        "Since a loop of job workers was last seen",
        labels=["worker"],
    )
    for worker, age_s in counters.heartbeat_ages_s().items():
        ages.add_metric([worker], age_s)
    yield ages
    yield _gauge("workers_silent", "Loops of job workers whose heartbeat is overdue", len(counters.silent()))
    yield _counter("worker_restarts", "Loops of job workers that failed", ["worker"], counters.restarts)
    yield _counter("jobs_ended", "Jobs that ended here", ["state"], counters.jobs)
    yield _counter("webhook_tries", "Tries to deliver webhooks", ["outcome"], counters.webhooks)


def _of_state(state: ServerState) -> Iterator[Metric]:
    yield _gauge("ready", "1 once warm-up sentences were translated", float(state.is_ready))
    models = GaugeMetricFamily(
        PREFIX + "models", "Models that are offered, by whether they are open", labels=["state"]
    )
    models.add_metric(["open"], state.num_open_models)
    models.add_metric(["closed"], state.num_models - state.num_open_models)
    yield models
    yield _gauge("models_memory_bytes", "Memory that open models are reckoned to take", state.memory_bytes)
    yield _gauge("segments_waiting", "Segments that wait for a replica", state.queue.num_waiting)
    yield _gauge("segments_running", "Segments that are searched for", state.queue.num_running)
    yield _gauge("queue_size", "Segments that may wait in open models together", state.queue.queue_size)


def _gauge(name: str, meaning: str, value: float) -> Metric:
    return GaugeMetricFamily(PREFIX + name, meaning, value=value)


def _counter(name: str, meaning: str, labels: list[str], counts: LabeledCounter) -> Metric:
    family = CounterMetricFamily(PREFIX + name, meaning, labels=labels)
    for values, count in counts.by_labels.copy().items():
        family.add_metric(values, count)
    return family
