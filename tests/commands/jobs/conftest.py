"""Jobs in the process of the tests, and a cluster of two nodes."""

from tests.jobs.batch.conftest import environment, models_dir, run, run_double, run_engine
from tests.jobs.cluster.conftest import no_ray, place, two_cpus
from tests.jobs.conftest import double, keys, serve_double

__all__ = ["double", "environment", "keys", "models_dir", "no_ray", "place", "run", "run_double"]
__all__ += ["run_engine", "serve_double", "two_cpus"]
