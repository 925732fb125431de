"""Files of every format through each API and the command."""

import sys
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from zipfile import is_zipfile

import httpx
import pytest

from dragoman import Translator
from service.cli import app as cli
from service.formats.registry import SUFFIXES, output_name
from tests.engine.routing.doubles import until, write_bundle
from tests.formats.fuzz.seeds import FILES
from tests.formats.rewriting import unpack
from tests.jobs.conftest import run_job
from tests.service.doubles import open_double

DEEPL_KEY = {"Authorization": "DeepL-Auth-Key any"}


def name_of(suffix: str) -> str:
    """A name of its own, also for what the file is written as."""
    return f"as-{suffix.removeprefix('.')}{suffix}"


def content_of(suffix: str) -> bytes:
    """A file of a format, without letters that the bundle's vocabulary lacks: the server's double has all."""
    content: bytes = FILES[suffix][0]
    return content if suffix != ".txt" else content.replace("ä字😀".encode(), b"x")


@pytest.fixture(scope="module")
def batch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `dragoman batch` makes of one with a file of each format."""
    folder = tmp_path_factory.mktemp("batch")
    write_bundle(folder / "models" / "tiny", "tiny-de-en")
    (folder / "in").mkdir()
    for suffix in FILES.keys() & set(SUFFIXES):
        (folder / "in" / name_of(suffix)).write_bytes(content_of(suffix))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("DRAGOMAN_MODELS_DIR", str(folder / "models"))
        patch.setattr(Translator, "open", open_double)
        patch.setattr(sys, "argv", ["dragoman", "batch", "in", "-o", "out"])
        with suppress(SystemExit):
            cli.main()
    return folder / "out"


def job_result(http: httpx.Client, name: str, content: bytes) -> bytes:
    job = run_job(http, content, name)
    assert (job["state"], job["progress"]["failed"]) == ("done", 0), job
    return http.get(f"/v1/jobs/{job['id']}/result").content


def deepl_result(http: httpx.Client, name: str, content: bytes) -> bytes:
    fields = {"source_lang": "DE", "target_lang": "EN", "output_format": Path(output_name(name)).suffix[1:]}
    sent = http.post("/v2/document", data=fields, files={"file": (name, content)}, headers=DEEPL_KEY)
    assert sent.status_code == 200, sent.text
    path, key = f"/v2/document/{sent.json()['document_id']}", {"document_key": sent.json()["document_key"]}
    until(lambda: http.post(path, json=key, headers=DEEPL_KEY).json()["status"] in {"done", "error"})
    result = http.post(f"{path}/result", json=key, headers=DEEPL_KEY)
    assert result.status_code == 200, result.text
    return result.content


def libretranslate_result(http: httpx.Client, name: str, content: bytes) -> bytes:
    languages = {"source": "de", "target": "en"}
    sent = http.post("/translate_file", data=languages, files={"file": (name, content)})
    assert sent.status_code == 200, sent.text
    return http.get(sent.json()["translatedFileUrl"]).content


def members(content: bytes) -> bytes | dict[str, bytes]:
    """The file, or what is in an archive: its members have the times at which they were written."""
    return unpack(content) if is_zipfile(BytesIO(content)) else content


@pytest.mark.parametrize(
    ("translate", "suffix"),
    [
        *((job_result, suffix) for suffix in sorted(FILES.keys() & set(SUFFIXES))),
        *((deepl_result, suffix) for suffix in (".txt", ".docx")),
        *((libretranslate_result, suffix) for suffix in (".txt", ".docx")),
    ],
)
def test_each_api_and_every_format_are_translated_as_the_command_does(
    client: httpx.Client, batch: Path, translate: Callable[[httpx.Client, str, bytes], bytes], suffix: str
) -> None:
    name, content = name_of(suffix), content_of(suffix)

    result = translate(client, name, content)

    assert members(result) == members((batch / output_name(name)).read_bytes())
    assert members(result) != members(content)
