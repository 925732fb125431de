"""docs/guides/deploying.md, the compose file and the image agree with the settings and with each other."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from service.settings import ENV_PREFIX, Settings, load_settings
from tests.cluster.manifests import size_bytes

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "guides" / "deploying.md").read_text(encoding="utf8")
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf8")
COMPOSE = (ROOT / "deploy" / "compose.yaml").read_text(encoding="utf8")
SERVICE: dict[str, Any] = yaml.safe_load(COMPOSE)["services"]["dragoman"]
VOLUME = "/var/lib/dragoman"
MEBIBYTE = 2**20
FILES_ON_THEIR_WAY = 4
"""Two uploads, and of a job at work its file and its result."""


def pod() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(_block("yaml"))["spec"]["template"]["spec"]
    return found


def _block(language: str) -> str:
    (block,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return str(block)


def _number(pattern: str, text: str) -> int:
    (found,) = re.findall(pattern, text)
    return int(found)


def _tmpfs_bytes(options: str) -> int:
    return MEBIBYTE * _number(r"size=(\d+)m\b", options)


@pytest.mark.parametrize("text", [PAGE, DOCKERFILE, COMPOSE], ids=["page", "Dockerfile", "compose"])
def test_every_variable_that_is_shown_is_a_setting(text: str) -> None:
    variables = set(re.findall(rf"\b{ENV_PREFIX}[A-Z_]+\b", text))

    assert variables
    assert {name.removeprefix(ENV_PREFIX).lower() for name in variables} <= set(Settings.model_fields)


def test_the_compose_file_starts_a_server_that_wants_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in SERVICE["environment"].items():
        monkeypatch.setenv(name, value)

    settings = load_settings()

    assert settings.requires_key
    assert settings.database_url is not None
    assert Path(settings.database_url.removeprefix("sqlite:///")).parent == Path(VOLUME)
    assert settings.jobs_files is None  # beside the database


def test_compose_and_image_mean_the_same_volume() -> None:
    (volume,) = SERVICE["volumes"]

    assert volume.partition(":")[2] == VOLUME
    assert re.findall(r"(?m)^WORKDIR (\S+)", DOCKERFILE)[-1] == VOLUME
    assert f"install -d -o 10001 -g 10001 -m 700 {VOLUME}" in DOCKERFILE
    assert "USER 10001:10001" in DOCKERFILE


def test_nothing_is_stopped_before_what_is_under_way_can_be_done() -> None:
    defaults = Settings()
    (container,) = pod()["containers"]
    (drain,) = (each for each in container["env"] if each["name"] == "DRAGOMAN_DRAIN_S")
    alone_s = defaults.drain_s + defaults.request_timeout_s

    assert int(SERVICE["stop_grace_period"].removesuffix("s")) > alone_s
    assert _number(r"--stop-timeout (\d+)", PAGE) > alone_s
    assert pod()["terminationGracePeriodSeconds"] > float(drain["value"]) + defaults.request_timeout_s


def test_files_on_their_way_have_room() -> None:
    wanted_bytes = FILES_ON_THEIR_WAY * Settings().max_job_bytes
    (tmpfs,) = SERVICE["tmpfs"]
    (volume,) = (each for each in pod()["volumes"] if each["name"] == "tmp")

    assert _tmpfs_bytes(tmpfs) > wanted_bytes
    assert size_bytes(volume["emptyDir"]["sizeLimit"]) > wanted_bytes
    shown = re.findall(r"--tmpfs \S+", PAGE)
    assert shown
    assert all(_tmpfs_bytes(options) > wanted_bytes for options in shown)


def test_files_of_jobs_lie_on_a_volume_that_pods_share() -> None:
    (container,) = pod()["containers"]
    (folder,) = (each["value"] for each in container["env"] if each["name"] == "DRAGOMAN_JOBS_FILES")
    (volume,) = (each for each in pod()["volumes"] if "persistentVolumeClaim" in each)
    (mount,) = (each for each in container["volumeMounts"] if each["name"] == volume["name"])

    assert Path(folder).is_relative_to(mount["mountPath"])


@pytest.mark.parametrize(
    ("language", "body", "waiting"),
    [
        ("nginx", r"client_max_body_size (\d+)m;", r"proxy_read_timeout (\d+)s;"),
        ("caddyfile", r"max_size (\d+)MiB", r"response_header_timeout (\d+)s"),
    ],
    ids=["nginx", "Caddy"],
)
def test_proxies_let_pass_and_wait_for_what_the_server_takes(language: str, body: str, waiting: str) -> None:
    defaults = Settings()
    block = _block(language)

    assert MEBIBYTE * _number(body, block) > max(defaults.max_job_bytes, defaults.max_document_bytes)
    assert _number(waiting, block) > defaults.request_timeout_s


def test_probes_ask_what_they_are_for() -> None:
    (container,) = pod()["containers"]

    assert container["readinessProbe"]["httpGet"] == {"path": "/readyz", "port": 8000}
    assert container["livenessProbe"]["httpGet"] == {"path": "/healthz", "port": 8000}
    assert container["startupProbe"]["httpGet"] == {"path": "/healthz", "port": 8000}
    assert "/healthz" in DOCKERFILE
    assert "DRAGOMAN_PORT=8000" in DOCKERFILE
