"""Nothing but a job for a cluster wants Ray, and without it such a job says so."""

import socket
import subprocess
import sys

import pytest

from service.batch.errors import ClusterFailed, ClusterMissing
from service.cluster import ClusterOptions
from service.cluster.engines import connect
from tests.paths import ROOT


def _run(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)


def test_a_local_job_does_not_import_ray() -> None:
    _run(
        "import sys, service.cli.batch, service.cli.batch_job\n"
        "assert not {'ray', 'pyarrow'} & sys.modules.keys()"
    )


def test_a_cluster_without_ray_is_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)

    with pytest.raises(ClusterMissing, match=r"install dragoman\[ray\]"), connect(ClusterOptions()):
        pass


def test_an_unreachable_cluster_is_reported() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        address = f"127.0.0.1:{closed.getsockname()[1]}"

    with pytest.raises(ClusterFailed, match=f"{address}.*refused"), connect(ClusterOptions(address)):
        pass


def test_a_cluster_without_the_partition_library_is_rejected() -> None:
    _run(
        "import sys\n"
        "sys.modules['pyarrow'] = None\n"
        "from service.batch.errors import ClusterMissing\n"
        "try:\n"
        "    import service.cluster.run\n"
        "except ClusterMissing:\n"
        "    sys.exit()\n"
        "sys.exit('it was imported')"
    )
