"""The CPUs that this process may use: a container's share, not the host's count; and what they can do."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

CGROUP_ROOT = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")
CPU_INFO = Path("/proc/cpuinfo")
VNNI = frozenset({"avx512_vnni", "avx_vnni"})
"""Names in `CPU_INFO` of instructions that sum products of int8 numbers without saturation."""


def available_cpus(cgroup_root: Path = CGROUP_ROOT, own_cgroups: Path = OWN_CGROUPS) -> int:
    """Return the CPUs that the process may run on, or its cgroups' quota if that is lower; at least 1.

    Args:
        cgroup_root: folder where the cgroup file systems are mounted.
        own_cgroups: the kernel's list of this process's groups.
    """
    quotas = list(_quotas(cgroup_root, own_cgroups))
    return max(1, min([_usable_cpus(), *(int(quota) for quota in quotas)]))


def has_vnni(cpu_info: Path = CPU_INFO) -> bool:
    """Return whether the CPUs have VNNI; False where the system does not say."""
    flags = re.search(r"^flags\s*:(.*)$", _read(cpu_info), re.MULTILINE)
    return flags is not None and not VNNI.isdisjoint(flags[1].split())


def _usable_cpus() -> int:
    """Return the CPUs that the process may run on; all of them on platforms that do not tell."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _quotas(cgroup_root: Path, own_cgroups: Path) -> Iterator[float]:
    """Yield the CPU quota of each group of this process, direct or inherited."""
    for controllers, group in _groups(own_cgroups):
        if not controllers:  # version 2: one tree for all controllers
            for folder in _upwards(cgroup_root, group):
                yield from _quota_v2(folder / "cpu.max")
        elif "cpu" in controllers.split(","):
            for mount in {controllers, "cpu", "cpu,cpuacct"}:
                for folder in _upwards(cgroup_root / mount, group):
                    yield from _quota_v1(folder)


def _groups(own_cgroups: Path) -> Iterator[tuple[str, str]]:
    """Yield controllers and path of each group, from lines such as `0::/a/b` and `4:cpu,cpuacct:/a/b`."""
    for line in _read(own_cgroups).splitlines():
        number, _, rest = line.partition(":")
        controllers, _, group = rest.partition(":")
        if number.isdigit():
            yield controllers, group.strip("/")


def _upwards(root: Path, group: str) -> Iterator[Path]:
    """Yield the group's folder and its parents. In a container the group's own folder is often the root."""
    folder = root / group
    while folder != root:
        yield folder
        folder = folder.parent
    yield root


def _quota_v2(file: Path) -> Iterator[float]:
    """Yield the quota from `cpu.max`: `quota period` in microseconds, or `max period`."""
    match _read(file).split():
        case [quota, period] if quota.isdigit() and period.isdigit() and int(period):
            yield int(quota) / int(period)


def _quota_v1(folder: Path) -> Iterator[float]:
    """Yield the quota of a version 1 group; -1 means none."""
    quota = _read(folder / "cpu.cfs_quota_us").strip()
    period = _read(folder / "cpu.cfs_period_us").strip()
    if quota.isdigit() and period.isdigit() and int(quota) and int(period):
        yield int(quota) / int(period)


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""  # no such controller, or not readable: no known limit
