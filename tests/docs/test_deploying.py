"""The guides to deployment, the compose file and the image agree with the settings and with each other."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from service.settings.settings import ENV_PREFIX, Settings, load_settings
from tests.paths import ROOT

GUIDES = {
    name: (ROOT / "docs" / "guides" / f"{name}.md").read_text(encoding="utf8")
    for name in ("deploying", "several-processes", "proxies-and-kubernetes", "running-job-workers")
}
PAGE = GUIDES["deploying"]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf8")
COMPOSE = (ROOT / "deploy" / "compose.yaml").read_text(encoding="utf8")
SERVICES: dict[str, Any] = yaml.safe_load(COMPOSE)["services"]
SERVICE: dict[str, Any] = SERVICES["server"]
VOLUME = "/var/lib/dragoman"
MODELS = "/srv/dragoman/models"
MEBIBYTE = 2**20
FILES_ON_THEIR_WAY = 4
"""Two uploads, and of a job at work its file and its result."""


def _block(language: str) -> str:
    (block,) = re.findall(rf"```{language}\n(.*?)```", GUIDES["proxies-and-kubernetes"], re.DOTALL)
    return str(block)


def _text(pattern: str, text: str) -> str:
    (found,) = re.findall(pattern, text)
    return str(found)


def _number(pattern: str, text: str) -> int:
    return int(_text(pattern, text))


def _tmpfs_bytes(options: str) -> int:
    return MEBIBYTE * _number(r"size=(\d+)m\b", options)


@pytest.mark.parametrize(
    "text", [*GUIDES.values(), DOCKERFILE, COMPOSE], ids=[*GUIDES, "Dockerfile", "compose"]
)
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
    assert set(SERVICE["volumes"]) == {f"data:{VOLUME}", f"models:{MODELS}:ro"}
    assert f"models:{MODELS}" in SERVICES["import"]["volumes"]
    assert yaml.safe_load(COMPOSE)["volumes"].keys() == {"data", "models"}
    assert f"DRAGOMAN_MODELS_DIR={MODELS}\n" in DOCKERFILE
    assert f"install -d -o 10001 -g 10001 {MODELS}" in DOCKERFILE
    assert re.findall(r"(?m)^WORKDIR (\S+)", DOCKERFILE)[-1] == VOLUME
    assert f"install -d -o 10001 -g 10001 -m 700 {VOLUME}" in DOCKERFILE
    assert "USER 10001:10001" in DOCKERFILE


def test_a_stop_leaves_time_for_requests_in_progress() -> None:
    defaults = Settings()
    alone_s = defaults.drain_s + defaults.request_timeout_s

    assert int(SERVICE["stop_grace_period"].removesuffix("s")) > alone_s
    assert _number(r"--stop-timeout (\d+)", PAGE) > alone_s


def test_temporary_files_have_room_in_memory() -> None:
    wanted_bytes = FILES_ON_THEIR_WAY * Settings().max_job_bytes
    (tmpfs,) = SERVICE["tmpfs"]

    assert _tmpfs_bytes(tmpfs) > wanted_bytes
    shown = re.findall(r"--tmpfs \S+", PAGE)
    assert shown
    assert all(_tmpfs_bytes(options) > wanted_bytes for options in shown)


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


def test_the_images_health_check_asks_whether_the_process_lives() -> None:
    assert "/healthz" in DOCKERFILE
    assert "DRAGOMAN_PORT=8000" in DOCKERFILE


@pytest.mark.parametrize("name", SERVICES)
def test_no_service_can_write_to_its_image_or_gain_privileges(name: str) -> None:
    service = SERVICES[name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]


def test_one_command_starts_the_server_alone() -> None:
    assert [name for name, service in SERVICES.items() if "profiles" not in service] == ["server"]
    assert SERVICES["import"]["build"]["target"] == "export"
    assert SERVICES["import"]["entrypoint"] == ["dragoman", "import"]
    assert "/healthz" in SERVICE["healthcheck"]["test"][-1]


def test_all_images_have_one_base_named_by_its_digest() -> None:
    dockerfiles = [DOCKERFILE, (ROOT / "deploy" / "kuberay" / "Dockerfile").read_text(encoding="utf8")]
    (base,) = {_text(r"(?m)^ARG PYTHON_IMAGE=(\S+)", text) for text in dockerfiles}

    assert re.fullmatch(r"python:3\.\d+-slim-\w+@sha256:[0-9a-f]{64}", base)


def test_both_images_have_one_base_and_a_bill_of_materials() -> None:
    stages = re.findall(r"(?m)^FROM (\S+) AS (\S+)", DOCKERFILE)

    assert {base for base, _ in stages} == {"${PYTHON_IMAGE}", "build", "runtime"}
    assert [name for _, name in stages][-2:] == ["export", "server"]  # the last one is the default
    assert DOCKERFILE.count("cyclonedx-py environment") == 2
    assert "/opt/dragoman/sbom.cdx.json" in PAGE
