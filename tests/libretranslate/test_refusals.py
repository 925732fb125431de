"""What goes wrong has the status and the words that clients of LibreTranslate know."""

from pathlib import Path

import httpx
import pytest

from service.accounts.keys import Scope
from tests.libretranslate.conftest import Serve, error_of, translate
from tests.routing.doubles import DoubleBundles, until
from tests.service.conftest import client_of, router_over
from tests.service.keys import Keys

PAIR = {"source": "de", "target": "en"}
BODY = {"q": "Hallo", **PAIR}


@pytest.mark.parametrize("name", ["q", "source", "target"])
@pytest.mark.parametrize("way", ["json", "data", "params"])
def test_a_field_that_is_missing_or_empty_is_named(client: httpx.Client, name: str, way: str) -> None:
    for fields in ({key: value for key, value in BODY.items() if key != name}, {**BODY, name: ""}):
        response = client.request("POST", "/translate", **{way: fields})  # type: ignore[arg-type]

        assert error_of(response) == (400, f"Invalid request: missing {name} parameter")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"source": "zz"}, "zz is not supported"),
        ({"target": "zz"}, "zz is not supported"),
        ({"target": "auto"}, "auto is not supported"),
        ({"source": "a-" * 10000}, f"{'a-' * 40}… is not supported"),
        ({"source": "auto", "target": "zz"}, "zz is not supported"),
        ({"format": "xml"}, "xml format is not supported"),
        (
            {"source": "fr", "target": "de"},
            "German (de) is not available as a target language from French (fr)",
        ),
        (
            {"source": "fr", "target": "pb"},
            "Portuguese (Brazil) (pt-BR) is not available as a target language from French (fr)",
        ),
        ({"source": "auto", "target": "de"}, "German (de) is not available as a target language"),
        ({"alternatives": "many"}, "Invalid request: alternatives parameter is not a number"),
        ({"alternatives": 1.5}, "Invalid request: alternatives parameter is not a number"),
        ({"alternatives": True}, "Invalid request: alternatives parameter is not a number"),
        ({"alternatives": -1}, "Invalid request: alternatives parameter must be >= 0"),
        ({"alternatives": 32}, "Invalid request: alternatives parameter must be <= 31"),
        ({"q": []}, "Invalid request: missing q parameter"),
        ({"q": 1}, "q: must be a string or an array of strings"),
        ({"q": ["a", {}]}, "q[1]: must be a string"),
        ({"target": ["en"]}, "target: must be a string"),
        ({"api_key": 5}, "api_key: must be a string"),
        ({"q": "unusable"}, "q: is not usable"),
        ({"q": ["a", "unusable"]}, "q[1]: is not usable"),
        (
            {"q": ["unusable", "a", "unusable too"]},
            "2 fields are invalid: q[0]: is not usable; q[2]: is not usable",
        ),
    ],
)
def test_what_cannot_be_used_is_said(client: httpx.Client, fields: dict[str, object], message: str) -> None:
    assert error_of(client.post("/translate", json=BODY | fields)) == (400, message)


def test_a_request_over_the_limit_of_characters_names_both(serve: Serve) -> None:
    client = serve(max_characters=100, max_texts=3)

    assert translate(client, q=["a" * 60, "b" * 40])
    for text in ("a" * 120, ["a" * 60, "b" * 60]):
        rejected = client.post("/translate", json={**BODY, "q": text})
        assert error_of(rejected) == (400, "Invalid request: request (120) exceeds text limit (100)")
    assert client.get("/frontend/settings").json()["charLimit"] == 100
    many = client.post("/translate", json={**BODY, "q": ["a"] * 4})
    assert error_of(many) == (400, "Invalid request: request (4) exceeds text limit (3)")


@pytest.mark.parametrize("path", ["/translate", "/detect", "/suggest"])
def test_a_key_must_be_one_where_one_is_required(serve: Serve, keys: Keys, path: str) -> None:
    client = serve(database_url=keys.url, requires_key=True, detection="on")
    missing = (400, "Please contact the server operator to get an API key")

    for fields, expected in (
        (BODY, missing),
        ({**BODY, "api_key": ""}, missing),
        ({**BODY, "api_key": "nonsense"}, (403, "Invalid API key")),
    ):
        assert error_of(client.post(path, data=fields)) == expected
    assert client.post(path, data={**BODY, "api_key": keys.make()}).status_code == (
        403 if path == "/suggest" else 200
    )


def test_a_key_may_stand_in_the_url_beside_a_body_or_in_a_header(serve: Serve, keys: Keys) -> None:
    client = serve(database_url=keys.url, requires_key=True)
    key = keys.make()

    assert client.post("/translate", json=BODY, params={"api_key": key}).status_code == 200
    header = {"Authorization": f"Bearer {key}"}
    assert client.post("/translate", json=BODY, headers=header).status_code == 200
    other = {**BODY, "api_key": keys.make(Scope.GLOSSARIES)}
    assert error_of(client.post("/translate", json=other))[0] == 403


def test_too_many_requests_are_told_the_limit_and_when_to_come_back(serve: Serve) -> None:
    client = serve(rate_limit="2/minute")
    translate(client)
    translate(client)

    rejected = client.post("/translate", json=BODY)

    assert error_of(rejected) == (429, "Slowdown: 2 per 1 minute")
    assert 1 <= int(rejected.headers["retry-after"]) <= 60
    for _ in range(3):  # no limit for them
        assert client.get("/languages").status_code == 200
        assert client.get("/frontend/settings").status_code == 200


def test_until_its_models_are_warm_the_server_says_so(models: Path) -> None:
    bundles = DoubleBundles()
    bundles.may_open.clear()

    with router_over(models, bundles) as router, client_of(router, {"preload": "a"}) as client:
        answers = [
            client.get("/health"),
            client.post("/translate", data=BODY),
            client.post("/translate_file", data=PAIR, files={"file": ("a.txt", b"Hallo")}),
        ]
        for answer in answers:
            assert error_of(answer)[0] == 503
            assert "retry-after" in answer.headers
        assert client.get("/languages").status_code == 200
        bundles.may_open.set()
        until(lambda: client.get("/health").status_code == 200)
        assert client.get("/health").json() == {"status": "ok"}
