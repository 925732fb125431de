"""Documents are kept for a while, in a folder that is nobody else's, and given out by id alone."""

import errno
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.documents.errors import StoreFull, UnknownDocument
from service.documents.store import ENTRY_SIZE_BYTES, DocumentStore, StoredDocument

LIFETIME_S = 60.0
ROOM = 10 * ENTRY_SIZE_BYTES


class Time:
    now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "documents"


@pytest.fixture
def store(folder: Path, time: Time) -> Iterator[DocumentStore]:
    with DocumentStore(folder, ROOM, LIFETIME_S, time) as opened:
        yield opened


def files(folder: Path) -> list[Path]:
    return list(folder.iterdir())


def test_what_is_put_in_is_read_until_it_is_taken(store: DocumentStore, folder: Path) -> None:
    document_id = store.put("a.txt", b"abc")
    assert store.read(document_id) == store.read(document_id) == StoredDocument("a.txt", b"abc")
    assert store.take(document_id) == StoredDocument("a.txt", b"abc")
    for ask in (store.read, store.take):
        with pytest.raises(UnknownDocument):
            ask(document_id)
    assert files(folder) == []


def test_of_many_who_take_a_document_at_a_time_one_gets_it(store: DocumentStore) -> None:
    def take(document_id: str) -> bool:
        try:
            store.take(document_id)
        except UnknownDocument:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        for _ in range(50):
            assert sum(threads.map(take, [store.put("a.txt", b"abc")] * 8)) == 1


def test_ids_are_of_128_random_bits(store: DocumentStore) -> None:
    ids = {store.put("", b"") for _ in range(5)}
    assert len(ids) == 5
    assert all(len(bytes.fromhex(each)) == 16 for each in ids)


@given(st.text())
def test_no_name_becomes_a_path(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    folder = tmp_path_factory.mktemp("s")
    with DocumentStore(folder / "documents", ROOM, LIFETIME_S) as store:
        for each in (name, f"../{name}", f"/{name}\0", "x" * 5000):
            document_id = store.put(each, b"abc")
            assert store.take(document_id).name == each
        with pytest.raises(UnknownDocument):
            store.read(name)
        assert files(folder) == [folder / "documents"]


@pytest.mark.parametrize("asked", ["", ".", "..", "../secret", "/etc/passwd", "secret", "0" * 32])
def test_nothing_but_what_was_put_in_is_given_out(store: DocumentStore, folder: Path, asked: str) -> None:
    (folder / "secret").write_bytes(b"")
    for ask in (store.read, store.take):
        with pytest.raises(UnknownDocument):
            ask(asked)
    assert (folder / "secret").exists()


def test_documents_go_when_their_time_is_over(store: DocumentStore, folder: Path, time: Time) -> None:
    first = store.put("a.txt", b"abc")
    time.now_s += LIFETIME_S / 2
    second = store.put("b.txt", b"abc")
    time.now_s += LIFETIME_S / 2
    with pytest.raises(UnknownDocument):
        store.read(first)
    assert store.read(second).name == "b.txt"
    time.now_s += LIFETIME_S
    store.sweep()
    assert files(folder) == []
    assert len(store) == 0


def test_what_goes_makes_room(store: DocumentStore, time: Time) -> None:
    def fill() -> list[str]:
        found = [store.put("", b"") for _ in range(10)]
        with pytest.raises(StoreFull, match=f"at most {ROOM} bytes"):
            store.put("", b"")
        return found

    for document_id in fill():
        store.take(document_id)
    fill()
    time.now_s += LIFETIME_S
    fill()


def test_names_count_as_well(store: DocumentStore) -> None:
    with pytest.raises(StoreFull):
        store.put("x" * ROOM, b"")


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_keeps_nothing_and_loses_no_room(
    store: DocumentStore, folder: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def fail_half_way(path: Path, content: bytes) -> int:
        path.open("wb").close()
        raise OSError(number, f"no room for {len(content)}")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", fail_half_way)
        for _ in range(20):
            with pytest.raises(StoreFull, match="disk is full"):
                store.put("a.txt", b"abc")
    assert files(folder) == []
    assert store.read(store.put("a.txt", b"abc")).content == b"abc"


def test_only_its_owner_looks_into_the_folder(store: DocumentStore, folder: Path) -> None:
    assert len(store) == 0
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_the_folder_is_emptied_of_documents_at_the_start_and_at_the_end(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / ("a" * 32)).write_bytes(b"left by one that was killed")
    (folder / "others").write_bytes(b"")
    with DocumentStore(folder, ROOM, LIFETIME_S) as store:
        assert files(folder) == [folder / "others"]
        document_id = store.put("a.txt", b"abc")
    assert files(folder) == [folder / "others"]
    with pytest.raises(UnknownDocument):
        store.read(document_id)
