"""A job on a Ray of its own, slow enough to be killed: `python -m tests.cluster.killed FOLDER NUM_LINES`."""

import sys
from pathlib import Path

from service.cluster.run import run_on_ray
from tests.cluster.conftest import Place
from tests.cluster.doubles import DoubleEngine


def lines(count: int) -> list[str]:
    """Distinct ones."""
    return [f"line {number}" for number in range(count)]


if __name__ == "__main__":
    place = Place(Path(sys.argv[1]))
    job = place.job(lines(int(sys.argv[2])))
    run_on_ray(place.cluster_job(job, DoubleEngine(entry_s=0.02), 4), place.journal())
