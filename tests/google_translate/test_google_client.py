"""Google's own client, `google.cloud.translate_v2`, works unchanged."""

import pytest
from google.api_core import exceptions
from google.cloud.translate_v2 import Client
from google.oauth2.credentials import Credentials as TokenCredentials

from service.accounts.keys import Scope
from tests.google_translate.conftest import PATH, ClientOf, Serve
from tests.service.conftest import engine_server
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
        translate(client_of(http))
    with pytest.raises(exceptions.BadRequest, match="API key not valid"):
        translate(client_of(http, "nonsense"))
    with pytest.raises(exceptions.Forbidden, match="scope"):
        translate(client_of(http, keys.make(Scope.GLOSSARIES)))
    with pytest.raises(exceptions.Forbidden):
        client_of(http).get_languages()


def test_the_client_is_told_of_limits(serve: Serve, keys: Keys, client_of: ClientOf) -> None:
    http = serve(database_url=keys.url, max_characters=20)
    client = client_of(http, keys.make(characters_per_month=30, requests_per_minute=3))
    with pytest.raises(exceptions.BadRequest, match="129 texts exceed the limit of 128"):
        client.translate(["a"] * 129, target_language="en")
    client.translate("x" * 20, target_language="en", source_language="de")
    with pytest.raises(exceptions.Forbidden, match="exceed the limit of 30"):
        client.translate("x" * 20, target_language="en", source_language="de")
    with pytest.raises(exceptions.TooManyRequests):
        client.translate("x", target_language="en", source_language="de")
    with pytest.raises(
        exceptions.GoogleAPICallError, match="q: 21 characters exceed the limit of 20"
    ) as error:
        client_of(http).translate("x" * 21, target_language="en")
    assert error.value.code == 413


def test_the_client_with_the_real_engine(client_of: ClientOf) -> None:
    with engine_server(detection="on") as http:
        found = client_of(http).translate(["Ein <b>Hund</b>.", "Zwei Kinder."], target_language="en")
    assert [each["detectedSourceLanguage"] for each in found] == ["de", "de"]
    assert all(each["translatedText"] for each in found)


def test_the_api_is_off_unless_it_is_named(serve: Serve, client_of: ClientOf) -> None:
    http = serve(apis="native,openai")
    assert http.post(PATH, json={"q": "a", "target": "en"}).status_code == 404
    with pytest.raises(exceptions.NotFound):
        client_of(http).get_languages()
