"""What a server tells of itself is for those who have a key, where keys are required."""

import pytest

from service.accounts.keys import Scope
from service.settings import SettingsError, load_settings
from tests.service.conftest import ALL_APIS, Serve
from tests.service.keys import Keys

DISCOVERY = ("/v1/models", "/v1/languages", "/openapi.json")
ALWAYS_OPEN = ("/docs", "/healthz", "/readyz", "/languages", "/frontend/settings", "/health", "/spec")


def test_with_keys_discovery_takes_any_key_and_metrics_one_of_the_operator(serve: Serve, keys: Keys) -> None:
    client = serve(apis=ALL_APIS, database_url=keys.url, requires_key=True)
    any_key, operators = keys.bearer(Scope.GLOSSARIES), keys.bearer(Scope.ADMIN)

    for path in (*DISCOVERY, "/metrics"):
        refused = client.get(path)
        assert (refused.status_code, refused.json()["error"]["type"]) == (401, "unauthenticated"), path
        assert refused.headers["www-authenticate"] == "Bearer"
    for path in DISCOVERY:
        assert client.get(path, headers=any_key).status_code == 200, path
    assert client.get("/metrics", headers=any_key).status_code == 403
    assert client.get("/metrics", headers=operators).status_code == 200
    assert {path: client.get(path).status_code for path in ALWAYS_OPEN} == dict.fromkeys(ALWAYS_OPEN, 200)


def test_what_keys_close_may_be_opened_and_the_other_way_round(serve: Serve, keys: Keys) -> None:
    opened = serve(apis=ALL_APIS, database_url=keys.url, requires_key=True, discovery="open", metrics="open")
    closed = serve(apis=ALL_APIS, database_url=keys.url, discovery="key", metrics="key")

    for path in (*DISCOVERY, "/metrics"):
        assert opened.get(path).status_code == 200, path
        assert closed.get(path).status_code == 401, path
    assert closed.post("/v1/translate", json={"text": "ja"}).status_code == 200


def test_the_document_says_which_routes_want_a_key(serve: Serve, keys: Keys) -> None:
    client = serve(apis=ALL_APIS, database_url=keys.url, requires_key=True)

    paths = client.get("/openapi.json", headers=keys.bearer()).json()["paths"]

    for path in ("/v1/models", "/v1/languages", "/metrics"):
        assert paths[path]["get"]["security"], path
        assert "401" in paths[path]["get"]["responses"], path


@pytest.mark.parametrize("name", ["metrics", "discovery"])
def test_a_key_is_not_asked_for_where_there_are_none(name: str) -> None:
    with pytest.raises(SettingsError, match="set database_url or requires_key"):
        load_settings(overrides={name: "key"})
