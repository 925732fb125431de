"""The documents of deploy/, read once for the tests of this folder; Helm renders those of the chart."""

import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.paths import ROOT

CHART = ROOT / "deploy" / "helm" / "dragoman"
EXAMPLES = ROOT / "deploy" / "helm" / "examples"
KUBERAY = ROOT / "deploy" / "kuberay"
ADAPTER = ROOT / "deploy" / "prometheus" / "adapter-values.yaml"
VERSION: str = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]["version"]
PROFILES: Mapping[str, tuple[str, ...]] = {
    "default": (),
    "keys": ("keys.yaml",),
    "cluster": ("cluster.yaml",),
    "cluster with S3": ("cluster.yaml", "s3.yaml"),
}
"""Files of values in deploy/helm/examples; of two, the second one counts."""
PODS = (*PROFILES, "ray submitter", "ray head", "ray engines")

Document = dict[str, Any]


def helm(*arguments: str, profile: str = "default") -> subprocess.CompletedProcess[str]:
    """Run a command of Helm with the values of a profile; skip the test where there is no Helm."""
    folders = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    if (program := shutil.which("helm", path=folders)) is None:
        pytest.skip("Helm is not installed: make helm")
    values = [f"--values={EXAMPLES / name}" for name in PROFILES[profile]]
    command = [program, *arguments, *values]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def render(*settings: str, profile: str = "default") -> list[Document]:
    """Render the chart with a profile and further values, such as `replicas=2`."""
    options = [f"--set={each}" for each in settings]
    done = helm("template", "dragoman", str(CHART), *options, profile=profile)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


@cache
def chart(profile: str) -> list[Document]:
    """Render the chart with a profile."""
    return render(profile=profile)


@cache
def kuberay() -> list[Document]:
    """Read the manifests for KubeRay."""
    return [yaml.safe_load(path.read_text(encoding="utf8")) for path in sorted(KUBERAY.glob("*.yaml"))]


def of_kind(kind: str, documents: Iterable[Document]) -> Document:
    """Return the one document of a kind."""
    (found,) = [each for each in documents if each["kind"] == kind]
    return found


def size_bytes(quantity: str) -> int:
    """Return the bytes of a quantity of Kubernetes, such as 512Mi."""
    powers = {"Mi": 20, "Gi": 30}
    return int(quantity[:-2]) << powers[quantity[-2:]]


def pod_template(name: str) -> Document:
    """Return the template of one of PODS."""
    if name in PROFILES:
        template: Document = of_kind("Deployment", chart(name))["spec"]["template"]
        return template
    job = of_kind("RayJob", kuberay())["spec"]
    cluster = job["rayClusterSpec"]
    workers = {f"ray {each['groupName']}": each["template"] for each in cluster["workerGroupSpecs"]}
    templates: dict[str, Document] = {
        "ray submitter": job["submitterPodTemplate"],
        "ray head": cluster["headGroupSpec"]["template"],
        **workers,
    }
    return templates[name]


def container(name: str) -> Document:
    """Return the one container of one of PODS."""
    spec = pod_template(name)["spec"]
    assert "initContainers" not in spec
    (found,) = spec["containers"]
    one: Document = found
    return one
