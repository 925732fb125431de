"""The manifests of deploy/ fit the schemas that Kubernetes and KubeRay publish."""

import copy
import json
from pathlib import Path

import jsonschema
import kubernetes_validate
import pytest

from tests.cluster.manifests import KUBERAY, KUBERNETES, Document, documents, of_kind, pod_templates

OLDEST = "1.29"
RELEASES = (OLDEST, kubernetes_validate.latest_version())
RAYJOB = json.loads((Path(__file__).parent / "rayjob.schema.json").read_text(encoding="utf8"))
KUBERNETES_OWN = {
    f"{folder.name}/{name}": document
    for folder in (KUBERNETES, KUBERAY)
    for name, document in documents(folder).items()
    if document["apiVersion"] != "ray.io/v1"
}


def _check(document: Document, release: str) -> None:
    kubernetes_validate.validate(document, release, strict=True)


def _check_pod(template: Document, release: str) -> None:
    named = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "any"}, "template": template}
    _check(named, release)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", KUBERNETES_OWN)
def test_kubernetes_knows_every_field(name: str, release: str) -> None:
    _check(KUBERNETES_OWN[name], release)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", pod_templates())
def test_kubernetes_knows_every_field_of_a_pod(name: str, release: str) -> None:
    _check_pod(pod_templates()[name], release)


def test_kuberay_knows_every_field() -> None:
    jsonschema.Draft202012Validator(RAYJOB).validate(of_kind("RayJob"))


def test_a_misspelt_field_is_found() -> None:
    deployment = copy.deepcopy(of_kind("Deployment"))
    job = copy.deepcopy(of_kind("RayJob"))
    template = copy.deepcopy(pod_templates()["ray head"])
    deployment["spec"]["template"]["spec"]["enableServiceLink"] = False
    job["spec"]["rayClusterSpec"]["workerGroupSpec"] = []
    template["spec"]["containers"][0]["resource"] = {}

    with pytest.raises(kubernetes_validate.ValidationError):
        _check(deployment, OLDEST)
    with pytest.raises(kubernetes_validate.ValidationError):
        _check_pod(template, OLDEST)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(RAYJOB).validate(job)


def test_the_schemas_of_kuberay_are_themselves_well_formed() -> None:
    jsonschema.Draft202012Validator.check_schema(RAYJOB)
