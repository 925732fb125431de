"""Documents that wait to be fetched, on the disk and only for a while."""

import asyncio
import errno
import re
import secrets
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from service.documents.errors import StoreFull, UnknownDocument
from service.front.threads import beside

ID_SIZE_BYTES = 16
ENTRY_SIZE_BYTES = 4096
"""What a document counts for beside its content: a disk has no smaller pieces."""
SWEEPS_PER_LIFETIME = 10

_FILE = re.compile(r"[0-9a-f]{32}", re.ASCII)
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """As it was put in."""

    name: str
    content: bytes


@dataclass(frozen=True, slots=True)
class _Entry:
    name: str
    size_bytes: int
    expires_at_s: float


class DocumentStore:
    """Keeps documents for a while in a folder that is this process's alone. Any thread may call it; every
    method waits for the disk, so an event loop must not.

    Files are called by random ids, never by what a client calls them. Nothing is left after `close`, and what
    a process left that had no time for that goes when the folder is opened again.
    """

    def __init__(
        self,
        folder: Path,
        max_total_bytes: int,
        lifetime_s: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open the folder, which is made if it is not there, for no other user to look into.

        Args:
            folder: must have nothing in it that is called by 32 hexadecimal digits and shall stay.
            max_total_bytes: most that is kept at a time, `ENTRY_SIZE_BYTES` for each document included.
            lifetime_s: seconds for which a document is kept.
            monotonic: what time it is, in seconds.

        Raises:
            OSError: it cannot be made or emptied.
        """
        self._folder = folder
        self._max_total_bytes = max_total_bytes
        self._lifetime_s = lifetime_s
        self._monotonic = monotonic
        self._entries: dict[str, _Entry] = {}
        self._total_bytes = 0
        self._lock = threading.Lock()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        self._empty()

    def __len__(self) -> int:
        return len(self._entries)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def put(self, name: str, content: bytes) -> str:
        """Keep a document; gives the id that it is had by, which nobody can guess.

        Raises:
            StoreFull: too much is kept, or the disk is full.
            OSError: the disk fails.
        """
        self.sweep()
        document_id = secrets.token_hex(ID_SIZE_BYTES)
        size_bytes = len(content) + 4 * len(name) + ENTRY_SIZE_BYTES
        with self._lock:
            if self._total_bytes + size_bytes > self._max_total_bytes:
                raise StoreFull(f"at most {self._max_total_bytes} bytes are kept at a time; try again later")
            self._total_bytes += size_bytes
        path = self._folder / document_id
        try:
            path.write_bytes(content)
        except OSError as error:
            with suppress(OSError):
                path.unlink(missing_ok=True)
            with self._lock:
                self._total_bytes -= size_bytes
            if error.errno in _NO_ROOM:
                raise StoreFull("the server's disk is full; try again later") from error
            raise
        with self._lock:
            self._entries[document_id] = _Entry(name, size_bytes, self._monotonic() + self._lifetime_s)
        return document_id

    def read(self, document_id: str) -> StoredDocument:
        """A document, which stays.

        Raises:
            UnknownDocument: there is none of this id, or none any more.
        """
        self.sweep()
        with self._lock:
            entry = self._entries.get(document_id)
        if entry is None:
            raise UnknownDocument
        try:
            return StoredDocument(entry.name, (self._folder / document_id).read_bytes())
        except FileNotFoundError as error:  # taken or swept a moment ago
            raise UnknownDocument from error

    def take(self, document_id: str) -> StoredDocument:
        """A document, which is gone after that. Of several who ask at a time one gets it.

        Raises:
            UnknownDocument: as `read`.
        """
        self.sweep()
        entry = self._forget(document_id)
        path = self._folder / document_id
        try:
            return StoredDocument(entry.name, path.read_bytes())
        finally:
            path.unlink(missing_ok=True)

    def sweep(self) -> None:
        """Remove documents whose time is over."""
        now_s = self._monotonic()
        with self._lock:  # all live for as long, so the first put in is the first to go
            over = []
            for document_id, entry in self._entries.items():
                if entry.expires_at_s > now_s:
                    break
                over.append(document_id)
        for document_id in over:
            with suppress(UnknownDocument):
                self._forget(document_id)
            (self._folder / document_id).unlink(missing_ok=True)

    async def keep_swept(self) -> None:
        """Sweep from time to time, until cancelled."""
        while True:
            await asyncio.sleep(self._lifetime_s / SWEEPS_PER_LIFETIME)
            await beside(self.sweep)

    def close(self) -> None:
        """Remove all documents."""
        with self._lock:
            self._entries.clear()
            self._total_bytes = 0
        self._empty()

    def _forget(self, document_id: str) -> _Entry:
        with self._lock:
            entry = self._entries.pop(document_id, None)
            if entry is None:
                raise UnknownDocument
            self._total_bytes -= entry.size_bytes
        return entry

    def _empty(self) -> None:
        for path in self._folder.iterdir():
            if _FILE.fullmatch(path.name) and (path.is_file() or path.is_symlink()):
                path.unlink(missing_ok=True)
