"""Models of an index or of registries of others are found and downloaded whole."""

import functools
import hashlib
import json
import shutil
import socketserver
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dragoman.bundle import file_sha256, open_bundle
from dragoman.types import Pair
from service.models import index
from service.models.errors import ModelError
from service.models.index import IndexedModel, download, read_index
from service.models.registries import (
    ARGOS,
    FIREFOX,
    FIREFOX_LICENCE,
    find_models,
    hub_names,
    read_names,
    read_pair,
)
from tests.published import firefox_records, write_argos, write_firefox
from tests.service.conftest import TINY_BUNDLE

LARGEST = max(TINY_BUNDLE.iterdir(), key=lambda path: path.stat().st_size).name


def entry(bundle: Path = TINY_BUNDLE, **changes: Any) -> dict[str, Any]:
    return {
        "name": "tiny",
        "path": "bundles/tiny",
        "manifest_sha256": file_sha256(bundle / "manifest.json"),
        "size_bytes": sum(path.stat().st_size for path in bundle.iterdir()),
        "pairs": ["de -> en"],
        "licence": "Apache-2.0",
        **changes,
    }


def write_index(folder: Path, *entries: dict[str, Any]) -> None:
    (folder / "index.json").write_text(json.dumps({"models": entries}), encoding="utf8")


def publish(folder: Path, **changes: Any) -> Path:
    """Write an index of the tiny bundle, with the bundle; return the published bundle."""
    bundle = folder / "bundles" / "tiny"
    shutil.copytree(TINY_BUNDLE, bundle)
    write_index(folder, entry(**changes))
    return bundle


class Ranges(SimpleHTTPRequestHandler):
    """Serves files, from the byte that a request names."""

    requested: list[tuple[str, str]]

    def do_GET(self) -> None:
        self.requested.append((Path(self.path).name, self.headers.get("Range", "")))
        content = Path(self.translate_path(self.path)).read_bytes()
        start = int(self.headers.get("Range", "bytes=0-")[6:-1])
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        self.wfile.write(content[start:])

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def requested() -> list[tuple[str, str]]:
    """Names of requested files with their ranges."""
    return []


@pytest.fixture
def server(tmp_path: Path, requested: list[tuple[str, str]]) -> Iterator[str]:
    """Address of a server of the published folder."""
    handler = type("Handler", (Ranges,), {"requested": requested})
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(handler, directory=str(tmp_path / "published"))
    ) as running:
        threading.Thread(target=running.serve_forever).start()
        yield f"http://127.0.0.1:{running.server_port}/index.json"
        running.shutdown()


def pull(location: str, models_dir: Path) -> Path:
    return download(location, read_index(location).named("tiny"), models_dir, lambda _: None)


def test_a_downloaded_model_is_the_published_one(tmp_path: Path, server: str) -> None:
    publish(tmp_path / "published")

    folder = pull(server, tmp_path / "models")

    assert folder == tmp_path / "models" / "tiny"
    assert open_bundle(folder).manifest == open_bundle(TINY_BUNDLE).manifest
    assert [path.name for path in (tmp_path / "models").iterdir()] == ["tiny"]


def test_an_interrupted_download_continues_where_it_stopped(
    tmp_path: Path, server: str, requested: list[tuple[str, str]]
) -> None:
    bundle = publish(tmp_path / "published")
    whole = (bundle / LARGEST).read_bytes()
    (bundle / LARGEST).write_bytes(whole[:1000])
    with pytest.raises(ModelError, match="ended early; try again to continue"):
        pull(server, tmp_path / "models")
    (bundle / LARGEST).write_bytes(whole)
    requested.clear()

    folder = pull(server, tmp_path / "models")

    assert (LARGEST, "bytes=1000-") in requested
    assert "manifest.json" not in {name for name, _ in requested}
    open_bundle(folder)


def test_a_damaged_file_never_becomes_a_model(tmp_path: Path) -> None:
    bundle = publish(tmp_path / "published")
    content = bytearray((bundle / LARGEST).read_bytes())
    content[-1] ^= 1
    (bundle / LARGEST).write_bytes(content)

    with pytest.raises(ModelError, match=f"tiny is damaged: {LARGEST} is damaged.*try again"):
        pull(str(tmp_path / "published"), tmp_path / "models")

    assert list((tmp_path / "models").iterdir()) == []


def test_a_manifest_that_the_index_does_not_promise_is_rejected(tmp_path: Path) -> None:
    publish(tmp_path / "published", manifest_sha256="0" * 64)

    with pytest.raises(ModelError, match="tiny: its manifest differs from the index"):
        pull(str(tmp_path / "published"), tmp_path / "models")


@pytest.mark.parametrize("path", ["file:///etc", "ftp://127.0.0.1/models"])
def test_a_remote_index_names_no_file_of_this_machine(tmp_path: Path, server: str, path: str) -> None:
    publish(tmp_path / "published", path=path)

    with pytest.raises(ModelError, match="is not an address"):
        pull(server, tmp_path / "models")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("[", "is not an index of models: the file: Invalid JSON"),
        (json.dumps({"models": [entry(name="../x")]}), "models.0.name: String should match pattern"),
        (json.dumps({"models": [entry(size_bytes=-1)]}), "models.0.size_bytes"),
    ],
)
def test_an_index_that_cannot_be_used_is_rejected(tmp_path: Path, content: str, problem: str) -> None:
    path = tmp_path / "index.json"
    path.write_text(content, encoding="utf8")

    with pytest.raises(ModelError, match=problem):
        read_index(str(path))


def test_another_process_that_downloads_the_model_is_not_disturbed(tmp_path: Path) -> None:
    publish(tmp_path / "published")
    models, model = tmp_path / "models", read_index(str(tmp_path / "published")).named("tiny")
    models.mkdir()

    with FileLock(models / ".tiny.lock"), pytest.raises(ModelError, match="tiny is being downloaded"):
        download(str(tmp_path / "published"), model, models, lambda _: None)

    download(str(tmp_path / "published"), model, models, lambda _: None)
    assert [path.name for path in models.iterdir()] == ["tiny"]


def test_only_missing_bytes_need_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    published = publish(tmp_path / "published")
    location, models = str(tmp_path / "published"), tmp_path / "models"
    model = read_index(location).named("tiny")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1))

    with pytest.raises(ModelError, match=r"tiny needs \d+ more bytes of disk space, but only 1"):
        download(location, model, models, lambda _: None)

    for path in published.iterdir():
        shutil.copy(path, models / ".tiny.partial")
    assert download(location, model, models, lambda _: None) == models / "tiny"


def test_a_disk_that_fills_up_fails_the_download(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    publish(tmp_path / "published")
    model = read_index(str(tmp_path / "published")).named("tiny")
    monkeypatch.setattr(index, "_complete", fail)

    with pytest.raises(ModelError, match="folder: No space left on device"):
        download(str(tmp_path / "published"), model, tmp_path / "models", lambda _: None)


@pytest.mark.parametrize(
    "name", ["..", ".", "../models", "/etc", "a/../a", ".a", "a\0", "a\n", "ä", "-x", "a" * 101, ""]
)
def test_no_name_of_an_index_leads_out_of_the_models_folder(tmp_path: Path, name: str) -> None:
    write_index(tmp_path, entry(name=name))

    with pytest.raises(ModelError, match=r"models\.0\.name"):
        read_index(str(tmp_path))


class Broken(socketserver.BaseRequestHandler):
    """Reads a request and sends what it is given."""

    answer: bytes = b""

    def handle(self) -> None:
        self.request.recv(65536)
        self.request.sendall(type(self).answer)


@pytest.fixture(scope="module")
def broken() -> Iterator[tuple[str, type[Broken]]]:
    """Address of a server, and the class that has its answer."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Broken) as running:
        threading.Thread(target=running.serve_forever).start()
        yield f"http://127.0.0.1:{running.server_address[1]}", Broken
        running.shutdown()


STATUS_LINES = (b"HTTP/1.1 200 OK", b"HTTP/1.1 302 Found", b"HTTP/1.1 abc", b"HTTP/9 200", b"garbage", b"")
HEADERS = (
    *(b"Content-Length: 5", b"Content-Length: 99", b"Content-Length: x", b"Content-Length: -1"),
    *(
        b"Transfer-Encoding: chunked",
        b"Content-Encoding: gzip",
        b"no colon",
        b"X: \xff\x00",
        b"X: " + b"x" * 70_000,
    ),
    *(
        b"Location: /index.json",
        b"Location: http://[",
        b"Location: ftp://127.0.0.1/x",
        b"Location: file:///etc",
    ),
    *(
        b"Location: http://127.0.0.1:99999/",
        b"Location: http://a\x00b/",
        b"Location: \xe4",
        b"\r\n".join([b"X: 1"] * 300),
    ),
)
BODIES = (
    b"",
    b"{}",
    b'{"models": []}',
    b"5\r\nabcde\r\n0\r\n\r\n",
    b"5\r\nab",
    b"zz\r\nab",
    b"-1\r\n",
    b"\xff\xfe",
)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(STATUS_LINES),
    st.lists(st.sampled_from(HEADERS), max_size=3),
    st.sampled_from(BODIES) | st.binary(max_size=30),
)
def test_a_broken_server_gives_one_clear_line(
    broken: tuple[str, type[Broken]], status: bytes, headers: list[bytes], body: bytes
) -> None:
    address, handler = broken
    handler.answer = b"\r\n".join([status, *headers, b"Connection: close", b"", body])

    problem = ""
    try:
        read_index(f"{address}/index.json")
    except ModelError as error:
        problem = str(error)

    assert not problem or problem.startswith(address)
    assert "\n" not in problem
    assert len(problem) < 500


@given(
    st.sampled_from(["http://[", "http://a\0", "http://127.0.0.1:99999", "//[", "\0", "a\nb", "ä"])
    | st.text(max_size=9)
)
def test_a_path_that_is_none_gives_one_clear_line(path: str) -> None:
    """In an index of this machine, and in one that was downloaded."""
    model = IndexedModel.model_validate(entry(path=path))
    for location in ("http://127.0.0.1:1/index.json", "/no/index.json", "http://["):
        with TemporaryDirectory() as models_dir, pytest.raises(ModelError):
            download(location, model, Path(models_dir), lambda _: None)


FILES = {"model:model.bin": b"model", "vocab:vocab.spm": b"vocabulary", "qualityModel:q.bin": b"unused"}
SPANISH, ENGLISH = ("es", "en"), ("en", "fr")


@pytest.fixture
def firefox(tmp_path: Path) -> str:
    """With es -> en in several versions, and en -> fr."""
    others = [
        firefox_records(tmp_path, FILES, SPANISH, architecture="tiny", version="3.9"),
        firefox_records(tmp_path, FILES, SPANISH, version="2.0"),
        firefox_records(
            tmp_path, FILES, SPANISH, version="3.5", filter_expression="env.channel == 'nightly'"
        ),
        firefox_records(tmp_path, {"model:model.bin": b"alone"}, SPANISH, version="3.7"),
    ]
    wanted = firefox_records(tmp_path, FILES, SPANISH, version="3.1")
    return str(write_firefox(tmp_path, *others, wanted, firefox_records(tmp_path, FILES, ENGLISH)))


def test_the_newest_complete_model_of_the_preferred_architecture_for_all_channels_is_found(
    firefox: str, tmp_path: Path
) -> None:
    [model] = find_models(FIREFOX, firefox, Pair("es", "en"))
    folder = tmp_path / "model"
    folder.mkdir()
    received: list[int] = []

    assert (model.name, model.version, model.licence) == ("firefox:es-en", "3.1", FIREFOX_LICENCE)
    assert model.download(folder, received.append) == folder
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        "model.bin": b"model",
        "vocab.spm": b"vocabulary",
    }
    assert sum(received) == model.size_bytes


def test_a_pair_without_a_model_leads_through_english(firefox: str) -> None:
    assert [model.pair for model in find_models(FIREFOX, firefox, Pair("es", "fr"))] == [SPANISH, ENGLISH]
    with pytest.raises(ModelError, match="firefox has no model for fr -> es, and none through en"):
        find_models(FIREFOX, firefox, Pair("fr", "es"))


def test_the_newest_package_of_argos_is_found_by_its_own_codes(tmp_path: Path) -> None:
    (tmp_path / "new.argosmodel").write_bytes(b"new")
    newest = ("en", "pb", "1.10", "new.argosmodel")
    index = write_argos(tmp_path, ("en", "pb", "1.9", "old.argosmodel"), newest, ("en", "pb", "1.2", "x"))

    [model] = find_models(ARGOS, str(index), Pair("en", "pt-BR"))

    assert (model.name, model.version, model.size_bytes, model.licence) == ("argos:en-pb", "1.10", None, None)
    folder = tmp_path / "packages"
    folder.mkdir()
    assert model.download(folder, lambda _: None).read_bytes() == b"new"


@pytest.mark.parametrize("damage", ["content", "size", "compression"])
def test_a_file_that_is_not_the_promised_one_is_rejected(tmp_path: Path, damage: str) -> None:
    records = firefox_records(tmp_path, FILES, SPANISH)
    path = tmp_path / records[0]["attachment"]["location"]
    packed = path.read_bytes()
    if damage == "compression":
        path.write_bytes(b"not zstd" * 2)
        records = json.loads(json.dumps(records))
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        records[0]["attachment"] |= {"hash": digest, "size": 16}
    else:
        path.write_bytes(packed[:-1] + b"?" if damage == "content" else packed + b"?")
    [model] = find_models(FIREFOX, str(write_firefox(tmp_path, records)), Pair(*SPANISH))
    folder = tmp_path / "model"
    folder.mkdir()

    with pytest.raises(ModelError, match=r"is not the file|cannot be decompressed"):
        model.download(folder, lambda _: None)


def test_what_is_no_registry_is_named(tmp_path: Path) -> None:
    path = tmp_path / "records.json"
    path.write_text('{"data": [{"name": "../x"}]}')

    with pytest.raises(ModelError, match=r"is not an index of models: data\.0\.name"):
        find_models(FIREFOX, str(path), Pair(*SPANISH))


def test_files_and_hub_ids_are_neither_names_nor_pairs() -> None:
    assert read_names("firefox:es-en") == [("firefox", Pair("es", "en"))]
    assert read_names("argos:en-zh-Hant, opus:fr-en") == [
        ("argos", Pair("en", "zh-Hant")),
        ("opus", Pair("fr", "en")),
    ]
    assert read_pair("pt-BR-en") == Pair("pt-BR", "en")
    for other in ("owner/name", "./es-en", "firefox:es", "other:es-en", "es_en"):
        assert read_names(other) == []
        assert read_pair(other) is None
    assert hub_names(Pair("fr", "en"))[-1] == "Helsinki-NLP/opus-mt-fr-en"
