"""Options win over environment, environment over file, file over defaults; what is unknown is named."""

import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from pydantic import ValidationError

from service.server import shared
from service.server.shared import num_processes, shared_settings
from service.settings.groups import split_names
from service.settings.links import describe_ignored
from service.settings.settings import ENV_PREFIX, Settings, SettingsError, load_settings, read_settings

NOT_OCTAL = ("999", "0o660", "66", "rw-")
NO_PREFIXES = ("translator", "/translator/", "/", "/a b", "//a", "/a?b")


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "dragoman.toml"
    path.write_text('port = 1001\nmodel = "from-file"\nlog_level = "error"\n', encoding="utf-8")
    return path


def test_defaults_serve_locally() -> None:
    settings = load_settings()

    assert (settings.host, settings.port, settings.model) == ("127.0.0.1", 8000, None)
    assert (settings.max_body_bytes, settings.max_texts, settings.max_characters) == (2**20, 1000, 100_000)
    assert (settings.replicas, settings.threads) == (None, 1)
    assert (settings.providers, settings.kernels) == ("cpu", "auto")
    assert (settings.memory_budget_bytes, settings.pivots, settings.preload) == (None, "en", None)
    assert (settings.watch_s, settings.reload_endpoint) == (0.0, False)


def test_options_win_over_environment_and_environment_over_file(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRAGOMAN_PORT", "1002")
    monkeypatch.setenv("DRAGOMAN_MODEL", "from-environment")

    settings = load_settings(config, {"model": "from-option", "host": None})

    assert settings.model == "from-option"
    assert settings.port == 1002
    assert settings.log_level == "error"
    assert settings.host == "127.0.0.1"


def test_every_setting_can_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"log_level": "debug", "host": "::", "model": "m", "models_dir": "somewhere"}
    given |= {"providers": "cuda,cpu", "preload": "a,b", "pivots": "fr", "detection": "off"}
    given |= {"apis": "native", "database_url": "sqlite:///a.db", "rate_limit": "9/minute"}
    given |= {"rate_storage_url": "redis://here", "cors_origins": "*", "trusted_proxies": "::1"}
    given |= {"documents": "off", "metrics": "off", "discovery": "key", "log_format": "json"}
    given |= {"otlp_endpoint": "http://there", "jobs": "off", "jobs_files": "s3://there"}
    given |= {"root_path": "/here", "uds_mode": "666", "model_index": "index.toml", "weights_dir": "a"}
    given |= {
        "kernels": "native",
        "segment_cache": "off",
        "file_isolation": "off",
        "page": "off",
        "suggestions": "on",
    }
    sizes = {"file_memory_bytes": 2**30}
    given |= {name: str(size) for name, size in sizes.items()}
    # A server has no port as well as a socket, and no one model where models are managed.
    names = Settings.model_fields.keys() - {"uds"}
    for name in names:
        monkeypatch.setenv(ENV_PREFIX + name.upper(), given.get(name, "7"))
    switches = {"reload_endpoint", "requires_key", "reuse_port", "log_addresses", "log_texts"}
    for name in switches:
        monkeypatch.setenv(ENV_PREFIX + name.upper(), "true")

    loaded = load_settings().model_dump(mode="json")

    expected = {name: given.get(name, 7) for name in names} | sizes | {"uds": None}
    assert loaded == expected | dict.fromkeys(switches, True)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("prot = 1", "prot is not a setting; did you mean port?"),
        ("[thread]\nport = 1", "thread is not a setting; did you mean threads?"),
    ],
)
def test_unknown_names_in_the_file_are_rejected_with_the_nearest_setting(
    tmp_path: Path, line: str, problem: str
) -> None:
    config = tmp_path / "dragoman.toml"
    config.write_text(line, encoding="utf-8")

    with pytest.raises(SettingsError, match=re.escape(problem)):
        load_settings(config)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("port", "70000"),
        ("threads", "0"),
        ("processes", "0"),
        ("processes", "many"),
        ("request_timeout_s", "0"),
        ("request_timeout_s", "inf"),
        ("log_level", "loud"),
        ("providers", ""),
        ("providers", "cpu,cuda"),
        ("providers", "cuda,cuda"),
        ("model", ""),
        ("memory_budget_bytes", "0"),
        ("memory_budget_bytes", "2 GB"),
        ("watch_s", "-1"),
        ("reload_endpoint", "maybe"),
    ],
)
def test_a_value_that_does_not_fit_is_named(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(ENV_PREFIX + name.upper(), value)

    with pytest.raises(SettingsError, match=rf"^{name} \(or DRAGOMAN_{name.upper()}\): .*{value!r}$"):
        load_settings()


@pytest.mark.parametrize(
    ("overrides", "problem"),
    [
        ({"metrics": "key"}, "set database_url or requires_key"),
        ({"discovery": "key"}, "set database_url or requires_key"),
        ({"uds": "a.sock", "host": "::1"}, "uds: .*remove host, or uds"),
        ({"uds": "a.sock", "port": 9}, "uds: .*remove port, or uds"),
        ({"uds": "a.sock", "reuse_port": True}, "uds: .*remove reuse_port, or uds"),
        *(({"uds": "a.sock", "uds_mode": mode}, "uds_mode .*three octal digits") for mode in NOT_OCTAL),
        *(({"root_path": path}, "root_path .*must begin with a slash, not end") for path in NO_PREFIXES),
    ],
)
def test_settings_that_do_not_fit_together_are_rejected(overrides: dict[str, object], problem: str) -> None:
    with pytest.raises(SettingsError, match=problem):
        load_settings(overrides=overrides)


def test_all_values_that_do_not_fit_are_named_at_once() -> None:
    with pytest.raises(SettingsError, match=r"port .*; replicas "):
        load_settings(overrides={"port": -1, "replicas": 0})


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"absent\.toml does not exist"):
        load_settings(tmp_path / "absent.toml")


CONTENTS_NOT_TOML = [b"port = = 1", b"\xff", b"port 1", b"port = " + b"9" * 5000, b"port = " + b"[" * 5000]


@pytest.mark.parametrize("content", CONTENTS_NOT_TOML)
def test_a_file_that_is_not_toml_is_an_error(tmp_path: Path, content: bytes) -> None:
    config = tmp_path / "dragoman.toml"
    config.write_bytes(content)

    with pytest.raises(SettingsError, match=r"dragoman\.toml cannot be read"):
        load_settings(config)


def test_settings_do_not_change() -> None:
    settings = load_settings()

    with pytest.raises(ValidationError, match="frozen"):
        settings.port = 1


def test_names_stand_between_commas() -> None:
    assert split_names(" a, b-c ,,d") == ("a", "b-c", "d")
    assert split_names(" ,") == ()


LINK = "tcp://10.0.0.1:80"
LINKS = {
    "DRAGOMAN_SERVICE_HOST": "10.0.0.1",
    "DRAGOMAN_SERVICE_PORT": "80",
    "DRAGOMAN_SERVICE_PORT_HTTP": "80",
    "DRAGOMAN_PORT": LINK,
    "DRAGOMAN_PORT_80_TCP": LINK,
    "DRAGOMAN_PORT_80_TCP_PROTO": "tcp",
    "DRAGOMAN_PORT_80_TCP_PORT": "80",
    "DRAGOMAN_PORT_80_TCP_ADDR": "10.0.0.1",
    "DRAGOMAN_REDIS_PORT": LINK,
}
"""What Kubernetes sets for the services `dragoman` and `dragoman-redis`."""


def test_typing_errors_are_named_with_the_nearest_setting(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("DRAGOMAN_PROT", "1")
    monkeypatch.setenv("dragoman_pivotes", "en")

    assert load_settings().port == 8000

    [warning] = caplog.messages
    assert "DRAGOMAN_PROT (the nearest setting is DRAGOMAN_PORT)" in warning
    assert "dragoman_pivotes (the nearest setting is DRAGOMAN_PIVOTS)" in warning


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("DRAGOMAN_REQUIRE_KEY", "REQUIRES_KEY"),
        ("dragoman_requires_keys", "REQUIRES_KEY"),
        ("DRAGOMAN_RATELIMIT", "RATE_LIMIT"),
        ("DRAGOMAN_TRUSTED_PROXY", "TRUSTED_PROXIES"),
        ("DRAGOMAN_MAX_BODY", "MAX_BODIES"),
    ],
)
def test_a_misspelt_setting_that_protects_the_server_ends_the_start(
    name: str, nearest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A warning in a log is read by nobody; the server would be open meanwhile."""
    monkeypatch.setenv(name, "true")
    with pytest.raises(SettingsError, match=f"{name} is not a setting; did you mean DRAGOMAN_{nearest}"):
        load_settings()


def test_service_links_are_ignored_with_a_warning_about_the_port(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name, value in LINKS.items():
        monkeypatch.setenv(name, value)

    assert load_settings().port == 8000
    [warning] = caplog.messages
    assert load_settings(overrides={"port": 9}).port == 9

    assert all(name in warning for name in LINKS)
    assert "--port" in warning
    assert "nearest" not in warning


def test_an_address_that_no_service_has_is_no_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRAGOMAN_PORT", LINK)

    with pytest.raises(SettingsError, match=r"port .*DRAGOMAN_PORT.*tcp://10.0.0.1:80"):
        load_settings()


def test_a_name_with_control_characters_is_escaped_in_the_warning() -> None:
    problem = describe_ignored({"DRAGOMAN_A\nB\udc80": "1"}, "DRAGOMAN_", ["port"])

    assert problem.isprintable()
    assert r"A\nB\udc80" in problem


DATABASE: dict[str, object] = {"database_url": "sqlite:///a.db"}


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[ExitStack]:
    monkeypatch.setattr(shared, "available_cpus", lambda: 12)
    monkeypatch.setattr(sys, "platform", "linux")
    with ExitStack() as opened:
        yield opened


@pytest.mark.parametrize(("processes", "count"), [("auto", 3), (1, 1), (7, 7)])
@pytest.mark.usefixtures("opened")
def test_auto_is_a_process_for_each_four_cpus(processes: object, count: int) -> None:
    assert num_processes(read_settings(overrides={"processes": processes})) == count


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"providers": "cuda"}, "GPU"),
        ({"rate_limit": "5/minute"}, "set rate_storage_url"),
        ({"jobs": "off"}, "set database_url"),
    ],
)
def test_what_only_one_process_can_have_is_rejected(
    given: dict[str, object], problem: str, opened: ExitStack
) -> None:
    with pytest.raises(SettingsError, match=f"^processes: 2 are not possible: .*{problem}"):
        shared_settings(read_settings(overrides=given), 2, opened)


def test_a_platform_whose_ports_are_not_shared_is_named(
    opened: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")

    with pytest.raises(SettingsError, match="only Linux"):
        shared_settings(Settings(), 2, opened)


def test_processes_share_folders_and_cpus(opened: ExitStack) -> None:
    settings = shared_settings(Settings(), 4, opened)

    assert (settings.reuse_port, settings.replicas) == (True, 3)
    assert settings.weights_dir is not None
    assert Path(settings.jobs_files or "").parent == settings.weights_dir.parent
    assert settings.weights_dir.parent.is_dir()


@pytest.mark.parametrize("given", [DATABASE, {"requires_key": True}, {**DATABASE, "jobs": "off"}])
def test_folders_and_numbers_that_are_set_stay(given: dict[str, object], opened: ExitStack) -> None:
    chosen: dict[str, object] = {"weights_dir": Path("w"), "replicas": 5, "uds": Path("a.sock")}
    settings = shared_settings(read_settings(overrides=given | chosen), 4, opened)

    assert {name: getattr(settings, name) for name in chosen} == chosen
    assert (settings.jobs_files, settings.reuse_port) == (None, False)
