"""What every pod of deploy/ keeps to."""

import re

import pytest

from tests.deploy.manifests import PODS, VERSION, container, pod_template

each_pod = pytest.mark.parametrize("name", PODS)


@each_pod
def test_no_pod_runs_as_root_has_a_token_of_the_cluster_or_is_part_of_its_node(name: str) -> None:
    spec = pod_template(name)["spec"]
    context = {
        "runAsNonRoot": True,
        "runAsUser": 10001,
        "runAsGroup": 10001,
        "seccompProfile": {"type": "RuntimeDefault"},
    }

    assert context.items() <= spec["securityContext"].items()
    assert (spec["automountServiceAccountToken"], spec["enableServiceLinks"]) == (False, False)
    assert not spec.keys() & {"hostNetwork", "hostPID", "hostIPC"}
    assert not any("hostPath" in volume for volume in spec["volumes"])


@each_pod
def test_no_container_can_write_to_its_image_or_gain_privileges(name: str) -> None:
    assert container(name)["securityContext"] == {
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert "/tmp" in {mount["mountPath"] for mount in container(name)["volumeMounts"]}  # noqa: S108 -- the container's


@each_pod
def test_every_container_has_limits(name: str) -> None:
    resources = container(name)["resources"]

    assert {"cpu", "memory"} <= resources["limits"].keys()
    assert {"cpu", "memory"} <= resources["requests"].keys()


@each_pod
def test_images_are_named_by_the_release(name: str) -> None:
    image = container(name)["image"]

    assert re.fullmatch(rf"registry\.example\.org/dragoman(-ray)?:{re.escape(VERSION)}", image)


@pytest.mark.parametrize("name", [each for each in PODS if each != "ray submitter"])
def test_every_long_running_container_has_liveness_and_readiness_probes(name: str) -> None:
    assert {"readinessProbe", "livenessProbe"} <= container(name).keys()
