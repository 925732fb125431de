"""How many CPUs this process may use: a container's share, not the host's count."""

import os
from collections.abc import Iterator
from pathlib import Path

CGROUP_ROOT = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")


def available_cpus(cgroup_root: Path = CGROUP_ROOT, own_cgroups: Path = OWN_CGROUPS) -> int:
    """CPUs that the scheduler lets this process run on, or its cgroups' quota where that is less; at least 1.

    Args:
        cgroup_root: where the cgroup file systems are mounted.
        own_cgroups: the kernel's list of the groups that this process is in.
    """
    quotas = list(_quotas(cgroup_root, own_cgroups))
    return max(1, min([len(os.sched_getaffinity(0)), *(int(quota) for quota in quotas)]))


def _quotas(cgroup_root: Path, own_cgroups: Path) -> Iterator[float]:
    """CPUs that each group allows which this process is in, directly or through its parents."""
    for controllers, group in _groups(own_cgroups):
        if not controllers:  # version 2: one tree for all controllers
            for folder in _upwards(cgroup_root, group):
                yield from _quota_v2(folder / "cpu.max")
        elif "cpu" in controllers.split(","):
            for mount in {controllers, "cpu", "cpu,cpuacct"}:
                for folder in _upwards(cgroup_root / mount, group):
                    yield from _quota_v1(folder)


def _groups(own_cgroups: Path) -> Iterator[tuple[str, str]]:
    """Controllers and path of each group: lines such as `0::/a/b` and `4:cpu,cpuacct:/a/b`."""
    for line in _read(own_cgroups).splitlines():
        number, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if number.isdigit():
            yield controllers, group.strip("/")


def _upwards(root: Path, group: str) -> Iterator[Path]:
    """The group's folder and its parents'. Inside a container the group's own folder is often the root."""
    folder = root / group
    while folder != root:
        yield folder
        folder = folder.parent
    yield root


def _quota_v2(file: Path) -> Iterator[float]:
    """`cpu.max` is `quota period` in microseconds, or `max period`."""
    match _read(file).split():
        case [quota, period] if quota.isdigit() and period.isdigit() and int(period):
            yield int(quota) / int(period)


def _quota_v1(folder: Path) -> Iterator[float]:
    """A quota of -1 is none."""
    quota = _read(folder / "cpu.cfs_quota_us").strip()
    period = _read(folder / "cpu.cfs_period_us").strip()
    if quota.isdigit() and period.isdigit() and int(quota) and int(period):
        yield int(quota) / int(period)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""  # no such controller here, or none that we may read: no limit known
