"""How much a translator runs at once, by where it runs."""

import pytest

from dragoman.cpus import available_cpus
from dragoman.loading import GPU_CAPACITY, scheduler_options
from dragoman.providers import SessionOptions
from dragoman.scheduling.policy import Capacity

GPU = SessionOptions(providers=("cuda", "cpu"))


def test_cpus_are_shared_out_among_replicas_and_a_gpu_is_one() -> None:
    assert scheduler_options(SessionOptions(), None, 1).replicas == available_cpus()
    assert scheduler_options(SessionOptions(threads=10_000), None, 1).replicas == 1
    assert scheduler_options(GPU, None, 1).replicas == 1


def test_a_replica_of_a_gpu_takes_more_at_once() -> None:
    assert scheduler_options(SessionOptions(), 2, 1).capacity == Capacity()
    assert scheduler_options(GPU, 2, 1).capacity == GPU_CAPACITY


@pytest.mark.parametrize("session", [SessionOptions(), GPU])
def test_chosen_replicas_and_queue_size_apply(session: SessionOptions) -> None:
    options = scheduler_options(session, 3, 17)

    assert (options.replicas, options.queue_size) == (3, 17)
    with pytest.raises(ValueError, match="replicas must be at least 1, not 0"):
        scheduler_options(session, 0, 17)
