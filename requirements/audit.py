"""Look for known vulnerabilities in the versions that the lock files name, with pip-audit.

Exit status 0: every version was looked up and none is known to be vulnerable. 1: some are; they are listed
with the versions that fix them. 2: the service of vulnerabilities was not reached, or does not know some
package; `--allow-unreached` makes this 0, for continuous integration without a network.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REQUIREMENTS = Path(__file__).parent
LOCKS = (
    "build.txt",
    "image.txt",
    "export.txt",
    "ray.txt",
    "sbom.txt",
    "helm.txt",
    "development.txt",
    "torch.txt",
)
"""All that is installed anywhere. CPU builds of torch share the version of PyPI's."""
ENTRY = re.compile(r"^[^ #\n].*\n(?: .*\n)*", re.MULTILINE)
"""A version and its hashes."""
SERVICE_TIMEOUT_S = 15
SHOWN_UNKNOWN = 5
OK, VULNERABLE, UNREACHED = 0, 1, 2


@dataclass(frozen=True, slots=True)
class Findings:
    """What is known of a set of versions."""

    vulnerable: tuple[str, ...]
    """A line each: package, version, identifier, versions that fix it."""
    unknown: tuple[str, ...]
    """Packages that the service did not answer for."""
    num_audited: int


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m requirements.audit", description=__doc__)
    parser.add_argument("--allow-unreached", action="store_true", help="no failure where nothing is known")
    is_unreached_allowed = parser.parse_args().allow_unreached
    report = run_pip_audit(join_locks([REQUIREMENTS / name for name in LOCKS]))
    findings = read_report(report) if isinstance(report, dict) else Findings((), (report,), 0)
    for line in findings.vulnerable:
        print(f"VULNERABLE {line}")
    print(f"audited {findings.num_audited} packages: {len(findings.vulnerable)} known vulnerabilities")
    if findings.unknown:
        shown = ", ".join(findings.unknown[:SHOWN_UNKNOWN])
        print(f"NOT AUDITED, as there was no answer: {len(findings.unknown)} packages ({shown}, ...)")
    return exit_status(findings, is_unreached_allowed=is_unreached_allowed)


def exit_status(findings: Findings, *, is_unreached_allowed: bool) -> int:
    """Return the exit status that the module's description defines."""
    if findings.vulnerable:
        return VULNERABLE
    return OK if is_unreached_allowed or not findings.unknown else UNREACHED


def join_locks(paths: Sequence[Path]) -> str:
    """Lock files as one that names each version once."""
    entries = (entry for path in paths for entry in ENTRY.findall(path.read_text(encoding="utf8")))
    return "".join(dict.fromkeys(entries))


def read_report(report: Mapping[str, Any]) -> Findings:
    """Read the findings of pip-audit's JSON report."""
    vulnerable: list[str] = []
    unknown: list[str] = []
    for package in report["dependencies"]:
        if "skip_reason" in package:
            unknown.append(package["name"])
            continue
        for each in package["vulns"]:
            fixed = ", ".join(each["fix_versions"]) or "no version"
            vulnerable.append(f"{package['name']} {package['version']}: {each['id']}, fixed in {fixed}")
    num_audited = len(report["dependencies"]) - len(unknown)
    return Findings(tuple(vulnerable), tuple(unknown), num_audited)


def run_pip_audit(lock: str) -> dict[str, Any] | str:
    """Its report on the versions of a lock file, or why there is none."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lock.txt"
        path.write_text(lock, encoding="utf8")
        command = [
            *(
                sys.executable,
                "-m",
                "pip_audit",
                "--requirement",
                str(path),
                "--require-hashes",
                "--disable-pip",
            ),
            *(
                "--require-hashes",
                "--disable-pip",
                "--format",
                "json",
                "--progress-spinner",
                "off",
                "--timeout",
                str(SERVICE_TIMEOUT_S),
            ),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 -- our own words
    try:
        report: dict[str, Any] = json.loads(done.stdout)
    except json.JSONDecodeError:
        last = done.stderr.strip().splitlines()[-1:] or ["it said nothing"]
        return f"pip-audit ended with status {done.returncode}: {last[0][:200]}"
    return report


if __name__ == "__main__":
    sys.exit(main())
