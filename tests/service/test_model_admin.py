"""Models are downloaded and removed over HTTP, by keys with the scope `admin` alone."""

import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from filelock import FileLock

from dragoman import bundled as bundled_models
from dragoman.routing.options import RouterOptions
from dragoman.routing.router import Router
from service import model_admin, model_index
from service.accounts.keys import Scope
from service.model_admin import MAX_DOWNLOADS
from service.model_errors import ModelBusy, NotEnoughModelSpace, UnknownModel
from service.model_folders import ModelFolders
from service.model_index import download, read_index, take_away
from tests.routing.doubles import TIMEOUT_S, DoubleBundles, until, write_bundle
from tests.service.conftest import SIZE_BYTES, ready_client, rejection, translate
from tests.service.keys import Keys
from tests.service.test_model_index import entry, write_index

PATH = "/v1/admin/models"
HOSTILE = (
    "..", ".", "../models", "/etc", "a/../a", ".a.removed", "a\0", "a\n", "ä", "-x", "a" * 101, "con/", "",
)  # fmt: skip
BAD_BODIES = (
    "", "[", "[]", "{}", '{"name": 1}', '{"name": "fr-en", "force": true}', '{"name": "a", "name": "b"}',
)  # fmt: skip


class Admin:
    """A client with an admin's key, a server over `models`, and an index of `fr-en` and others."""

    def __init__(self, client: httpx.Client, key: dict[str, str], folder: Path) -> None:
        self.client = client
        self.key = key
        self.models = folder / "models"
        self.published = folder / "published"

    def list(self) -> dict[str, Any]:
        response = self.client.get(PATH, headers=self.key)
        assert response.status_code == 200, response.text
        return dict(response.json())

    def post(self, name: object, **body: object) -> httpx.Response:
        return self.client.post(PATH, json={"name": name} | body, headers=self.key)

    def delete(self, name: str) -> httpx.Response:
        return self.client.delete(f"{PATH}/{quote(name, safe='')}", headers=self.key)

    def names(self) -> dict[str, str]:
        return {model["name"]: model["title"] for model in self.list()["models"]}

    def download(self, name: str) -> dict[str, Any]:
        """The last download of a model, once it has ended."""
        until(lambda: self._download(name)["state"] != "running")
        return self._download(name)

    def _download(self, name: str) -> dict[str, Any]:
        (found,) = [each for each in self.list()["downloads"] if each["name"] == name]
        return dict(found)


def publish(folder: Path, *names: str) -> None:
    """Write bundles and their index."""
    bundles = [write_bundle(folder / name, "published", ["fr"], ["en"]) for name in names]
    write_index(folder, *(entry(bundle, name=bundle.name, path=bundle.name) for bundle in bundles))


@pytest.fixture
def bundles() -> DoubleBundles:
    return DoubleBundles({})


@pytest.fixture
def start(tmp_path: Path, keys: Keys, bundles: DoubleBundles) -> Iterator[Callable[..., Admin]]:
    """Start a server over the model `a`, with these settings."""
    publish(tmp_path / "published", "fr-en", *(f"m{number}" for number in range(MAX_DOWNLOADS)))
    write_bundle(tmp_path / "models" / "a", "german")
    with ExitStack() as running:

        def open_admin(folders: ModelFolders | None = None, **settings: object) -> Admin:
            folders = folders or ModelFolders(tmp_path / "models")
            options = RouterOptions(fallback_dir=folders.bundled)
            router = running.enter_context(Router(folders.find, bundles.open, lambda _: SIZE_BYTES, options))
            given = {
                "models_dir": folders.own,
                "database_url": keys.url,
                "admin_api": True,
                "model_index": str(tmp_path / "published"),
                **settings,
            }
            client = running.enter_context(ready_client(router, **given))
            return Admin(client, keys.bearer(Scope.ADMIN), tmp_path)

        yield open_admin
        bundles.may_open.set()
        for double in bundles.opened:
            double.released.set()


@pytest.fixture
def admin(start: Callable[..., Admin]) -> Admin:
    return start()


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """An event without which no download goes on after its manifest."""
    may_continue = threading.Event()
    real = model_index._complete

    def wait(*arguments: Any) -> None:
        assert may_continue.wait(TIMEOUT_S)
        real(*arguments)

    monkeypatch.setattr(model_index, "_complete", wait)
    yield may_continue
    may_continue.set()


def test_a_downloaded_model_is_served_at_once(admin: Admin) -> None:
    started = admin.post("fr-en")

    assert started.status_code == 202
    assert started.json()["name"] == "fr-en"
    ended = admin.download("fr-en")
    size_bytes = entry(admin.published / "fr-en")["size_bytes"]
    manifest_bytes = (admin.published / "fr-en" / "manifest.json").stat().st_size
    assert ended == {
        "name": "fr-en",
        "state": "done",
        "received_bytes": size_bytes - manifest_bytes,
        "size_bytes": size_bytes,
        "error": None,
    }
    assert admin.names() == {"a": "german", "fr-en": "published"}
    assert translate(admin.client, source="fr", target="en")["model"] == "published"


def test_a_removed_model_is_gone_and_its_running_text_finishes(admin: Admin, bundles: DoubleBundles) -> None:
    answered: list[dict[str, Any]] = []
    body = {"text": "wait", "source": "de", "target": "en"}
    thread = threading.Thread(target=lambda: answered.append(translate(admin.client, **body)))
    thread.start()
    until(lambda: any(double.is_waiting.is_set() for double in bundles.opened))

    assert admin.delete("a").status_code == 204

    assert admin.names() == {}
    assert [path.name for path in admin.models.iterdir()] == []
    assert rejection(admin.client.post("/v1/translate", json={**body, "text": "neu"})) == (
        422,
        "invalid_input",
    )
    bundles.opened[0].released.set()
    thread.join(TIMEOUT_S)
    assert answered[0]["model"] == "german"
    assert rejection(admin.delete("a")) == (404, "not_found")


def test_an_existing_model_is_replaced_only_on_request(admin: Admin) -> None:
    old = write_bundle(admin.models / "fr-en", "old", ["fr"], ["en"])
    (old / "of-before").touch()

    assert rejection(admin.post("fr-en")) == (409, "conflict")
    assert admin.post("fr-en", replace=True).status_code == 202
    assert admin.download("fr-en")["state"] == "done"
    assert admin.names()["fr-en"] == "published"
    assert not (old / "of-before").exists()


def test_a_model_is_downloaded_once_at_a_time_and_its_progress_shown(
    admin: Admin, held: threading.Event
) -> None:
    assert admin.post("fr-en").status_code == 202

    (running,) = admin.list()["downloads"]
    assert (running["state"], running["received_bytes"]) == ("running", 0)
    assert rejection(admin.post("fr-en")) == (409, "conflict")
    assert rejection(admin.delete("fr-en")) == (409, "conflict")
    held.set()
    assert admin.download("fr-en")["state"] == "done"


def test_of_two_requests_at_the_same_time_one_downloads(
    admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    both_read = threading.Barrier(2, timeout=TIMEOUT_S)

    def read(location: str) -> model_index.ModelIndex:
        both_read.wait()
        return read_index(location)

    monkeypatch.setattr(model_admin, "read_index", read)
    with ThreadPoolExecutor(2) as clients:
        answered = list(clients.map(admin.post, ["fr-en", "fr-en"]))

    assert sorted(each.status_code for each in answered) == [202, 409]
    assert admin.download("fr-en")["state"] == "done"


def test_several_models_are_downloaded_at_a_time_up_to_a_limit(admin: Admin, held: threading.Event) -> None:
    names = [f"m{number}" for number in range(MAX_DOWNLOADS)]
    assert {admin.post(name).status_code for name in names} == {202}

    rejected = admin.post("fr-en")

    assert rejection(rejected) == (429, "overloaded")
    assert rejected.headers["retry-after"]
    held.set()
    assert {admin.download(name)["state"] for name in names} == {"done"}
    assert sorted(admin.names()) == ["a", *names]


def test_a_full_disk_fails_the_download_and_leaves_what_is_served(
    admin: Admin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 7, 3))

    admin.post("fr-en")

    ended = admin.download("fr-en")
    assert (ended["state"], ended["error"]["type"], ended["received_bytes"]) == ("failed", "no_room", 0)
    assert "fr-en needs 4" in ended["error"]["message"]
    assert "only 3 are free" in ended["error"]["message"]
    assert admin.names() == {"a": "german"}
    monkeypatch.undo()
    admin.post("fr-en")
    assert admin.download("fr-en")["state"] == "done"


def test_a_disk_that_fills_up_fails_the_download(admin: Admin, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(model_index, "_complete", fail)

    admin.post("fr-en")

    error = admin.download("fr-en")["error"]
    assert error["type"] == "store_unavailable"
    assert error["message"] == "cannot write to the models folder: No space left on device"


def test_no_name_leads_out_of_the_models_folder(admin: Admin) -> None:
    (admin.models.parent / "outside").mkdir()
    before = sorted(admin.models.parent.rglob("*"))

    for name in HOSTILE:
        assert rejection(admin.post(name)) == (422, "invalid_input"), name
        assert admin.delete(name).status_code in {404, 405}, name
    assert sorted(admin.models.parent.rglob("*")) == before


def test_a_bad_body_is_rejected(admin: Admin) -> None:
    headers = {**admin.key, "Content-Type": "application/json"}

    for body in BAD_BODIES:
        assert admin.client.post(PATH, content=body, headers=headers).status_code in {400, 422}, body
    assert admin.list()["downloads"] == []


def test_only_an_admins_key_opens_the_routes_and_before_the_body_is_read(admin: Admin, keys: Keys) -> None:
    json_type = {"Content-Type": "application/json"}
    for method, path, content in (("GET", PATH, None), ("POST", PATH, "["), ("DELETE", f"{PATH}/a", None)):
        for key, expected in (
            ({}, (401, "unauthenticated")),
            ({"X-API-Key": "nonsense"}, (401, "unauthenticated")),
            (keys.bearer(), (403, "forbidden")),
        ):
            response = admin.client.request(method, path, content=content, headers=json_type | key)
            assert rejection(response) == expected
    assert admin.names() == {"a": "german"}


def test_an_unknown_model_is_not_found_and_an_unreadable_index_is_reported(admin: Admin) -> None:
    unknown = admin.post("other")
    assert rejection(unknown) == (404, "not_found")
    assert "other is not in the index; it has " in unknown.text
    (admin.published / "index.json").unlink()
    assert rejection(admin.post("fr-en")) == (503, "store_unavailable")


def test_without_an_index_nothing_can_be_downloaded(start: Callable[..., Admin]) -> None:
    assert rejection(start(model_index=None).post("fr-en")) == (403, "forbidden")


def test_bundled_models_stay_and_return_when_the_own_is_removed(
    start: Callable[..., Admin], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundled = tmp_path / "bundled"
    write_bundle(bundled / "a", "bundled a")
    write_bundle(bundled / "b", "bundled b", ["en"], ["de"])
    monkeypatch.setattr(bundled_models, "INSTALLED", bundled)
    monkeypatch.chdir(tmp_path)
    admin = start(ModelFolders(Path("models"), bundled), models_dir=None)
    (admin.models / "gpt").mkdir()
    origins = {model["name"]: model["origin"] for model in admin.list()["models"]}
    assert origins == {"a": "own", "b": "bundled"}

    assert rejection(admin.delete("b")) == (403, "forbidden")
    assert rejection(admin.delete("gpt")) == (404, "not_found")
    assert admin.delete("a").status_code == 204

    assert admin.names() == {"a": "bundled a", "b": "bundled b"}
    assert rejection(admin.delete("a")) == (403, "forbidden")


def test_a_link_is_removed_but_not_what_it_leads_to(admin: Admin, tmp_path: Path) -> None:
    target = write_bundle(tmp_path / "elsewhere", "linked", ["en"], ["fr"])
    (admin.models / "link").symlink_to(target)

    assert admin.delete("link").status_code == 204

    assert (target / "manifest.json").is_file()
    assert [path.name for path in admin.models.iterdir()] == ["a"]


def test_the_routes_exist_only_with_the_setting(start: Callable[..., Admin]) -> None:
    admin = start(admin_api=False)

    assert admin.client.get(PATH, headers=admin.key).status_code == 404
    assert PATH not in admin.client.get("/openapi.json").json()["paths"]


def test_another_process_that_changes_the_model_is_not_disturbed(tmp_path: Path) -> None:
    publish(tmp_path / "published", "fr-en")
    models, model = tmp_path / "models", read_index(str(tmp_path / "published")).named("fr-en")
    write_bundle(models / "fr-en", "old")

    with FileLock(models / ".fr-en.lock"):
        with pytest.raises(ModelBusy, match="fr-en is being downloaded or removed"):
            download(str(tmp_path / "published"), model, models, lambda _: None)
        with pytest.raises(ModelBusy):
            take_away("fr-en", models)

    download(str(tmp_path / "published"), model, models, lambda _: None)
    shutil.rmtree(take_away("fr-en", models))
    with pytest.raises(UnknownModel):
        take_away("fr-en", models)
    assert list(models.iterdir()) == []


def test_only_missing_bytes_need_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(tmp_path / "published", "fr-en")
    location, models = str(tmp_path / "published"), tmp_path / "models"
    model = read_index(location).named("fr-en")
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 1))
        with pytest.raises(
            NotEnoughModelSpace, match=r"^fr-en needs \d+ more bytes of disk space, but only 1 are"
        ):
            download(location, model, models, lambda _: None)
        for path in (tmp_path / "published" / "fr-en").iterdir():
            shutil.copy(path, models / ".fr-en.partial")

        assert download(location, model, models, lambda _: None) == models / "fr-en"
