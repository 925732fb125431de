"""What the audit of locked versions says, from reports of pip-audit made by hand."""

from pathlib import Path

import pytest

from requirements.audit import LOCKS, REQUIREMENTS, Findings, exit_status, join_locks, read_report

SOUND = {"name": "sound", "version": "1.0", "vulns": []}
SKIPPED = {"name": "unknown", "skip_reason": "Dependency not found"}
VULNERABLE = {
    "name": "old",
    "version": "0.1",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["0.2", "0.3"]}, {"id": "PYSEC-2", "fix_versions": []}],
}


def test_a_vulnerability_is_reported_with_the_versions_that_fix_it() -> None:
    findings = read_report({"dependencies": [SOUND, VULNERABLE]})

    assert findings.vulnerable == (
        "old 0.1: PYSEC-1, fixed in 0.2, 0.3",
        "old 0.1: PYSEC-2, fixed in no version",
    )
    assert findings.num_audited == 2


def test_a_package_that_nobody_knows_is_not_audited() -> None:
    assert read_report({"dependencies": [SOUND, SKIPPED]}) == Findings((), ("unknown",), 1)


@pytest.mark.parametrize(
    ("findings", "is_unreached_allowed", "status"),
    [
        (read_report({"dependencies": [VULNERABLE, SKIPPED]}), False, 1),
        (read_report({"dependencies": [VULNERABLE, SKIPPED]}), True, 1),
        (Findings((), ("no connection",), 0), False, 2),
        (Findings((), ("no connection",), 0), True, 0),
        (Findings((), (), 5), False, 0),
    ],
)
def test_a_vulnerability_always_fails_and_an_unreached_service_unless_that_is_allowed(
    findings: Findings, *, is_unreached_allowed: bool, status: int
) -> None:
    assert exit_status(findings, is_unreached_allowed=is_unreached_allowed) == status


def test_files_are_joined_with_each_version_once(tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    first.write_text("# written\na==1 \\\n    --hash=sha256:1\n")
    second.write_text(
        "b==2 ; marker \\\n    --hash=sha256:2 \\\n    --hash=sha256:3\na==1 \\\n    --hash=sha256:1\n"
    )

    joined = join_locks([first, second])

    assert joined == (
        "a==1 \\\n    --hash=sha256:1\nb==2 ; marker \\\n    --hash=sha256:2 \\\n    --hash=sha256:3\n"
    )


def test_every_lock_file_there_is_is_audited() -> None:
    locked = {path.name for path in REQUIREMENTS.glob("*.txt") if "--hash=" in path.read_text()}

    audited = join_locks([REQUIREMENTS / name for name in LOCKS])

    assert locked - set(LOCKS) == {"serving.txt", "torch-cpu.txt"}  # parts of others
    assert all(pin in audited for pin in ("fastapi==", "s3fs==", "pytest==", "torch==", "setuptools=="))
