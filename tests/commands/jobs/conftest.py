"""Jobs in the process of the tests, and a cluster of two nodes."""

from tests.jobs.batch.conftest import environment, models_dir, run, run_double, run_engine
from tests.jobs.cluster.conftest import no_ray, place, two_cpus

__all__ = ["environment", "models_dir", "no_ray", "place", "run", "run_double", "run_engine", "two_cpus"]
