"""Routes that import and export translation memories, by jobs as DeepL has them.

A job is its id: a signed token with all that is known of it, so that every process of a server can answer.
"""

import base64
import hashlib
import hmac
import re
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, cast
from xml.sax.saxutils import escape, quoteattr

from fastapi import APIRouter, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import TypeAdapter

from dragoman.types import Pair
from dragoman.weighted_cache import WeightedCache
from service.accounts.keys import Caller
from service.api.deepl import memory_schemas
from service.api.deepl.access import CREATED, DeepLOwnerAccess
from service.api.deepl.glossary_fields import format_time
from service.api.deepl.memories import MEMORIES, MEMORY_ID, describe_one
from service.api.services import Services
from service.formats.entries import FileFormatError
from service.formats.isolation import RecordReader
from service.formats.records import RecordKind
from service.http.errors import ApiError, ErrorKind, SafeJSONResponse, field_error
from service.http.fields import NoFields
from service.http.openapi import JSON, describe_route, path_parameter, request_of
from service.memories.errors import UnknownMemory
from service.memories.store import Memory, MemoryStore, check_name
from service.memories.tmx import TmxPairs
from service.work.threads import run_in_thread

UPLOADS = f"{MEMORIES}/uploads/"
IMPORT, EXPORT = "import", "export"
LIFETIME_S = 3600
"""Seconds for which a job can be uploaded to, or downloaded from."""
REUSED_S = LIFETIME_S // 2
"""Seconds in which an export of the same memory is the same job."""
MAX_EXPORTS = 10_000
OK, ACCEPTED = 200, 202
TMX = "application/xml"
UNWRITABLE = re.compile("[^\\t\\n\\r\\x20-\\ud7ff\\ue000-\\ufffd\\U00010000-\\U0010ffff]")
"""Characters that XML cannot hold; pairs with one are not exported."""
KEPT_BYTES = 2**20
"""Maximum size of an upload that is kept in memory."""
JOB_ID = path_parameter("job_id", "From the response to its creation.")


@dataclass(frozen=True, slots=True)
class Transfer:
    """A job."""

    operation: str
    owner: str | None
    memory_id: str
    """Memory to export, or id of the one that an import will create."""
    created_s: int
    name: str = ""
    """Name of the new memory."""
    content_type: str = ""
    content_length: int = 0

    @property
    def end_s(self) -> int:
        return self.created_s + LIFETIME_S

    @property
    def is_over(self) -> bool:
        return time.time() > self.end_s


TRANSFER = TypeAdapter(Transfer)


class TransferTokens:
    """Makes tokens for transfers, and reads them. They are signed with the hash of their owner's key."""

    def __init__(self, services: Services) -> None:
        self._accounts = services.authenticator.accounts

    def make(self, transfer: Transfer) -> str:
        """Return the token of a transfer. Waits for the database."""
        content = TRANSFER.dump_json(transfer)
        signed = content + self._signature(transfer.owner, content)
        return base64.urlsafe_b64encode(signed).decode().rstrip("=")

    def read(self, token: str) -> tuple[Transfer, Caller]:
        """Return a transfer and its owner. Raises an ApiError if there is none. Waits for the database."""
        try:
            decoded = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
            content, signature = decoded[:-SIGNATURE_BYTES], decoded[-SIGNATURE_BYTES:]
            transfer = TRANSFER.validate_json(content, strict=True)
        except ValueError as error:
            raise ApiError(ErrorKind.NOT_FOUND, "no such job") from error
        is_id = transfer.owner is None or transfer.owner.isalnum()  # databases fail at NUL
        if not is_id or not hmac.compare_digest(signature, self._signature(transfer.owner, content)):
            raise ApiError(ErrorKind.NOT_FOUND, "no such job")
        return transfer, self._accounts.owner(transfer.owner)[0]

    def _signature(self, owner: str | None, content: bytes) -> bytes:
        return hmac.digest(self._accounts.owner(owner)[1], content, hashlib.sha256)


SIGNATURE_BYTES = hashlib.sha256().digest_size


def add_transfers(router: APIRouter, services: Services) -> None:
    """Add the routes of jobs, and of their uploads and downloads, which need no key beside the address."""
    _add_jobs(router, services)
    _add_files(router, services)


def _add_jobs(router: APIRouter, services: Services) -> None:
    access = DeepLOwnerAccess(services.authenticator, MEMORY_ID)
    store, tokens = services.memories.store, TransferTokens(services)
    exports: WeightedCache[tuple[str | None, str, int], Transfer] = WeightedCache(MAX_EXPORTS, lambda _: 1)

    @router.post(
        f"{MEMORIES}/import",
        status_code=ACCEPTED,
        **describe_route(
            "Begin to import a translation memory",
            "The job, which waits for its file",
            memory_schemas.CreatedImport,
            request=request_of(memory_schemas.ImportMemoryIn, [JSON]),
        ),
    )
    async def import_memory(connection: Request) -> Response:
        """Return the address to upload a TMX file to, for an hour."""
        caller, sent = await access.enter_to_change(connection, memory_schemas.ImportMemoryIn)
        source, limit = sent.source_file, services.settings.max_document_bytes
        if source.content_length > limit:
            raise field_error("source_file.content_length", f"must be at most {limit}; split the file")
        name = sent.parameters.display_name or source.file_name
        check_name(name)
        announced = (name, source.content_type, source.content_length)
        transfer = Transfer(IMPORT, caller.key_id, str(uuid.uuid4()), int(time.time()), *announced)
        token = await run_in_thread(lambda: tokens.make(transfer))
        created = {
            "job_id": token,
            "upload_url": _address(connection, services, "uploads", token),
            "expires_at": _time(transfer.end_s),
        }
        return SafeJSONResponse(created, ACCEPTED)

    @router.post(
        f"{MEMORIES}/{{translation_memory_id}}/export",
        status_code=ACCEPTED,
        **describe_one("Export a translation memory", "The job", memory_schemas.CreatedExport),
    )
    async def export_memory(connection: Request) -> Response:
        """Return a job that is complete: its download has the memory as it is then. 200: one of before."""
        caller, _ = await access.enter_to_change(connection, NoFields)
        memory_id = access.id_of(connection)

        def make() -> tuple[str, int]:
            memory = store.get(caller.key_id, memory_id)
            new = Transfer(EXPORT, caller.key_id, memory.id, int(time.time()))
            export = exports.add((new.owner, new.memory_id, new.created_s // REUSED_S), new)
            return tokens.make(export), ACCEPTED if export is new else OK

        job_id, status = await run_in_thread(make)
        return SafeJSONResponse({"job_id": job_id, "parameters": {MEMORY_ID: memory_id}}, status)

    @router.get(
        f"{MEMORIES}/jobs/{{job_id}}",
        **describe_one(
            "Return a job of a translation memory",
            "The job",
            memory_schemas.MemoryJob,
            request=request_of(parameters=[JOB_ID]),
        ),
    )
    async def memory_job(connection: Request) -> Response:
        """Return what became of an import or an export."""
        caller, _ = await access.enter(connection)
        token = connection.path_params["job_id"]

        def find() -> tuple[Transfer, Memory | None]:
            transfer, _ = tokens.read(token)
            if transfer.owner != caller.key_id:
                raise ApiError(ErrorKind.NOT_FOUND, "no such job")
            try:
                return transfer, store.get(transfer.owner, transfer.memory_id)
            except UnknownMemory:
                if transfer.operation == EXPORT:
                    raise
                return transfer, None

        transfer, memory = await run_in_thread(find)
        download_url = _address(connection, services, "downloads", token)
        return SafeJSONResponse(_present_job(token, transfer, memory, download_url))


def _add_files(router: APIRouter, services: Services) -> None:
    """Add the routes of uploads and downloads, which only the addresses in other responses name."""
    store, tokens = services.memories.store, TransferTokens(services)

    async def read_token(connection: Request, operation: str) -> tuple[Transfer, Caller]:
        transfer, caller = await run_in_thread(lambda: tokens.read(connection.path_params["token"]))
        if transfer.operation != operation or transfer.is_over:
            raise ApiError(ErrorKind.NOT_FOUND, "no such job, or it is over")
        return transfer, caller

    @router.put(f"{UPLOADS}{{token}}", include_in_schema=False)
    async def upload_memory(connection: Request) -> Response:
        """Store the pairs of a TMX file in its source language and the first other language."""
        transfer, caller = await read_token(connection, IMPORT)
        with SpooledTemporaryFile(KEPT_BYTES) as file:
            async for piece in connection.stream():
                await run_in_thread(lambda: file.write(piece))  # noqa: B023 -- at once
            size_bytes, content = file.tell(), cast("BinaryIO", file)
            await services.file_work.import_records(
                caller, size_bytes, lambda reader: _store_pairs(store, transfer, content, reader)
            )
        return Response(status_code=CREATED)

    @router.get(f"{MEMORIES}/downloads/{{token}}", include_in_schema=False)
    async def download_memory(connection: Request) -> Response:
        """Return all pairs as TMX."""
        transfer, _ = await read_token(connection, EXPORT)
        memory = await run_in_thread(lambda: store.get(transfer.owner, transfer.memory_id))
        pieces = _tmx(memory, store)

        async def stream() -> AsyncIterator[str]:
            while piece := await run_in_thread(lambda: next(pieces, "")):
                yield piece

        return StreamingResponse(stream(), media_type=TMX)


def _store_pairs(store: MemoryStore, transfer: Transfer, file: BinaryIO, reader: RecordReader) -> None:
    """Store the pairs of an uploaded file as a new memory.

    Raises:
        ApiError: the job's file was uploaded before, or it is no TMX file.
    """
    with suppress(UnknownMemory):
        store.get(transfer.owner, transfer.memory_id)
        raise ApiError(ErrorKind.CONFLICT, "the file of this job is uploaded already")
    try:
        languages = next(iter(reader.read(RecordKind.TMX_LANGUAGES, file, Pair("", ""))), [])
        pair = Pair(*(*languages, "", "")[:2])  # without two languages, the store rejects them
        pairs = TmxPairs(file, pair, reader)
        memory = store.add(transfer.owner, transfer.name, pair, pairs, memory_id=transfer.memory_id)
        store.note_skipped(memory, pairs.num_skipped)
    except FileFormatError as error:
        raise field_error("file", error.problem) from error


def _tmx(memory: Memory, store: MemoryStore) -> Iterator[str]:
    source, target = (quoteattr(code) for code in memory.pair)
    yield (
        '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4"><header creationtool="dragoman" '
        f'segtype="sentence" adminlang="en" datatype="plaintext" srclang={source}/><body>\n'
    )
    for pair in store.read_pairs(memory.id):
        if not UNWRITABLE.search(f"{pair.source}{pair.target}"):
            first, second = _variant(source, pair.source), _variant(target, pair.target)
            yield f"<tu>{first}{second}</tu>\n"
    yield "</body></tmx>\n"


def _variant(quoted_code: str, text: str) -> str:
    return f"<tuv xml:lang={quoted_code}><seg>{escape(text)}</seg></tuv>"


def _address(connection: Request, services: Services, kind: str, token: str) -> str:
    origin = str(connection.base_url).removesuffix("/") + services.settings.root_path
    return f"{origin}{MEMORIES}/{kind}/{token}"


def _time(seconds: float) -> str:
    return format_time(datetime.fromtimestamp(seconds, UTC))


def _present_job(token: str, transfer: Transfer, memory: Memory | None, download_url: str) -> dict[str, Any]:
    updated_at = _time(transfer.created_s)
    if transfer.operation == IMPORT and memory is not None:
        result: dict[str, Any] = {"status": "completed", MEMORY_ID: memory.id}
        result["skipped_segment_count"] = memory.num_skipped
        updated_at = format_time(memory.created_at)
    elif transfer.is_over:
        result = {"status": "expired"}
    elif transfer.operation == EXPORT:
        result = {"status": "completed", "download_url": download_url, "expires_at": _time(transfer.end_s)}
    else:
        waiting = {"required_action": "Waiting for upload"}
        result = {"status": "awaiting_input", "status_metadata": waiting}
    job = {
        "job_id": token,
        "product": "translation_memory",
        "operation": transfer.operation,
        "creation_time": _time(transfer.created_s),
        "updated_time": updated_at,
        "results": [result],
    }
    if transfer.operation == EXPORT:
        return {**job, "parameters": {MEMORY_ID: transfer.memory_id}}
    source = {"content_type": transfer.content_type, "content_length": transfer.content_length}
    return {**job, "parameters": {"display_name": transfer.name}, "source_file": source}
