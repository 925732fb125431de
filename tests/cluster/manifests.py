"""The manifests of deploy/, read once for the tests of this folder."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
KUBERNETES = ROOT / "deploy" / "kubernetes"
KUBERAY = ROOT / "deploy" / "kuberay"
ADAPTER = KUBERNETES / "prometheus-adapter" / "values.yaml"
VERSION: str = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))["project"]["version"]

Document = dict[str, Any]


def documents(folder: Path) -> dict[str, Document]:
    """Manifests under a folder by their paths in it; the adapter's settings are none."""
    return {
        str(path.relative_to(folder)): yaml.safe_load(path.read_text(encoding="utf8"))
        for path in sorted(folder.rglob("*.yaml"))
        if path != ADAPTER
    }


def of_kind(kind: str, *folders: Path) -> Document:
    """The one manifest of a kind in some folders, or in all; of two, that outside of `examples`."""
    found = {
        name: each
        for folder in folders or (KUBERNETES, KUBERAY)
        for name, each in documents(folder).items()
        if each["kind"] == kind
    }
    (one,) = [each for name, each in found.items() if "/" not in name] or found.values()
    return one


def size_bytes(quantity: str) -> int:
    """What Kubernetes means by 512Mi."""
    powers = {"Mi": 20, "Gi": 30}
    return int(quantity[:-2]) << powers[quantity[-2:]]


def pod_templates() -> dict[str, Document]:
    """Templates of all pods, by what they are for."""
    job = of_kind("RayJob")["spec"]
    cluster = job["rayClusterSpec"]
    workers = {f"ray {each['groupName']}": each["template"] for each in cluster["workerGroupSpecs"]}
    return {
        "server": of_kind("Deployment")["spec"]["template"],
        "ray submitter": job["submitterPodTemplate"],
        "ray head": cluster["headGroupSpec"]["template"],
        **workers,
    }


def containers() -> Iterator[tuple[str, Document]]:
    """Each container with what its pod is for."""
    for name, template in pod_templates().items():
        for container in (*template["spec"].get("initContainers", ()), *template["spec"]["containers"]):
            yield name, container
