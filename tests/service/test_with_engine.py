"""The ways into the engine agree: HTTP and command line give what the library gives."""

from pathlib import Path

import httpx

from dragoman import DecodingOptions, Translation, Translator
from dragoman.native.library import best_kernels
from dragoman.routing.router import Router
from tests.engine.routing.conftest import relabel
from tests.service.apis import APIS, LIBRETRANSLATE
from tests.service.conftest import ALL_APIS, TINY_BUNDLE, Run, engine_server, fields_of, ready_client

TEXTS = ["Der Hund ist klein.", "", "Das Kind spielt im Garten. Der Hund ist klein.", "123", "  "]
STDIN = "\n".join(TEXTS).encode()


def expected(engine: Translator, options: DecodingOptions) -> list[Translation]:
    return [engine.translate(text, options) for text in TEXTS]


def test_http_gives_what_the_library_gives(engine: Translator, engine_client: httpx.Client) -> None:
    options = {"beam_size": 3, "num_hypotheses": 2, "length_penalty": 0.5, "max_length": 40}

    answer = engine_client.post("/v1/translate", json={"text": TEXTS, "source": "de", **options}).json()

    wanted = [
        (each.text, each.finish_reason, each.score, [other.text for other in each.alternatives[1:]])
        for each in expected(engine, DecodingOptions(**options))  # type: ignore[arg-type]
    ]
    assert wanted == [
        (
            each["text"],
            each["finish_reason"],
            each["score"],
            [other["text"] for other in each["alternatives"]],
        )
        for each in answer["translations"]
    ]


def test_http_and_command_line_go_through_a_third_language_as_the_library_does(
    run_engine: Run, environment: dict[str, str], tmp_path: Path
) -> None:
    relabel(tmp_path / "tiny" / "de-en", "first", "de", "en")
    relabel(tmp_path / "tiny" / "en-fr", "second", "en", "fr")
    with Router.open(tmp_path / "tiny") as router, ready_client(router) as client:
        wanted = [router.translate(text, "de", "fr") for text in TEXTS]
        answer = client.post("/v1/translate", json={"text": TEXTS, "source": "de", "target": "fr"}).json()
    environment |= {"DRAGOMAN_MODELS_DIR": str(tmp_path / "tiny"), "DRAGOMAN_MODEL": "de-en,en-fr"}
    finished = run_engine("translate", "--source", "de", "--target", "fr", stdin=STDIN)

    texts = [each.translation.text for each in wanted]
    assert [
        (each["text"], each["score"], [step["score"] for step in each["steps"]])
        for each in answer["translations"]
    ] == [
        (each.translation.text, each.translation.score, [step.score for step in each.steps])
        for each in wanted
    ]
    assert finished.stdout.decode().split("\n") == texts


def test_the_command_line_gives_what_the_library_gives(engine: Translator, run_engine: Run) -> None:
    finished = run_engine("translate", "--model", str(TINY_BUNDLE), "--beam-size", "3", stdin=STDIN)

    wanted = [translation.text for translation in expected(engine, DecodingOptions(beam_size=3))]
    assert finished.stdout.decode().split("\n") == wanted


def test_words_in_a_script_that_the_model_cannot_read_are_kept(run_engine: Run) -> None:
    text, html = "Der Hund Шарик ist klein.", "<p>Der Hund <b>Шарик 東京</b> ist klein.</p>"
    query = {"q": html, "format": "html", "source": "de", "target": "en"}

    with engine_server(apis=ALL_APIS) as client:
        fields = {"text": text, "source": "de", "return_alignment": True}
        [plain] = client.post("/v1/translate", json=fields).json()["translations"]
        marked = client.post("/translate", json=query).json()["translatedText"]
    finished = run_engine("translate", "--model", str(TINY_BUNDLE), stdin=text.encode())

    assert plain["text"].count("Шарик") == 1
    assert marked.count("Шарик 東京") == 1
    assert finished.stdout.decode().strip() == plain["text"]


def test_a_line_cut_by_the_length_limit_is_reported(run_engine: Run) -> None:
    lines = b"Ja.\nDas Kind spielt im Garten.\n"
    finished = run_engine("translate", "--model", str(TINY_BUNDLE), "--max-length", "7", stdin=lines)

    assert finished.stderr.count(b"reached the length limit") == 1
    assert b"line 2: reached the length limit and may be incomplete" in finished.stderr


def test_exceeding_a_limit_of_the_model_is_a_client_error(engine_client: httpx.Client) -> None:
    body = {"source": "de", "text": "ja", "max_length": 100_000}

    assert fields_of(engine_client.post("/v1/translate", json=body)) == ["max_length"]


def test_a_server_reports_the_kernels_of_its_model(engine_client: httpx.Client) -> None:
    (model,) = engine_client.get("/v1/models").json()["models"]
    kernels = best_kernels()

    assert model["kernels"] == (kernels or "onnxruntime")
    assert (model["why_not_native"] is None) is bool(kernels)
    assert f'dragoman_open_models{{kernels="{model["kernels"]}"}} 1.0' in engine_client.get("/metrics").text


def test_a_text_in_an_unknown_script_comes_back_as_it_is_by_every_api(engine_client: httpx.Client) -> None:
    text = "これは日本語の文です。"
    body = {"text": [text, "Ein Hund rennt."], "source": "de"}

    own = engine_client.post("/v1/translate", json=body).json()["translations"]

    assert [one["finish_reason"] for one in own] == ["unsupported", "stop"]
    assert [api.translate(engine_client, text) for api in APIS] == [text] * len(APIS)
    assert LIBRETRANSLATE.translate(engine_client, f"<p>{text}</p>", format="html") == f"<p>{text}</p>"


def test_alternatives_of_libretranslate_leave_the_best_translation(engine_client: httpx.Client) -> None:
    text, pair = "Ein Hund rennt.", {"source": "de", "target": "en"}
    plain = LIBRETRANSLATE.translate(engine_client, text)

    answer = engine_client.post("/translate", json={"q": [text, text], "alternatives": 3, **pair}).json()

    assert answer["translatedText"] == [plain, plain]
    for alternatives in answer["alternatives"]:
        assert plain not in alternatives
        assert 1 <= len(alternatives) == len(set(alternatives)) <= 3
