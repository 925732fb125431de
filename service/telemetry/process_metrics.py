"""Metrics of several server processes: each writes its own to a file, and the one that is read reads all."""

import json
import os
from pathlib import Path
from threading import Lock

from prometheus_client import generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from service.telemetry.metrics import Metrics

PROCESS = "process"
"""Label of gauges: the number of the process."""
GAUGE = "gauge"

_Key = tuple[str, str, str, str, tuple[tuple[str, str], ...]]
"""Family with its documentation and type; sample with its labels."""
_Values = dict[_Key, float]


class ProcessMetrics(Collector):
    """Metrics of all processes of a server.

    Counters and histograms are sums, and those of a process that has ended stay; gauges have a label for
    the process. What is exposed is in the files before, so that no counter falls whichever process answers.
    """

    def __init__(self, metrics: Metrics, folder: Path, number: int) -> None:
        """Go on with the counters of the process that had the number before, if there was one.

        Args:
            metrics: of this process.
            folder: of the processes' files; only they may write there.
            number: of this process among those of the server.
        """
        self._metrics = metrics
        self._folder = folder
        self._number = number
        self._path = folder / f"{number}.json"
        self._lock = Lock()
        self._before = {} if not self._path.exists() else _read(self._path, has_gauges=False)

    def exposition(self) -> bytes:
        """Return all metrics in Prometheus's text format. Raises OSError if the file cannot be written."""
        self.write()
        return generate_latest(self)

    def collect(self) -> list[Metric]:
        """Return all metrics as objects."""
        return self.families()

    def families(self) -> list[Metric]:
        """Return the metrics of all processes, as they are in their files."""
        total: _Values = {}
        for path in sorted(self._folder.glob("*.json")):
            _add(total, _read(path, has_gauges=True))
        families: dict[str, Metric] = {}
        for (name, documentation, kind, sample, labels), value in total.items():
            family = families.setdefault(name, Metric(name, documentation, kind))
            family.add_sample(sample, dict(labels), value)
        return list(families.values())

    def write(self) -> None:
        """Write this process's metrics to its file. Raises OSError."""
        with self._lock:
            values = self._before.copy()
            _add(values, self._own())
            partial = self._path.with_suffix(".partial")
            partial.write_text(json.dumps([os.getpid(), list(values.items())]))
            partial.replace(self._path)

    def _own(self) -> _Values:
        values: _Values = {}
        for family in self._metrics.families():
            own = {PROCESS: str(self._number)} if family.type == GAUGE else {}
            for sample in family.samples:
                labels = tuple(sorted((sample.labels | own).items()))
                values[family.name, family.documentation, family.type, sample.name, labels] = sample.value
        return values


def _read(path: Path, *, has_gauges: bool) -> _Values:
    """Read the values of a process, without gauges if it has ended or they are not wanted."""
    pid, items = json.loads(path.read_text())
    has_gauges = has_gauges and Path(f"/proc/{pid}").exists()
    return {
        (name, documentation, kind, sample, tuple((label, text) for label, text in labels)): value
        for (name, documentation, kind, sample, labels), value in items
        if has_gauges or kind != GAUGE
    }


def _add(total: _Values, values: _Values) -> None:
    for key, value in values.items():
        total[key] = total.get(key, 0.0) + value
