"""Environment variables that are no settings are ignored with a warning that names them all."""

import pytest

from service.service_links import describe_ignored
from service.settings import SettingsError, load_settings

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
    monkeypatch.setenv("dragoman_requires_keys", "true")

    assert load_settings().port == 8000

    [warning] = caplog.messages
    assert "DRAGOMAN_PROT (the nearest setting is DRAGOMAN_PORT)" in warning
    assert "dragoman_requires_keys (the nearest setting is DRAGOMAN_REQUIRES_KEY)" in warning


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
