"""The documents of deploy/ fit the schemas that Kubernetes and KubeRay publish."""

import copy
import json
from pathlib import Path

import jsonschema
import kubernetes_validate
import pytest

from tests.deploy.manifests import PODS, PROFILES, Document, chart, kuberay, of_kind, pod_template

OLDEST = "1.29"
RELEASES = (OLDEST, kubernetes_validate.latest_version())
RAYJOB = json.loads((Path(__file__).parent / "rayjob.schema.json").read_text(encoding="utf8"))
OPERATORS = ("ray.io/v1", "monitoring.coreos.com/v1")
"""Kinds of operators, which Kubernetes itself has no schemas for."""


def _check(document: Document, release: str) -> None:
    kubernetes_validate.validate(document, release, strict=True)


def _template(name: str) -> Document:
    named = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "any"}}
    return {**named, "template": pod_template(name)}


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("origin", [*PROFILES, "kuberay"])
def test_kubernetes_knows_every_field(origin: str, release: str) -> None:
    for document in kuberay() if origin == "kuberay" else chart(origin):
        if document["apiVersion"] not in OPERATORS:
            _check(document, release)


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("name", PODS)
def test_kubernetes_knows_every_field_of_a_pod(name: str, release: str) -> None:
    _check(_template(name), release)


def test_kuberay_knows_every_field() -> None:
    jsonschema.Draft202012Validator(RAYJOB).validate(of_kind("RayJob", kuberay()))


def test_a_misspelt_field_is_found() -> None:
    job = copy.deepcopy(of_kind("RayJob", kuberay()))
    pod = copy.deepcopy(_template("ray head"))
    job["spec"]["rayClusterSpec"]["workerGroupSpec"] = []
    pod["template"]["spec"]["containers"][0]["resource"] = {}

    with pytest.raises(kubernetes_validate.ValidationError):
        _check(pod, OLDEST)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(RAYJOB).validate(job)


def test_a_misspelt_field_of_the_chart_is_found() -> None:
    deployment = copy.deepcopy(of_kind("Deployment", chart("default")))
    deployment["spec"]["template"]["spec"]["enableServiceLink"] = False

    with pytest.raises(kubernetes_validate.ValidationError):
        _check(deployment, OLDEST)


def test_the_schemas_of_kuberay_are_themselves_well_formed() -> None:
    jsonschema.Draft202012Validator.check_schema(RAYJOB)
