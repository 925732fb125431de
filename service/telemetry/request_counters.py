"""What requests came to. For one event loop; another thread may read."""

from dataclasses import dataclass, field

from service.telemetry.counters import Counts, Distribution

DURATION_BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0)


@dataclass(slots=True)
class RequestCounters:
    """Labels are the server's own words: API, route, class of status, kind of error."""

    in_flight: int = 0
    durations_s: dict[tuple[str, ...], Distribution] = field(default_factory=dict)
    """By API, route and class of status."""
    characters: Counts = field(default_factory=Counts)
    """By API."""
    rejections: Counts = field(default_factory=Counts)
    """By kind of error."""

    def count(self, api: str, route: str, status_class: str, duration_s: float) -> None:
        """A request is over."""
        labels = (api, route, status_class)
        found = self.durations_s.get(labels)
        if found is None:
            found = self.durations_s[labels] = Distribution(DURATION_BOUNDS_S)
        found.add(duration_s)

    def reject(self, kind: str) -> None:
        """A client is answered with an error."""
        self.rejections.add(kind)
