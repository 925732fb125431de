"""Programs that end or fork while the engine works. Each runs in a process of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence

import pytest

from dragoman.bundle import open_bundle
from dragoman.errors import ProviderError
from dragoman.loading import open_tokenizers
from dragoman.providers import SessionOptions
from dragoman.search_model import SearchModel
from tests.engine.conftest import FP32, TIMEOUT_S
from tests.paths import MODELS, ROOT

BEGIN = """
import os, signal, sys, threading, time
import multiprocessing
from dragoman import DecodingOptions, EngineRequest, Router, Translator, TranslatorOptions
from dragoman.errors import DragomanError

model, kernels, beam_size = sys.argv[1], sys.argv[2], int(sys.argv[3])
options = DecodingOptions(beam_size=beam_size, min_length=30)
request = EngineRequest(options)
lines = [f"Das ist ein Satz, der etwas länger ist, Nummer {number}." for number in range(200)]
"""
OPEN = """
translator = Translator.open(model, replicas=2, kernels=kernels)
"""
ENDINGS = {
    "submit": """
futures = [translator.submit(line, request) for line in lines]
futures[0].result()
""",
    "break": """
for outcome in translator.translate_many(lines, request):
    break
""",
    "exception": """
for outcome in translator.translate_many(lines, request):
    sys.exit("an error of the caller")
""",
    "interrupts": """
def interrupt():
    while not translator.queue().num_running:
        time.sleep(0.01)
    for _ in range(3):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)
threading.Thread(target=interrupt, daemon=True).start()
translator.translate(lines, options)
""",
    "no reference": """
futures = [translator.submit(line, request) for line in lines[:8]]
del translator
futures[0].result()
""",
}
STATUS = {"exception": 1, "interrupts": -signal.SIGINT}
CHILDREN = """
def check():
    try:
        os._exit(0 if translate(lines[0]) == expected else 3)
    except DragomanError as error:
        print(error, file=sys.stderr)
        os._exit(4)

def work():
    while True:
        for line in lines:
            translate(line)

expected = translate(lines[0])
for _ in range(2):
    threading.Thread(target=work, daemon=True).start()
for number in range(6):
    time.sleep(0.02 + number * 0.003)
    child = multiprocessing.get_context("fork").Process(target=check)
    child.start()
    child.join(50)
    if child.exitcode != 0:
        child.kill()
        sys.exit(f"child {number}: {child.exitcode}")
    if not (forked := os.fork()):
        check()
    signal.alarm(50)
    status = os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1])
    if status != 0:
        sys.exit(f"forked process {number}: {status}")
"""
TRANSLATES = {
    "translator": OPEN
    + """
def translate(line):
    return translator.translate(line, options).text
""",
    "router": """
router = Router.open(
    {"de-en": model}, translators=TranslatorOptions(kernels=kernels, replicas=2)
)
def translate(line):
    return router.translate(line, "de", "en", options).translation.text
""",
}


def run(program: str, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore::DeprecationWarning"}
    command = [sys.executable, "-c", BEGIN + program, str(MODELS / "de-en"), *arguments]
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=4 * TIMEOUT_S, check=False
    )


@pytest.mark.parametrize("beam_size", [1, 4])
@pytest.mark.parametrize("kernels", ["auto", "onnxruntime"])
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_program_may_end_while_the_engine_works(ending: str, kernels: str, beam_size: int) -> None:
    finished = run(OPEN + ENDINGS[ending], [kernels, str(beam_size)])

    assert finished.returncode == STATUS.get(ending, 0), finished.stderr


@pytest.mark.parametrize("kernels", ["auto", "onnxruntime"])
@pytest.mark.parametrize("translates", TRANSLATES)
def test_forked_processes_translate_while_threads_of_their_parent_do(translates: str, kernels: str) -> None:
    finished = run(TRANSLATES[translates] + CHILDREN, [kernels, "2"])

    assert finished.returncode == 0, finished.stderr


def test_a_forked_process_cannot_use_its_parents_gpu_and_the_error_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bundle, session = open_bundle(FP32), SessionOptions()
    model = SearchModel(bundle, session, open_tokenizers(bundle)[1])
    eos = bundle.manifest.special_ids.eos

    model.renew()
    assert model.encode([[eos]]).num_sources == 1, "a CPU is everybody's"
    monkeypatch.setattr(SessionOptions, "is_gpu", True)

    with pytest.raises(ProviderError, match="open it in that process"):
        model.encode([[eos]])
