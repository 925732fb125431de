"""Google's own client, `google.cloud.translate_v2`, works unchanged."""

import pytest
from google.api_core import exceptions
from google.cloud.translate_v2 import Client
from google.oauth2.credentials import Credentials as TokenCredentials

from tests.google_translate.conftest import PATH, ClientOf, Serve
from tests.service.keys import Keys

GERMAN = "Das ist ein schönes Haus am Ufer des Flusses"


def test_the_client_translates_one_text_and_several(client: Client) -> None:
    one = client.translate("Hallo", target_language="en", source_language="de")
    assert one == {"translatedText": "Hallo|german", "input": "Hallo"}

    several = client.translate([GERMAN, "12"], target_language="en", format_="text", model="nmt")
    assert [each["translatedText"] for each in several] == [f"{GERMAN}|german", "12"]
    assert [each["detectedSourceLanguage"] for each in several] == ["de", "und"]
    assert [each["model"] for each in several] == ["nmt", "nmt"]


def test_html_is_the_default_and_text_has_no_entities(client: Client) -> None:
    def translate(text: str, **options: str) -> str:
        found = client.translate(text, target_language="en", source_language="de", **options)
        return str(found["translatedText"])

    assert translate("<b>Hund</b> & Katze") == "<b>Hund</b> &amp; Katze|german"
    assert translate("<b>Hund</b> &amp; Katze") == "<b>Hund</b> &amp; Katze|german"
    assert translate("a < b & c", format_="text") == "a < b & c|german"


def test_the_client_detects(client: Client) -> None:
    one = client.detect_language(GERMAN)
    assert (one["language"], one["input"]) == ("de", GERMAN)
    assert 0 < one["confidence"] <= 1
    assert [each["language"] for each in client.detect_language([GERMAN, "12"])] == ["de", "und"]


def test_the_client_lists_languages_with_names_in_a_language(client: Client) -> None:
    assert [each["language"] for each in client.get_languages()] == ["de", "en", "fr", "he", "pt-BR", "zh-TW"]
    assert {"language": "fr", "name": "French"} in client.get_languages()
    assert {"language": "fr", "name": "Französisch"} in client.get_languages(target_language="de")


@pytest.mark.parametrize(
    ("target", "model"),
    [("zh-TW", "wide"), ("zh-Hant", "wide"), ("iw", "wide"), ("pt", "wide"), ("FR", "french")],
)
def test_codes_of_google_name_the_served_languages(client: Client, target: str, model: str) -> None:
    found = client.translate("Hello", target_language=target, source_language="en", format_="text")
    assert found["translatedText"] == f"Hello|{model}"


def test_every_language_that_is_listed_can_be_named(client: Client) -> None:
    for each in client.get_languages():
        if each["language"] not in {"de", "en"}:
            assert client.translate("Hello", target_language=each["language"], source_language="en")


def test_the_clients_keys_are_checked_in_both_headers(serve: Serve, keys: Keys, client_of: ClientOf) -> None:
    http = serve(database_url=keys.url, requires_key=True)
    key = keys.make()

    def translate(client: Client) -> object:
        return client.translate("Hallo", target_language="en", source_language="de")["translatedText"]

    token = client_of(http, credentials=TokenCredentials(key))  # type: ignore[no-untyped-call]
    assert translate(client_of(http, key)) == translate(token) == "Hallo|german"
    assert keys.usage(key).characters == 10
    with pytest.raises(exceptions.Forbidden, match="missing a valid API key"):
        client_of(http).get_languages()


def test_a_request_has_at_most_128_texts(client: Client) -> None:
    with pytest.raises(exceptions.BadRequest, match="129 texts exceed the limit of 128"):
        client.translate(["a"] * 129, target_language="en")


def test_the_api_is_off_unless_it_is_named(serve: Serve, client_of: ClientOf) -> None:
    http = serve(apis="native,openai")
    assert http.post(PATH, json={"q": "a", "target": "en"}).status_code == 404
    with pytest.raises(exceptions.NotFound):
        client_of(http).get_languages()
