"""The documents of deploy/ fit their schemas, and what pods, the job for KubeRay and the unit promise."""

import copy
import json
import re
import shlex
import shutil
import subprocess
from configparser import RawConfigParser
from pathlib import Path

import jsonschema
import kubernetes_validate
import pytest
import typer

from service.cli.app import app
from service.http.server_protocol import CLOSE_GRACE_S
from service.settings.settings import Settings
from tests.commands.deploy.manifests import (
    KUBERAY,
    PODS,
    PROFILES,
    VERSION,
    Document,
    chart,
    container,
    kuberay,
    of_kind,
    pod_template,
)
from tests.paths import ROOT

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


@pytest.mark.parametrize("name", PODS)
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


@pytest.mark.parametrize("name", PODS)
def test_a_container_of_the_release_has_limits_and_probes_and_gains_no_privileges(name: str) -> None:
    found = container(name)

    assert found["securityContext"] == {
        "readOnlyRootFilesystem": True,
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }
    assert "/tmp" in {mount["mountPath"] for mount in found["volumeMounts"]}  # noqa: S108 -- the container's
    assert {"cpu", "memory"} <= found["resources"]["limits"].keys() & found["resources"]["requests"].keys()
    assert re.fullmatch(rf"registry\.example\.org/dragoman(-ray)?:{re.escape(VERSION)}", found["image"])
    assert name == "ray submitter" or {"readinessProbe", "livenessProbe"} <= found.keys()


NODES = ("ray head", "ray engines")
GUIDE = ROOT / "docs" / "guides" / "batch.md"
DOCKERFILE = (KUBERAY / "Dockerfile").read_text(encoding="utf8")


def entrypoint() -> list[str]:
    return shlex.split(of_kind("RayJob", kuberay())["spec"]["entrypoint"])


def _option(name: str) -> str:
    words = entrypoint()
    return words[words.index(name) + 1]


def test_all_nodes_of_the_cluster_have_the_one_ray() -> None:
    lock = (ROOT / "requirements" / "ray.txt").read_text(encoding="utf8")
    (locked,) = re.findall(r"(?m)^ray==([\d.]+)", lock)
    images = {container(name)["image"] for name in (*NODES, "ray submitter")}

    assert of_kind("RayJob", kuberay())["spec"]["rayClusterSpec"]["rayVersion"] == locked
    assert len(images) == 1


def test_the_cluster_requires_a_token() -> None:
    assert of_kind("RayJob", kuberay())["spec"]["rayClusterSpec"]["authOptions"] == {"mode": "token"}


def test_ray_usage_statistics_are_disabled() -> None:
    for name in NODES:
        assert {"name": "RAY_USAGE_STATS_ENABLED", "value": "0"} in container(name)["env"]
    assert "RAY_USAGE_STATS_ENABLED=0" in DOCKERFILE


def test_the_job_asks_for_the_engines_that_the_cluster_has_cpus_for() -> None:
    (group,) = of_kind("RayJob", kuberay())["spec"]["rayClusterSpec"]["workerGroupSpecs"]

    assert _option("--workers") == str(group["replicas"])
    assert _option("--worker-cpus") == container("ray engines")["resources"]["limits"]["cpu"]


def test_the_job_gives_a_command_that_there_is() -> None:
    program, name, *arguments = entrypoint()
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]

    parsed = command.make_context(name, arguments).params

    assert program == "dragoman"
    assert (parsed["engine"], parsed["ray_address"]) == ("ray", "auto")
    assert parsed["inputs"] == ["/data/in"]


def test_a_retry_of_the_job_resumes_the_first_attempt() -> None:
    assert of_kind("RayJob", kuberay())["spec"]["backoffLimit"] > 0
    assert "--resume" in entrypoint()


def test_input_and_output_are_on_storage_shared_by_all_nodes() -> None:
    claim = of_kind("PersistentVolumeClaim", kuberay())
    paths = [entrypoint()[2], _option("--output")]

    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    for name in NODES:
        (volume,) = (
            each for each in pod_template(name)["spec"]["volumes"] if "persistentVolumeClaim" in each
        )
        (mount,) = (each for each in container(name)["volumeMounts"] if each["name"] == volume["name"])
        assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
        assert all(path.startswith(mount["mountPath"] + "/") for path in paths)


def test_every_manifest_is_named_on_the_page() -> None:
    page = GUIDE.read_text(encoding="utf8")

    assert all(path.name in page for path in KUBERAY.glob("*.yaml"))


UNIT = ROOT / "deploy" / "systemd" / "dragoman.service"
PROGRAM = "/opt/dragoman/bin/dragoman"
JOBS_STOP_S = 10
"""Seconds that a stopping server waits for jobs."""
MAX_EXPOSURE_TENTHS = 20


def option(name: str) -> str:
    parser = RawConfigParser(strict=False)  # options may occur twice
    parser.read(UNIT)
    return parser["Service"][name]


@pytest.mark.parametrize(
    "arguments",
    [["verify", "--man=no"], ["security", "--offline=true", f"--threshold={MAX_EXPOSURE_TENTHS}"]],
    ids=["verify", "security"],
)
def test_systemd_finds_no_fault(arguments: list[str], tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text("utf-8").replace(PROGRAM, "/bin/true"), "utf-8")  # it must be installed

    checked = subprocess.run([program, *arguments, str(unit)], capture_output=True, text=True, check=False)

    assert (checked.returncode, checked.stderr) == (0, ""), checked.stdout


def test_systemd_waits_until_a_stopping_server_has_drained() -> None:
    fields = Settings.model_fields
    stop_s = sum(fields[name].default for name in ("drain_s", "stop_timeout_s")) + CLOSE_GRACE_S + JOBS_STOP_S

    assert float(option("TimeoutStopSec")) > stop_s


def test_the_server_may_open_as_many_files_as_connections() -> None:
    assert int(option("LimitNOFILE")) >= Settings.model_fields["max_connections"].default + 100


def test_the_unit_starts_the_command_that_the_package_installs() -> None:
    assert option("ExecStart") == f"{PROGRAM} serve"
