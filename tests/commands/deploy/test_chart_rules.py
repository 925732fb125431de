"""What the chart's documents promise each other, and which values it rejects."""

import json
import re
from pathlib import PurePosixPath
from typing import Any

import pytest
import yaml

from dragoman.scheduling.metrics import QueueState
from service.settings.settings import ENV_PREFIX, Settings, load_settings
from service.telemetry.counters import EngineMetricsCollector, RequestCounters, WorkerCounters
from service.telemetry.metrics import Metrics, ServerState
from tests.commands.deploy.manifests import (
    ADAPTER,
    CHART,
    EXAMPLES,
    PROFILES,
    VERSION,
    Document,
    chart,
    container,
    helm,
    of_kind,
    pod_template,
    render,
    size_bytes,
)
from tests.paths import ROOT

FILES_IN_PROGRESS = 4
"""Two uploads, and of a running job its file and its result."""
CONTRADICTIONS = {
    "several pods need postgresql.enabled to share jobs": ["replicas=2"],
    "several pods cannot share a SQLite database": ["replicas=2", "persistence.enabled=true"],
    "several pods need persistence.accessMode ReadWriteMany": [
        "autoscaling.enabled=true",
        "postgresql.enabled=true",
        "persistence.enabled=true",
    ],
    "settings.requires_key needs a place for keys": ["settings.requires_key=true"],
    "settings.database_url cannot be set: use postgresql": ["settings.database_url=sqlite:///a.db"],
    "/metrics requires a key": [
        "serviceMonitor.enabled=true",
        "settings.requires_key=true",
        "persistence.enabled=true",
    ],
    "nothing to read": ["serviceMonitor.enabled=true", "settings.metrics=off"],
    "additional properties 'replica' not allowed": ["replica=2"],
    "does not match pattern '^s3:": ["s3.enabled=true"],
    "at '/ingress/host'": ["ingress.enabled=true"],
}
each_profile = pytest.mark.parametrize("profile", PROFILES)


def settings_of(documents: list[Document]) -> dict[str, str]:
    data: dict[str, str] = of_kind("ConfigMap", documents)["data"]
    return data


def labels_of(profile: str) -> dict[str, str]:
    labels: dict[str, str] = pod_template(profile)["metadata"]["labels"]
    return labels


def volume(profile: str, name: str) -> Document:
    (found,) = (each for each in pod_template(profile)["spec"]["volumes"] if each["name"] == name)
    one: Document = found
    return one


def kinds(documents: list[Document]) -> set[str]:
    return {document["kind"] for document in documents}


def notes(*settings: str, profile: str = "default") -> str:
    options = [f"--set={each}" for each in settings]
    done = helm("install", "dragoman", str(CHART), "--dry-run=client", *options, profile=profile)
    assert done.returncode == 0, done.stderr
    return done.stdout.partition("\nNOTES:\n")[2]


@each_profile
def test_helm_finds_nothing_wrong(profile: str) -> None:
    done = helm("lint", "--strict", str(CHART), profile=profile)

    assert done.returncode == 0, done.stdout + done.stderr


def test_the_chart_has_the_version_of_the_server() -> None:
    chart_file = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf8"))

    assert chart_file["version"] == chart_file["appVersion"] == VERSION


def test_every_value_is_in_the_schema_and_has_a_default() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf8"))["properties"]
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf8"))

    assert schema.keys() - {"global"} == values.keys()
    for name, section in schema.items():
        if "properties" in section:
            assert section["properties"].keys() == values[name].keys(), name
            assert section["additionalProperties"] is False, name


def test_the_default_is_one_pod_without_state() -> None:
    assert kinds(chart("default")) == {"ConfigMap", "Deployment", "Service"}
    assert of_kind("Deployment", chart("default"))["spec"]["replicas"] == 1
    assert "env" not in container("default")


@pytest.mark.parametrize(("message", "values"), CONTRADICTIONS.items(), ids=CONTRADICTIONS)
def test_values_that_cannot_work_are_rejected(message: str, values: list[str]) -> None:
    done = helm("template", "dragoman", str(CHART), *(f"--set={each}" for each in values))

    assert done.returncode != 0
    assert message in done.stderr


def test_several_pods_without_jobs_need_no_database() -> None:
    documents = render("replicas=3", "settings.jobs=off")

    assert of_kind("Deployment", documents)["spec"]["replicas"] == 3
    assert settings_of(documents)["DRAGOMAN_JOBS"] == "off"


@each_profile
def test_settings_are_settings(profile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in settings_of(chart(profile)).items():
        assert name.removeprefix(ENV_PREFIX).lower() in Settings.model_fields
        monkeypatch.setenv(name, value)
    for variable in container(profile).get("env", ()):
        assert variable["name"].removeprefix(ENV_PREFIX).lower() in Settings.model_fields
    if PROFILES[profile][:1] == ("cluster.yaml",):
        monkeypatch.setenv("DRAGOMAN_DATABASE_URL", "postgresql://user:password@host/name")

    settings = load_settings()

    assert settings.requires_key is (profile != "default")
    assert (settings.database_url is not None) is (profile != "default")
    assert (settings.rate_storage_url is not None) is profile.startswith("cluster")


def test_numbers_are_written_out() -> None:
    found = settings_of(render("settings.memory_budget_bytes=1073741824", "settings.drain_s=2.5"))

    assert found["DRAGOMAN_MEMORY_BUDGET_BYTES"] == "1073741824"
    assert found["DRAGOMAN_DRAIN_S"] == "2.5"


def test_a_change_of_settings_restarts_the_pods() -> None:
    def checksum(documents: list[Document]) -> str:
        annotations = of_kind("Deployment", documents)["spec"]["template"]["metadata"]["annotations"]
        return str(annotations["checksum/settings"])

    assert checksum(render("settings.max_texts=5")) != checksum(chart("default"))


def test_each_probe_requests_its_own_route() -> None:
    probes = {name: container("default")[f"{name}Probe"] for name in ("readiness", "liveness", "startup")}

    assert {name: probe["httpGet"]["path"] for name, probe in probes.items()} == {
        "readiness": "/readyz",
        "liveness": "/healthz",
        "startup": "/healthz",
    }
    assert {probe["httpGet"]["port"] for probe in probes.values()} == {"http"}
    assert probes["startup"]["periodSeconds"] * probes["startup"]["failureThreshold"] == 90


@pytest.mark.parametrize("values", [[], ["settings.drain_s=20", "settings.request_timeout_s=300"]])
def test_a_pod_is_not_killed_before_it_has_drained(values: list[str]) -> None:
    documents = render(*values)
    found = settings_of(documents)
    drain_s = float(found["DRAGOMAN_DRAIN_S"])
    timeout_s = float(found.get("DRAGOMAN_REQUEST_TIMEOUT_S", Settings().request_timeout_s))
    spec = of_kind("Deployment", documents)["spec"]["template"]["spec"]
    readiness = spec["containers"][0]["readinessProbe"]

    assert spec["terminationGracePeriodSeconds"] > drain_s + timeout_s
    assert drain_s > readiness["periodSeconds"] * readiness["failureThreshold"]


@each_profile
def test_temporary_files_have_room(profile: str) -> None:
    temporary_bytes = size_bytes(volume(profile, "tmp")["emptyDir"]["sizeLimit"])
    stored_bytes = int(settings_of(chart(profile)).get("DRAGOMAN_MAX_JOBS_BYTES", 0))

    assert temporary_bytes > FILES_IN_PROGRESS * Settings().max_job_bytes + stored_bytes
    assert size_bytes(container(profile)["resources"]["limits"]["ephemeral-storage"]) > temporary_bytes
    assert (stored_bytes > 0) is (profile == "default")


def test_job_files_of_several_pods_are_on_a_volume_for_all() -> None:
    claim = of_kind("PersistentVolumeClaim", chart("cluster"))
    (mount,) = (each for each in container("cluster")["volumeMounts"] if each["name"] == "files")
    folder = PurePosixPath(settings_of(chart("cluster"))["DRAGOMAN_JOBS_FILES"])

    assert folder.is_relative_to(mount["mountPath"])
    assert volume("cluster", "files")["persistentVolumeClaim"]["claimName"] == claim["metadata"]["name"]
    assert claim["spec"]["accessModes"] == ["ReadWriteMany"]
    assert size_bytes(claim["spec"]["resources"]["requests"]["storage"]) > Settings().max_jobs_bytes


def test_keys_of_one_pod_are_on_a_volume_that_outlives_the_release() -> None:
    claim = of_kind("PersistentVolumeClaim", chart("keys"))
    (mount,) = (each for each in container("keys")["volumeMounts"] if each["name"] == "files")
    database = settings_of(chart("keys"))["DRAGOMAN_DATABASE_URL"].removeprefix("sqlite:///")

    assert PurePosixPath(database).parent == PurePosixPath(mount["mountPath"])
    assert claim["metadata"]["annotations"]["helm.sh/resource-policy"] == "keep"
    assert of_kind("Deployment", chart("keys"))["spec"]["strategy"] == {"type": "Recreate"}


def test_with_s3_files_are_in_the_store() -> None:
    documents = chart("cluster with S3")

    assert settings_of(documents)["DRAGOMAN_JOBS_FILES"].startswith("s3://")
    assert "PersistentVolumeClaim" not in kinds(documents)
    assert {"secretRef": {"name": "dragoman-s3"}} in container("cluster with S3")["envFrom"]


def test_secrets_are_read_from_secrets() -> None:
    (database,) = container("cluster")["env"]
    documents = render("redis.enabled=true", "redis.secretName=rates")
    (rates,) = of_kind("Deployment", documents)["spec"]["template"]["spec"]["containers"][0]["env"]

    assert database["name"] == "DRAGOMAN_DATABASE_URL"
    assert database["valueFrom"] == {"secretKeyRef": {"name": "dragoman", "key": "database-url"}}
    assert rates["valueFrom"] == {"secretKeyRef": {"name": "rates", "key": "redis-url"}}
    assert "DRAGOMAN_RATE_STORAGE_URL" not in settings_of(documents)


def test_models_can_be_on_a_volume() -> None:
    documents = render("models.volume.persistentVolumeClaim.claimName=bundles")
    spec = of_kind("Deployment", documents)["spec"]["template"]["spec"]
    (mount,) = (each for each in spec["containers"][0]["volumeMounts"] if each["name"] == "models")

    assert {"name": "models", "persistentVolumeClaim": {"claimName": "bundles"}} in spec["volumes"]
    assert f"DRAGOMAN_MODELS_DIR={mount['mountPath']}\n" in (ROOT / "Dockerfile").read_text(encoding="utf8")
    assert mount["readOnly"] is True


def test_an_image_can_be_named_by_its_digest() -> None:
    digest = f"sha256:{'0' * 64}"
    documents = render(f"image.digest={digest}")
    (found,) = of_kind("Deployment", documents)["spec"]["template"]["spec"]["containers"]

    assert found["image"] == f"registry.example.org/dragoman@{digest}"


@each_profile
def test_everything_selects_the_same_pods(profile: str) -> None:
    documents, labels = chart(profile), labels_of(profile)
    for document in documents:
        spec = document.get("spec", {})
        selectors = {
            "Service": lambda spec: spec["selector"],
            "Deployment": lambda spec: spec["selector"]["matchLabels"],
            "PodDisruptionBudget": lambda spec: spec["selector"]["matchLabels"],
            "NetworkPolicy": lambda spec: spec["podSelector"]["matchLabels"],
        }
        if select := selectors.get(document["kind"]):
            assert select(spec).items() <= labels.items(), document["kind"]


def test_the_autoscaler_decides_on_the_number_of_pods() -> None:
    autoscaler = of_kind("HorizontalPodAutoscaler", chart("cluster"))["spec"]
    deployment = of_kind("Deployment", chart("cluster"))
    budget = of_kind("PodDisruptionBudget", chart("cluster"))["spec"]

    assert autoscaler["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
    assert "replicas" not in deployment["spec"]
    assert autoscaler["minReplicas"] > budget["maxUnavailable"] >= 1  # nodes can be drained


def test_pods_are_counted_by_a_metric_that_is_made_of_the_servers_own() -> None:
    (metric,) = of_kind("HorizontalPodAutoscaler", chart("cluster"))["spec"]["metrics"]
    (rule,) = yaml.safe_load(ADAPTER.read_text(encoding="utf8"))["rules"]["custom"]
    (series,) = re.findall(r"^\w+", rule["seriesQuery"])

    assert metric["pods"]["metric"]["name"] == rule["name"]["as"]
    assert series in _exposed()
    assert rule["metricsQuery"].count("<<.Series>>") == rule["metricsQuery"].count("<<.LabelMatchers>>") == 2


def _exposed() -> set[str]:
    state = ServerState(
        is_ready=True, num_models=1, open_models={"avx2": 1}, memory_bytes=1, queue=QueueState(0, 1, 0)
    )
    families = Metrics(
        EngineMetricsCollector(), RequestCounters(), WorkerCounters(), lambda: state, None
    ).families()
    return {sample.name for family in families for sample in family.samples}


def test_the_network_policy_allows_the_port_of_the_service_and_what_the_pods_need() -> None:
    policy: dict[str, Any] = of_kind("NetworkPolicy", chart("cluster"))["spec"]
    (offered,) = of_kind("Service", chart("cluster"))["spec"]["ports"]
    allowed = {(port["protocol"], port["port"]) for rule in policy["egress"] for port in rule["ports"]}

    assert set(policy["policyTypes"]) == {"Ingress", "Egress"}
    assert [port["port"] for rule in policy["ingress"] for port in rule["ports"]] == [offered["targetPort"]]
    assert {port["name"] for port in container("cluster")["ports"]} == {offered["targetPort"]}
    assert allowed == {("UDP", 53), ("TCP", 53), ("TCP", 5432), ("TCP", 6379)}


def test_public_https_excludes_private_networks() -> None:
    rules = of_kind("NetworkPolicy", chart("cluster with S3"))["spec"]["egress"]
    (rule,) = (each for each in rules if each["ports"] == [{"protocol": "TCP", "port": 443}])
    (peer,) = rule["to"]

    assert peer["ipBlock"]["cidr"] == "0.0.0.0/0"
    assert set(peer["ipBlock"]["except"]) == {
        "10.0.0.0/8",
        "100.64.0.0/10",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.168.0.0/16",
    }


def test_prometheus_reads_the_service_with_a_key() -> None:
    monitor = of_kind("ServiceMonitor", chart("cluster"))["spec"]
    service = of_kind("Service", chart("cluster"))
    (endpoint,) = monitor["endpoints"]

    assert monitor["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()
    assert service["metadata"]["labels"][monitor["jobLabel"]] == "dragoman"  # as the alerts expect
    assert endpoint["port"] == service["spec"]["ports"][0]["name"]
    assert endpoint["authorization"]["credentials"] == {"name": "dragoman-metrics", "key": "api-key"}


@pytest.mark.parametrize("path", ["/translator", "/translator/"])
def test_the_prefix_of_the_ingress_is_that_of_the_server(path: str) -> None:
    documents = render("ingress.enabled=true", "ingress.host=example.org", f"ingress.path={path}")
    (rule,) = of_kind("Ingress", documents)["spec"]["rules"]
    (route,) = rule["http"]["paths"]

    assert (route["path"], route["pathType"]) == (path, "Prefix")
    backend = route["backend"]["service"]
    assert backend["name"] == of_kind("Service", documents)["metadata"]["name"]
    assert settings_of(documents)["DRAGOMAN_ROOT_PATH"] == "/translator"


def test_the_notes_say_how_to_translate_and_what_ends_with_the_pod() -> None:
    shown = notes()

    assert "port-forward service/dragoman 8000:80" in shown
    assert "Jobs and documents end with the pod" in shown
    assert "keys create" not in shown


def test_the_notes_warn_of_published_metrics_only() -> None:
    published = "The ingress publishes /metrics"

    assert published in notes("settings.metrics=open", profile="cluster")
    assert published not in notes(profile="cluster")
    assert "dragoman keys create" in notes(profile="cluster")


def test_the_page_names_every_section_of_values_and_every_example() -> None:
    page = (ROOT / "docs" / "guides" / "proxies-and-kubernetes.md").read_text(encoding="utf8")
    values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf8"))
    sections = [name for name, value in values.items() if isinstance(value, dict) and "enabled" in value]

    assert [name for name in (*sections, "models", "settings") if f"`{name}" not in page] == []
    assert [path.name for path in EXAMPLES.glob("*.yaml") if path.name not in page] == []
    assert ADAPTER.name in page
