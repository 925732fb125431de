"""Languages by resource (`/v3/languages`), as DeepL's client for PHP and its mock server's own tests read
them.
"""

from typing import Any

import httpx
import pytest

from tests.service.deepl.conftest import error_of

BOTH = {"needs_source_support": True, "needs_target_support": True}
STABLE = {"status": "stable"}


def languages_of(client: httpx.Client, resource: str, **parameters: str) -> dict[str, dict[str, Any]]:
    """The languages of a resource, by code."""
    response = client.get("/v3/languages", params={"resource": resource} | parameters)
    assert response.status_code == 200, response.text
    return {each.pop("lang"): each for each in response.json()}


def resources_of(client: httpx.Client) -> dict[str, list[dict[str, Any]]]:
    return {each["name"]: each["features"] for each in client.get("/v3/languages/resources").json()}


def test_regional_targets_are_listed_beside_their_language_and_are_no_sources(many: httpx.Client) -> None:
    found = languages_of(many, "translate_text")

    assert list(found) == ["de", "en", "en-GB", "en-US", "fr", "pt", "pt-BR", "zh-Hant"]
    assert [code for code, each in found.items() if each["usable_as_source"]] == ["de", "en", "pt"]
    targets = ["en", "en-GB", "en-US", "fr", "pt-BR", "zh-Hant"]
    assert [code for code, each in found.items() if each["usable_as_target"]] == targets
    assert found["en-US"]["name"] == "English (United States)"
    assert {each["status"] for each in found.values()} == {"stable"}


def test_a_language_has_the_features_that_the_server_offers_for_it(many: httpx.Client) -> None:
    found = languages_of(many, "translate_text")

    assert found["de"]["features"] == {
        "auto_detection": STABLE,
        "glossary": STABLE,
        "tag_handling": STABLE,
        "translation_memory": STABLE,
    }
    assert "auto_detection" not in found["en-GB"]["features"]
    assert "glossary" in found["en-GB"]["features"]


def test_documents_have_no_tag_handling_and_other_resources_no_features(many: httpx.Client) -> None:
    assert set(languages_of(many, "translate_document")["de"]["features"]) == {
        "auto_detection",
        "glossary",
        "translation_memory",
    }
    for resource in ("glossary", "style_rules", "translation_memory", "voice", "write"):
        found = languages_of(many, resource)
        assert found
        assert all(each["features"] == {} for each in found.values()), resource
    assert set(languages_of(many, "glossary")) == {"de", "en", "fr", "pt"}


def test_every_resource_is_named_with_the_languages_that_its_features_need(many: httpx.Client) -> None:
    found = resources_of(many)

    others = ["glossary", "style_rules", "translation_memory", "voice", "write"]
    assert set(found) == {"translate_text", "translate_document", *others}
    by_name = {each.pop("name"): each for each in found["translate_text"]}
    assert by_name["auto_detection"] == {"needs_source_support": True}
    assert by_name["formality"] == {"needs_target_support": True}
    assert by_name["glossary"] == by_name["tag_handling"] == by_name["translation_memory"] == BOTH
    assert [found[each] for each in others] == [[]] * 5


def test_no_language_is_detected_where_detection_is_off(http: httpx.Client, auth: dict[str, str]) -> None:
    listed = http.get("/v3/languages", params={"resource": "TRANSLATE_TEXT"}, headers=auth).json()
    resources = http.get("/v3/languages/resources", headers=auth).json()

    assert [each["lang"] for each in listed] == ["de", "en", "en-GB", "en-US"]
    assert all("auto_detection" not in each["features"] for each in listed)
    assert "auto_detection" not in str(resources)


def test_clients_may_include_what_is_in_beta_of_which_there_is_nothing(many: httpx.Client) -> None:
    plain = many.get("/v3/languages?resource=translate_text").json()
    assert many.get("/v3/languages?resource=translate_text&include=beta&include=external").json() == plain


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "is missing"),
        ("?resource=", "is missing"),
        ("?resource=bogus", "must be"),
    ],
)
def test_a_resource_must_be_named(many: httpx.Client, query: str, message: str) -> None:
    status, found = error_of(many.get(f"/v3/languages{query}"))
    assert status == 400
    assert found.startswith(f"resource: {message}")


def test_the_lists_need_a_key_if_the_server_requires_one(http: httpx.Client) -> None:
    for path in ("/v3/languages?resource=translate_text", "/v3/languages/resources"):
        assert error_of(http.get(path))[0] == 403
