"""CPUs are counted as the container's quota has it, not as the host does."""

import os
from pathlib import Path

import pytest

from dragoman.cpus import available_cpus, has_vnni


@pytest.fixture(autouse=True)
def eight_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)))


def cpus(tmp_path: Path, groups: str, files: dict[str, str]) -> int:
    own_cgroups = tmp_path / "self-cgroup"
    own_cgroups.write_text(groups, encoding="ascii")
    for name, content in files.items():
        file = tmp_path / "cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content, encoding="ascii")
    return available_cpus(tmp_path / "cgroup", own_cgroups)


def test_without_cgroups_the_affinity_counts(tmp_path: Path) -> None:
    assert available_cpus(tmp_path / "absent", tmp_path / "absent too") == 8


@pytest.mark.parametrize(
    ("cpu_max", "expected"),
    [
        ("max 100000\n", 8),
        ("200000 100000\n", 2),
        ("250000 100000\n", 2),
        ("50000 100000\n", 1),
        ("150000 50000\n", 3),
        ("9900000 100000\n", 8),
        ("", 8),
        ("nonsense\n", 8),
        ("1 0\n", 8),
    ],
)
def test_version_2_quotas_round_down_to_whole_cpus_but_one(
    tmp_path: Path, cpu_max: str, expected: int
) -> None:
    assert cpus(tmp_path, "0::/\n", {"cpu.max": cpu_max}) == expected


def test_the_tightest_of_the_groups_above_counts(tmp_path: Path) -> None:
    files = {"cpu.max": "max 100000", "a/cpu.max": "300000 100000", "a/b/cpu.max": "500000 100000"}

    assert cpus(tmp_path, "0::/a/b\n", files) == 3
    assert cpus(tmp_path, "0::/a\n", files) == 3
    assert cpus(tmp_path, "0::/other\n", files) == 8


@pytest.mark.parametrize("mount", ["cpu,cpuacct", "cpu"])
@pytest.mark.parametrize(("quota", "expected"), [("-1", 8), ("400000", 4), ("0", 8)])
def test_version_1_quotas_count_likewise(tmp_path: Path, mount: str, quota: str, expected: int) -> None:
    groups = "12:memory:/docker/x\n4:cpu,cpuacct:/docker/x\n"
    files = {
        f"{mount}/docker/x/cpu.cfs_quota_us": f"{quota}\n",
        f"{mount}/docker/x/cpu.cfs_period_us": "100000\n",
    }

    assert cpus(tmp_path, groups, files) == expected


def test_a_version_1_group_may_be_mounted_as_the_root(tmp_path: Path) -> None:
    files = {"cpu/cpu.cfs_quota_us": "200000", "cpu/cpu.cfs_period_us": "100000"}

    assert cpus(tmp_path, "4:cpu:/docker/seen/from/outside\n", files) == 2


@pytest.mark.parametrize(
    ("cpu_info", "expected"),
    [
        ("processor\t: 0\nflags\t\t: fpu avx2 avx512_vnni bmi1\npower: x\n", True),
        ("flags : avx_vnni", True),
        ("flags\t\t: fpu avx2 avx512f\nbugs\t\t: avx_vnni\n", False),
        ("Features\t: asimd asimddp\n", False),
        ("", False),
    ],
)
def test_vnni_is_found_among_the_flags_of_the_processor(
    *, cpu_info: str, expected: bool, tmp_path: Path
) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text(cpu_info, encoding="ascii")

    assert has_vnni(file) is expected
    assert not has_vnni(tmp_path / "absent")
