"""A job slow enough to be killed."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from service.cluster.run import run_on_ray
from tests.jobs.cluster.conftest import Place
from tests.jobs.cluster.doubles import DoubleEngine, replace_ray


def lines(count: int) -> list[str]:
    """Distinct ones."""
    return [f"line {number}" for number in range(count)]


def run_slow_job(folder: Path, num_lines: int) -> None:
    """Run it in this process."""
    with pytest.MonkeyPatch.context() as patch, ExitStack() as opened:
        replace_ray(patch)
        place = Place(folder, opened)
        job = place.job(lines(num_lines))
        run_on_ray(place.cluster_job(job, DoubleEngine(entry_s=0.02), 4), place.journal())
