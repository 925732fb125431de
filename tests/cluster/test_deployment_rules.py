"""What every pod of deploy/ keeps to, and what its manifests promise each other."""

import re
import shlex
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from pathlib import PurePosixPath
from typing import Any

import pytest
import typer
import yaml

from dragoman.scheduling.metrics import QueueState
from service.cli.app import app
from service.settings import ENV_PREFIX, Settings, load_settings
from service.telemetry.counters import EngineMetricsCollector, RequestCounters, WorkerCounters
from service.telemetry.metrics import Metrics, ServerState
from tests.cluster.manifests import (
    ADAPTER,
    KUBERAY,
    KUBERNETES,
    ROOT,
    VERSION,
    Document,
    containers,
    documents,
    of_kind,
    pod_templates,
    size_bytes,
)

CONTAINERS = list(containers())
FILES_ON_THEIR_WAY = 4
"""Two uploads, and of a job at work its file and its result."""
each_pod = pytest.mark.parametrize("template", pod_templates().values(), ids=pod_templates())
each_container = pytest.mark.parametrize(
    "container", [each for _, each in CONTAINERS], ids=[name for name, _ in CONTAINERS]
)


def server() -> Document:
    (container,) = pod_templates()["server"]["spec"]["containers"]
    found: Document = container
    return found


def volume(name: str) -> Document:
    found: Document
    (found,) = (each for each in pod_templates()["server"]["spec"]["volumes"] if each["name"] == name)
    return found


def labels() -> Mapping[str, str]:
    found: dict[str, str] = pod_templates()["server"]["metadata"]["labels"]
    return found


def entrypoint() -> list[str]:
    return shlex.split(of_kind("RayJob")["spec"]["entrypoint"])


def _option(name: str) -> str:
    words = entrypoint()
    return words[words.index(name) + 1]


@each_pod
def test_no_pod_runs_as_root(template: Document) -> None:
    context = template["spec"]["securityContext"]

    assert context["runAsNonRoot"] is True
    assert context["runAsUser"] == context["runAsGroup"] == 10001
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}


@each_container
def test_no_container_can_write_to_its_image_or_become_more_than_it_is(container: Document) -> None:
    context = container["securityContext"]

    assert context["readOnlyRootFilesystem"] is True
    assert context["allowPrivilegeEscalation"] is False
    assert context["capabilities"] == {"drop": ["ALL"]}
    assert "privileged" not in context
    assert "/tmp" in {mount["mountPath"] for mount in container["volumeMounts"]}  # noqa: S108 -- the container's


@each_pod
def test_no_pod_has_a_token_of_the_cluster_or_is_part_of_its_node(template: Document) -> None:
    spec = template["spec"]

    assert spec["automountServiceAccountToken"] is False
    assert not spec.keys() & {"hostNetwork", "hostPID", "hostIPC"}
    assert not any("hostPath" in volume for volume in spec["volumes"])


@each_pod
def test_variables_of_services_do_not_become_settings(template: Document) -> None:
    assert template["spec"]["enableServiceLinks"] is False


def test_a_variable_of_a_service_would_stop_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    service = of_kind("Service")["metadata"]["name"].upper()
    monkeypatch.setenv(f"{service}_PORT", "tcp://10.0.0.1:80")

    with pytest.raises(Exception, match=f"{ENV_PREFIX}PORT"):
        load_settings()


@each_container
def test_every_container_has_limits(container: Document) -> None:
    resources = container["resources"]

    assert {"cpu", "memory"} <= resources["limits"].keys()
    assert {"cpu", "memory"} <= resources["requests"].keys()


@each_container
def test_images_are_named_by_the_release(container: Document) -> None:
    assert re.fullmatch(rf"registry\.example\.org/dragoman(-ray)?:{re.escape(VERSION)}", container["image"])


@pytest.mark.parametrize(
    "container", [each for name, each in CONTAINERS if name != "ray submitter"], ids=lambda each: each["name"]
)
def test_every_long_running_container_has_liveness_and_readiness_probes(container: Document) -> None:
    assert {"readinessProbe", "livenessProbe"} <= container.keys()


def test_each_probe_requests_its_own_route() -> None:
    container = server()

    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert container["startupProbe"]["httpGet"]["path"] == "/healthz"
    assert {
        container[f"{which}Probe"]["httpGet"]["port"] for which in ("readiness", "liveness", "startup")
    } == {"http"}


def test_settings_are_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    config = of_kind("ConfigMap")["data"]
    for name, value in config.items():
        assert isinstance(value, str), name
        monkeypatch.setenv(name, value)
    for variable in server()["env"]:
        assert variable["name"].removeprefix(ENV_PREFIX).lower() in Settings.model_fields
    monkeypatch.setenv("DRAGOMAN_DATABASE_URL", of_kind("Secret")["stringData"]["database-url"])

    settings = load_settings()

    assert settings.requires_key
    assert settings.rate_storage_url is not None
    assert settings.database_url is not None
    assert settings.database_url.startswith("postgresql://")


def test_a_pod_is_not_killed_before_it_has_drained() -> None:
    drain_s = float(of_kind("ConfigMap")["data"]["DRAGOMAN_DRAIN_S"])
    readiness = server()["readinessProbe"]

    grace_s = pod_templates()["server"]["spec"]["terminationGracePeriodSeconds"]
    assert grace_s > drain_s + Settings().request_timeout_s
    assert drain_s > readiness["periodSeconds"] * readiness["failureThreshold"]


def test_temporary_files_have_a_volume() -> None:
    temporary = volume("tmp")["emptyDir"]["sizeLimit"]

    assert size_bytes(temporary) > FILES_ON_THEIR_WAY * Settings().max_job_bytes
    assert size_bytes(server()["resources"]["limits"]["ephemeral-storage"]) > size_bytes(temporary)


def test_job_files_are_on_storage_shared_by_all_pods() -> None:
    claim = of_kind("PersistentVolumeClaim", KUBERNETES)
    (mount,) = (each for each in server()["volumeMounts"] if each["name"] == "files")
    folder = PurePosixPath(of_kind("ConfigMap")["data"]["DRAGOMAN_JOBS_FILES"])

    assert folder.is_relative_to(mount["mountPath"])
    assert volume("files")["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    assert size_bytes(claim["spec"]["resources"]["requests"]["storage"]) > Settings().max_jobs_bytes


def test_everything_is_about_the_same_pods() -> None:
    named = of_kind("HorizontalPodAutoscaler")["spec"]["scaleTargetRef"]
    deployment = of_kind("Deployment")

    assert of_kind("Service")["spec"]["selector"].items() <= labels().items()
    for kind in ("Deployment", "PodDisruptionBudget"):
        assert of_kind(kind)["spec"]["selector"]["matchLabels"].items() <= labels().items()
    assert of_kind("NetworkPolicy")["spec"]["podSelector"]["matchLabels"].items() <= labels().items()
    assert named == {"apiVersion": "apps/v1", "kind": "Deployment", "name": deployment["metadata"]["name"]}
    assert "replicas" not in deployment["spec"]


def test_nodes_can_be_drained_while_the_server_runs() -> None:
    autoscaler, budget = of_kind("HorizontalPodAutoscaler"), of_kind("PodDisruptionBudget")

    assert autoscaler["spec"]["minReplicas"] > budget["spec"]["maxUnavailable"] >= 1


def test_pods_are_counted_by_a_metric_that_is_made_of_the_servers_own() -> None:
    (metric,) = of_kind("HorizontalPodAutoscaler")["spec"]["metrics"]
    (rule,) = yaml.safe_load(ADAPTER.read_text(encoding="utf8"))["rules"]["custom"]
    (series,) = re.findall(r"^\w+", rule["seriesQuery"])

    assert metric["pods"]["metric"]["name"] == rule["name"]["as"]
    assert series in _exposed()
    assert rule["metricsQuery"].count("<<.Series>>") == rule["metricsQuery"].count("<<.LabelMatchers>>") == 2


def _exposed() -> set[str]:
    state = ServerState(
        is_ready=True, num_models=1, num_open_models=1, memory_bytes=1, queue=QueueState(0, 1, 0)
    )
    families = Metrics(
        EngineMetricsCollector(), RequestCounters(), WorkerCounters(), lambda: state, None
    ).families()
    return {sample.name for family in families for sample in family.samples}


def test_the_network_policy_lets_in_what_the_service_offers_and_name_servers_be_asked() -> None:
    policy: dict[str, Any] = of_kind("NetworkPolicy")["spec"]
    (offered,) = of_kind("Service")["spec"]["ports"]
    asked = {(port["protocol"], port["port"]) for rule in policy["egress"] for port in rule["ports"]}

    assert set(policy["policyTypes"]) == {"Ingress", "Egress"}
    assert [port["port"] for rule in policy["ingress"] for port in rule["ports"]] == [offered["targetPort"]]
    assert {port["name"] for port in server()["ports"]} == {offered["targetPort"]}
    assert {("UDP", 53), ("TCP", 53), ("TCP", 5432), ("TCP", 6379)} == asked


def test_the_example_lets_the_public_internet_be_reached_and_no_private_network() -> None:
    policy = documents(KUBERNETES)["examples/egress.yaml"]["spec"]
    (rule,) = policy["egress"]
    (block,) = (each["ipBlock"] for each in rule["to"])
    private = ["10.1.2.3", "100.64.0.1", "169.254.169.254", "172.31.0.1", "192.168.0.1"]

    def reaches(address: str) -> bool:
        among = [ip_address(address) in ip_network(each) for each in (block["cidr"], *block["except"])]
        return among[0] and not any(among[1:])

    assert policy["podSelector"]["matchLabels"].items() <= labels().items()
    assert (policy["policyTypes"], rule["ports"]) == (["Egress"], [{"protocol": "TCP", "port": 443}])
    assert reaches("1.1.1.1")
    assert not any(map(reaches, private))


def test_all_nodes_of_the_cluster_have_the_one_ray() -> None:
    (pinned,) = re.findall(r"ray\[default\]==([\d.]+)", (KUBERAY / "Dockerfile").read_text(encoding="utf8"))
    images = {container["image"] for name, container in CONTAINERS if name.startswith("ray")}

    assert of_kind("RayJob")["spec"]["rayClusterSpec"]["rayVersion"] == pinned
    assert len(images) == 1


def test_the_cluster_requires_a_token() -> None:
    assert of_kind("RayJob")["spec"]["rayClusterSpec"]["authOptions"] == {"mode": "token"}


def test_ray_usage_statistics_are_disabled() -> None:
    for name in ("ray head", "ray engines"):
        (container,) = pod_templates()[name]["spec"]["containers"]
        assert {"name": "RAY_USAGE_STATS_ENABLED", "value": "0"} in container["env"]
    assert "RAY_USAGE_STATS_ENABLED=0" in (KUBERAY / "Dockerfile").read_text(encoding="utf8")


def test_the_job_asks_for_the_engines_that_the_cluster_has_cpus_for() -> None:
    (group,) = of_kind("RayJob")["spec"]["rayClusterSpec"]["workerGroupSpecs"]
    (worker,) = group["template"]["spec"]["containers"]

    assert _option("--workers") == str(group["replicas"])
    assert _option("--worker-cpus") == worker["resources"]["limits"]["cpu"]


def test_the_job_gives_a_command_that_there_is() -> None:
    program, name, *arguments = entrypoint()
    command = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]

    parsed = command.make_context(name, arguments).params

    assert program == "dragoman"
    assert (parsed["engine"], parsed["ray_address"]) == ("ray", "auto")
    assert parsed["inputs"] == ["/data/in"]


def test_a_retry_of_the_job_resumes_the_first_attempt() -> None:
    job = of_kind("RayJob")["spec"]

    assert job["backoffLimit"] > 0
    assert "--resume" in entrypoint()


def test_input_and_output_are_on_storage_shared_by_all_nodes() -> None:
    claim = of_kind("PersistentVolumeClaim", KUBERAY)
    paths = [entrypoint()[2], _option("--output")]

    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    for name in ("ray head", "ray engines"):
        spec = pod_templates()[name]["spec"]
        (volume,) = (each for each in spec["volumes"] if "persistentVolumeClaim" in each)
        (mount,) = (each for each in spec["containers"][0]["volumeMounts"] if each["name"] == volume["name"])
        assert volume["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
        assert all(path.startswith(mount["mountPath"] + "/") for path in paths)


def test_every_manifest_is_named_on_the_page() -> None:
    pages = {
        folder: (ROOT / "docs" / "guides" / page).read_text(encoding="utf8")
        for folder, page in ((KUBERNETES, "kubernetes.md"), (KUBERAY, "batch-ray.md"))
    }

    assert all(name in page for folder, page in pages.items() for name in documents(folder))
    assert ADAPTER.relative_to(KUBERNETES).as_posix() in pages[KUBERNETES]
