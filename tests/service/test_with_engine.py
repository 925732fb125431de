"""The ways into the engine agree: HTTP and command line give what the library gives."""

import os
import pty
import subprocess
import sys
from pathlib import Path

import httpx
import onnxruntime
import pytest

from dragoman import DecodingOptions, Translation, Translator
from dragoman.routing.router import Router
from tests.routing.conftest import relabel
from tests.service.conftest import ready_client

PROJECT = Path(__file__).resolve().parents[2]
BUNDLE = PROJECT / "tests" / "tiny" / "bundle-int8"
TEXTS = ["Der Hund ist klein.", "", "Das Kind spielt im Garten. Der Hund ist klein.", "123", "  "]


def expected(engine: Translator, options: DecodingOptions) -> list[Translation]:
    return [engine.translate(text, options) for text in TEXTS]


def test_http_gives_what_the_library_gives(engine: Translator, engine_client: httpx.Client) -> None:
    body = {"text": TEXTS, "beam_size": 3, "num_hypotheses": 2, "length_penalty": 0.5, "max_length": 40}

    answer = engine_client.post("/v1/translate", json=body).json()

    options = DecodingOptions(beam_size=3, num_hypotheses=2, length_penalty=0.5, max_length=40)
    assert [
        (
            each["text"],
            each["finish_reason"],
            each["score"],
            [other["text"] for other in each["alternatives"]],
        )
        for each in answer["translations"]
    ] == [
        (
            each.text,
            each.finish_reason,
            each.score,
            [other.text for other in each.alternatives[1:]],
        )
        for each in expected(engine, options)
    ]


def test_http_and_command_line_go_through_a_third_language_as_the_library_does(
    environment: dict[str, str], tmp_path: Path
) -> None:
    relabel(tmp_path / "tiny" / "de-en", "first", "de", "en")
    relabel(tmp_path / "tiny" / "en-fr", "second", "en", "fr")
    with Router.open(tmp_path / "tiny") as router, ready_client(router) as client:
        wanted = [router.translate(text, "de", "fr") for text in TEXTS]
        answer = client.post("/v1/translate", json={"text": TEXTS, "source": "de", "target": "fr"}).json()
    finished = subprocess.run(
        [sys.executable, "-m", "service", "translate", "--source", "de", "--target", "fr"],
        input="\n".join(TEXTS),
        capture_output=True,
        check=True,
        encoding="utf-8",
        env={name: value for name, value in environment.items() if name != "DRAGOMAN_MODEL"}
        | {"DRAGOMAN_MODELS_DIR": str(tmp_path / "tiny")},
    )

    assert [each["text"] for each in answer["translations"]] == [each.translation.text for each in wanted]
    assert [[step["score"] for step in each["steps"]] for each in answer["translations"]] == [
        [step.score for step in each.steps] for each in wanted
    ]
    assert [each["score"] for each in answer["translations"]] == [each.translation.score for each in wanted]
    assert finished.stdout.split("\n") == [each.translation.text for each in wanted]


def test_the_command_line_gives_what_the_library_gives(
    engine: Translator, environment: dict[str, str]
) -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "service", "translate", "--model", str(BUNDLE), "--beam-size", "3"],
        input="\n".join(TEXTS),
        capture_output=True,
        check=True,
        encoding="utf-8",
        env=environment,
    )

    wanted = [translation.text for translation in expected(engine, DecodingOptions(beam_size=3))]
    assert finished.stdout.split("\n") == wanted


def test_a_line_cut_by_the_length_limit_is_reported(environment: dict[str, str]) -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "service", "translate", "--model", str(BUNDLE), "--max-length", "7"],
        input="Ja.\nDas Kind spielt im Garten.\n",
        capture_output=True,
        check=True,
        encoding="utf-8",
        env=environment,
    )

    assert finished.stderr.count("reached the length limit") == 1
    assert "line 2: reached the length limit and may be incomplete" in finished.stderr


def test_a_typed_line_is_answered_before_the_next(environment: dict[str, str]) -> None:
    """On a terminal; a pipe would be read ahead."""
    terminal, inner = pty.openpty()
    command = [sys.executable, "-m", "service", "translate", "--model", str(BUNDLE)]
    with subprocess.Popen(
        command, stdin=inner, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        try:
            os.write(terminal, b"Ja.\n")
            assert process.stdout is not None
            answer = process.stdout.readline()
        finally:
            process.terminate()
            os.close(inner)
            os.close(terminal)

    assert answer == b"Yes.\n"


def test_lone_surrogates_and_limits_of_the_model_are_the_clients_to_mend(engine_client: httpx.Client) -> None:
    json_type = {"Content-Type": "application/json"}

    surrogate = engine_client.post("/v1/translate", content=rb'{"text": ["a", "\ud800"]}', headers=json_type)
    length = engine_client.post("/v1/translate", json={"text": "a", "max_length": 10**6})

    for response, field in ((surrogate, "text[1]"), (length, "max_length")):
        assert response.status_code == 422
        assert [problem["field"] for problem in response.json()["error"]["fields"]] == [field]


@pytest.mark.skipif(
    "CUDAExecutionProvider" in onnxruntime.get_available_providers(), reason="CUDA is in this onnxruntime"
)
@pytest.mark.parametrize("command", ["translate", "serve"])
@pytest.mark.parametrize("is_option", [True, False])
def test_commands_run_on_the_provider_asked_for_or_not_at_all(
    environment: dict[str, str], command: str, *, is_option: bool
) -> None:
    option = ["--providers", "cuda,cpu"] if is_option else []
    finished = subprocess.run(
        [sys.executable, "-m", "service", command, "--model", str(BUNDLE), *option],
        input="Ja.\n",
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=environment | ({} if is_option else {"DRAGOMAN_PROVIDERS": "cuda,cpu"}),
    )

    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.startswith("dragoman: provider 'cuda' is missing in onnxruntime")
    assert "install onnxruntime-gpu" in finished.stderr


def test_a_text_in_an_unknown_script_comes_back_as_it_is_by_every_api(engine_client: httpx.Client) -> None:
    text = "これは日本語の文です。"

    own = engine_client.post("/v1/translate", json={"text": [text, "Ein Hund rennt."], "source": "de"}).json()
    libre = engine_client.post(
        "/translate", json={"q": f"<p>{text}</p>", "source": "de", "target": "en", "format": "html"}
    ).json()
    deepl = engine_client.post("/v2/translate", json={"text": [text], "target_lang": "EN"}).json()

    assert [(one["text"] == text, one["finish_reason"]) for one in own["translations"]] == [
        (True, "unsupported"),
        (False, "stop"),
    ]
    assert libre["translatedText"] == f"<p>{text}</p>"
    assert deepl["translations"][0]["text"] == text
