"""Counters of requests. For one event loop; other threads may read them."""

from dataclasses import dataclass, field

from service.telemetry.counters import Histogram, LabeledCounter

DURATION_BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)


@dataclass(slots=True)
class RequestCounters:
    """Counters by names that the server defines: API, route, status class, kind of error."""

    in_flight: int = 0
    durations_s: dict[tuple[str, ...], Histogram] = field(default_factory=dict)
    """Durations of requests in seconds, by API, route and status class."""
    characters: LabeledCounter = field(default_factory=LabeledCounter)
    """Characters to translate, by API."""
    rejections: LabeledCounter = field(default_factory=LabeledCounter)
    """Error responses, by kind of error."""

    def count(self, api: str, route: str, status_class: str, duration_s: float) -> None:
        """Count a request that has ended."""
        labels = (api, route, status_class)
        found = self.durations_s.get(labels)
        if found is None:
            found = self.durations_s[labels] = Histogram(DURATION_BOUNDS_S)
        found.add(duration_s)

    def reject(self, kind: str) -> None:
        """Count an error response."""
        self.rejections.add(kind)
