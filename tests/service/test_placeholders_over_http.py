"""Placeholders in texts of every API. The double breaks all stand-ins, as it translates into upper case."""

import json

import httpx

from tests.service.conftest import translate

TEXT = "Hallo {name}, siehe https://a.example/b oder <b>hier</b>: %s"
KEPT = "HALLO {name}, SIEHE https://a.example/b ODER <b>HIER</b>: %s"
MESSAGE = "{n, plural, one {# Datei} other {# Dateien}}"


def test_the_native_api_keeps_placeholders_unless_they_are_off(client: httpx.Client) -> None:
    kept, message = translate(client, text=[TEXT, MESSAGE], source="de")["translations"]
    [changed] = translate(client, text=TEXT, source="de", placeholders="off")["translations"]

    assert kept["text"] == KEPT
    assert "failed_checks" not in kept
    assert message["text"] == "{n, plural, one {# DATEI} other {# DATEIEN}}"
    assert changed["text"] == TEXT.upper()


def test_all_fields_are_there_for_texts_with_placeholders(client: httpx.Client) -> None:
    options = {"num_hypotheses": 2, "return_alignment": True, "return_tokens": True, "source": "de"}

    for text in (TEXT, MESSAGE, "{a} {b}"):
        [translation] = translate(client, text=text, **options)["translations"]

        assert {"alternatives", "alignment", "tokens", "score", "finish_reason"} <= translation.keys()


def test_a_failed_check_is_in_the_response(client: httpx.Client) -> None:
    broken = "{n, plural, one {# Datei}"

    [translation] = translate(client, text=broken, source="de")["translations"]

    assert translation["text"] == broken
    [failed] = translation["failed_checks"]
    assert failed["check"] == "icu"
    assert "closing brace" in failed["problem"]


def test_a_stream_has_the_segments_of_a_text_with_placeholders_once_it_is_done(client: httpx.Client) -> None:
    request = {"text": ["Guten Tag.", TEXT], "source": "de"}

    events = client.post("/v1/translate/stream", json=request).text.strip().split("\n\n")
    data = [json.loads(event.split("data: ", 1)[1]) for event in events]

    assert [(one["item"], one["text"]) for one in data[:-1]] == [(0, "GUTEN TAG."), (1, KEPT)]
    assert data[-1]["translations"][1]["text"] == KEPT


def test_the_other_apis_keep_placeholders_and_the_shape_of_their_responses(client: httpx.Client) -> None:
    libretranslate = client.post("/translate", json={"q": TEXT, "source": "de", "target": "en"}).json()
    deepl = client.post(
        "/v2/translate", json={"text": [TEXT], "source_lang": "DE", "target_lang": "EN"}
    ).json()

    assert libretranslate == {"translatedText": KEPT}
    assert deepl == {"translations": [{"detected_source_language": "DE", "text": KEPT}]}
