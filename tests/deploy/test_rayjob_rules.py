"""What the job for KubeRay promises: one Ray, a token, and a command that exists."""

import re
import shlex

import typer

from service.cli.app import app
from tests.deploy.manifests import KUBERAY, ROOT, container, kuberay, of_kind, pod_template

NODES = ("ray head", "ray engines")
GUIDE = ROOT / "docs" / "guides" / "batch-ray.md"
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
