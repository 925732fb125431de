"""The results so far, written to disk after every run."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.experiments.commands import ExperimentError
from bench.experiments.plan import Plan, Run
from bench.experiments.running import JobDirectory
from bench.experiments.timing import Timing
from bench.provenance import Provenance


class Results:
    """The result file: its runs and their measurements."""

    def __init__(self, path: Path, plan: Plan, place: JobDirectory) -> None:
        """Read the results so far, if there are any.

        Raises:
            ExperimentError: a run in the file has another recipe or other texts than the plan.
        """
        self.path = path
        self.plan = plan
        self.place = place
        self.runs: list[dict[str, Any]] = []
        self.timing: dict[str, Any] | None = None
        if path.is_file():
            content = json.loads(path.read_text(encoding="utf8"))
            self.runs, self.timing = content["runs"], content["timing"]
        self._check()

    def has(self, run: Run) -> bool:
        return any(one["run"] == run.name for one in self.runs)

    def add(self, measured: dict[str, Any]) -> None:
        self.runs.append(measured)

    def set_timing(self, timings: Sequence[Timing], sentences: int, rounds: int) -> None:
        self.timing = {
            "sentences": sentences,
            "rounds": rounds,
            "results": [asdict(one) for one in timings],
        }

    def write(self, origin: Provenance) -> None:
        """Replace the file atomically: if the process dies meanwhile, the previous file remains."""
        content = {
            "provenance": asdict(origin),
            "texts": {"files": self.place.texts.names(), "sha256": self.place.hashes},
            "seeds": len(self.plan.seeds),
            "arms": [asdict(arm) for arm in self.plan.arms],
            "runs": self.runs,
            "timing": self.timing,
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        partial = self.path.with_suffix(".partial")
        partial.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf8")
        partial.replace(self.path)

    def _check(self) -> None:
        wanted = {run.name: self.place.fingerprint(run) for run in self.plan.runs()}
        mismatched = [one["run"] for one in self.runs if wanted.get(one["run"]) != one["fingerprint"]]
        if mismatched:
            raise ExperimentError(
                f"{self.path} has runs with another recipe or other texts: {', '.join(mismatched)}; "
                "move it away to begin anew"
            )
