"""Parsing of a job request from the fields of a form or a URL."""

import json
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import BinaryIO

from fastapi import Request
from pydantic import BaseModel, Field

from dragoman.decoding.options import DecodingOptions
from service.api.native.jobs.responses import JobOptionsIn
from service.api.native.requests import TermIn
from service.formats.entries import FileFormatError
from service.formats.registry import requested_output
from service.formats.review_marks import ReviewMarks
from service.glossaries.json_terms import read_request_terms
from service.glossaries.terminology import MAX_TERMS, RequestTerms
from service.http.errors import ApiError, ErrorKind, field_error
from service.http.fields import MULTIPART, Fields, media_type_of, read_query
from service.http.file_names import base_name
from service.http.forms import FormError, FormParser, PartLimits
from service.http.request_bodies import require_no_encoding
from service.http.validation import listed, validate
from service.jobs.job import JobRequest
from service.translation.memory import MAX_THRESHOLD
from service.translation.options import TranslationOptions
from service.work.threads import run_in_thread


class OwnTerms(BaseModel):
    """The terms that a request itself has."""

    terms: list[TermIn] = Field(max_length=MAX_TERMS, fail_fast=True)


def read_job_request(sent: JobOptionsIn, sent_name: str) -> JobRequest:
    """Return the job request. Language codes are not checked.

    Args:
        sent: the options.
        sent_name: name of the file if no option overrides it.

    Raises:
        ApiError: the file's name or the format of its translation cannot be used.
    """
    file_name = base_name(sent.file_name or sent_name)
    try:
        output = requested_output(file_name, sent.output_format)
    except FileFormatError as error:
        raise field_error("output_format", error.problem) from error
    return JobRequest(
        file_name=file_name,
        source=sent.source or None,
        target=sent.target or None,
        options=TranslationOptions(
            DecodingOptions(formality=sent.formality, return_scores=sent.review is ReviewMarks.CONFIDENCE),
            sent.model or None,
            sent.placeholders,
            sent.on_failure,
            sent.review,
        ),
        columns=tuple(filter(None, listed(sent.columns))),
        join_lines=sent.join_lines,
        glossary_id=sent.glossary or None,
        memory_id=sent.memory or None,
        memory_threshold=sent.memory_threshold / MAX_THRESHOLD,
        output=output,
    )


def read_own_terms(sent: JobOptionsIn) -> RequestTerms:
    """Return the terms in a request's own options.

    Raises:
        ApiError: they are not JSON of that form.
        GlossaryInvalid, InputError: a term cannot be used.
    """
    try:
        items = json.loads(sent.terms or "[]")
    except (ValueError, RecursionError) as error:
        raise field_error("terms", "is not JSON; send an array of objects with `source`") from error
    terms = [term.entry() for term in validate(OwnTerms, {"terms": items}).terms]
    return read_request_terms(terms, list(filter(None, listed(sent.forbidden))))


JSON_LINES = ("application/x-ndjson", "application/jsonl")
FILE_FIELD = "file"
LINES_NAME = "lines.jsonl"
"""Default file name of JSON lines."""
PIECE_BYTES = 2**20
"""Number of bytes of a body that are gathered in memory before they are written."""
MAX_FIELDS = 128
MAX_FIELD_BYTES = 16 * 1024


@dataclass(frozen=True, slots=True)
class ReceivedUpload:
    """A received file, with the other fields of the request."""

    fields: Fields
    """All fields but the file."""
    name: str
    """The client's name of the file: it may have any characters, and must not be used as a path."""
    path: Path
    size_bytes: int


async def receive(request: Request, folder: Path, max_bytes: int) -> ReceivedUpload:
    """Receive the file of a request.

    Args:
        request: request whose body has not been read.
        folder: folder for the file; its owner removes it.
        max_bytes: maximum size of the file.

    Raises:
        ApiError: there is no file or more than one, it is too large, or the form cannot be read.
    """
    require_no_encoding(request)
    kind = media_type_of(request)
    path = folder / secrets.token_hex(16)
    fields = read_query(request)
    if kind == MULTIPART:
        form = await _receive_form(request, path, max_bytes)
        twice = sorted(set(fields) & set(form.strings))
        if twice:
            raise ApiError(ErrorKind.MALFORMED, f"the field {twice[0][:80]!r} occurs twice; send it once")
        if form.file_name is None:
            raise field_error(FILE_FIELD, "is missing; send one in the form, with a file name")
        return ReceivedUpload(
            Fields(form={**fields, **form.strings}), form.file_name, path, path.stat().st_size
        )
    if kind in JSON_LINES:
        with await run_in_thread(lambda: path.open("xb")) as target:
            limited = _SizeLimitedFile(target, max_bytes)
            async for piece in _pieces(request):
                await run_in_thread(partial(limited.write, piece))
        return ReceivedUpload(Fields(form=fields), LINES_NAME, path, path.stat().st_size)
    raise ApiError(
        ErrorKind.UNSUPPORTED_MEDIA_TYPE,
        f"send a form ({MULTIPART}) or JSON lines ({' or '.join(JSON_LINES)}), and name it in the "
        "header Content-Type",
    )


async def _pieces(request: Request) -> AsyncIterator[bytes]:
    """Yield the body in pieces large enough to justify a switch of threads."""
    piece = bytearray()
    async for chunk in request.stream():
        piece += chunk
        if len(piece) >= PIECE_BYTES:
            yield bytes(piece)
            piece.clear()
    if piece:
        yield bytes(piece)


async def _receive_form(request: Request, path: Path, max_bytes: int) -> "_Form":
    with await run_in_thread(lambda: path.open("xb")) as target:
        form = _Form(_SizeLimitedFile(target, max_bytes))
        limits = PartLimits(MAX_FIELDS, MAX_FIELD_BYTES)
        try:
            parser = FormParser(request.headers["content-type"], limits, form.open_file)
            async for piece in _pieces(request):
                await run_in_thread(partial(parser.parse, piece))
            parser.end()
        except FormError as error:
            raise ApiError(ErrorKind.MALFORMED, f"the form is invalid: {error}") from error
    form.strings = parser.strings
    return form


@dataclass(frozen=True, slots=True)
class _SizeLimitedFile:
    """A file with a size limit."""

    target: BinaryIO
    max_bytes: int

    def write(self, piece: bytes) -> None:
        if self.target.tell() + len(piece) > self.max_bytes:
            raise ApiError(ErrorKind.TOO_LARGE, f"the file has more than {self.max_bytes} bytes; split it")
        self.target.write(piece)


@dataclass(slots=True)
class _Form:
    """Fields of a form, and its one file, which goes to disk."""

    target: _SizeLimitedFile
    strings: dict[str, list[str]] = field(default_factory=dict)
    file_name: str | None = None

    def open_file(self, name: str, file_name: str) -> _SizeLimitedFile:
        if name != FILE_FIELD:
            raise field_error(name[:80], f"must not be a file; the file's field is `{FILE_FIELD}`")
        if self.file_name is not None:
            raise field_error(FILE_FIELD, "occurs twice; send one file")
        self.file_name = file_name
        return self.target
