"""Routes for documents: upload, status, and a download that works once."""

from dataclasses import replace
from math import ceil
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from service.accounts.keys import Caller, Scope
from service.api.deepl import schemas
from service.api.deepl.access import enter
from service.api.deepl.glossary_fields import read_glossary_ids
from service.api.deepl.languages import are_variants
from service.api.deepl.responses import ROOT, DeepLError
from service.api.deepl.translation import read_document_parameters, reject_unsupported_fields
from service.api.readiness import require_ready
from service.api.services import Services
from service.formats.entries import FileFormatError
from service.formats.registry import output_name, requested_output
from service.glossaries.terminology import RequestTerminology, RequestTerms
from service.http import openapi
from service.http.errors import ApiError, ErrorKind, SafeJSONResponse, field_error
from service.http.file_names import attachment
from service.http.streams import FileStream
from service.jobs.documents import AcceptedDocument, DocumentService
from service.jobs.errors import FileRejected, UnknownDocument
from service.jobs.job import Job, JobRequest, JobState
from service.jobs.job_service import JobService
from service.translation.terms import find_terms

EQUAL_LANGUAGES = "Source and target language are equal."
INVALID_FILE = "Invalid file data."
ASSUMED_CHARACTERS_PER_S = 500
"""Rate until a document's own is measured: about that of one core with a small model."""
ALL = f"{ROOT}/document"
ONE = f"{ALL}/{{document_id}}"
STATUSES = {
    JobState.QUEUED: "queued",
    JobState.RUNNING: "translating",
    JobState.DONE: "done",
    JobState.FAILED: "error",
    JobState.CANCELLED: "error",
}


def add_documents(router: APIRouter, services: Services) -> None:
    """Add the routes, or none if documents are disabled.

    A document needs the API key that sent it, and a key of its own as well.
    """
    authenticator, documents = services.authenticator, services.documents
    if documents is None:
        return

    @router.post(
        ALL,
        **openapi.describe_route(
            "Upload a document",
            "The document is queued",
            schemas.UploadedDocument,
            schemas.errors_of(ErrorKind.NOT_FOUND, ErrorKind.QUOTA_EXCEEDED, ErrorKind.NO_ROOM),
            openapi.request_of(schemas.UploadDocumentForm, [openapi.MULTIPART]),
        ),
    )
    async def upload(connection: Request) -> Response:
        """Queue a document for translation; the response does not wait for it."""
        require_ready(services.translation_service.inference)
        caller, fields = await enter(connection, authenticator, Scope.DOCUMENTS)
        reject_unsupported_fields(fields)
        sent = fields.read(schemas.UploadDocumentForm)
        terms = await find_terms(services.glossaries, caller, read_glossary_ids(sent), RequestTerms())
        document = await _submit_document(documents, sent, caller, terms)
        return SafeJSONResponse(
            {"document_id": document.job.id.upper(), "document_key": document.document_key.upper()}
        )

    errors = schemas.errors_of(ErrorKind.NOT_FOUND)
    document_id = openapi.path_parameter("document_id", "From the response to the upload.")
    of_one = openapi.request_of(schemas.DocumentKeyIn, [openapi.JSON, openapi.FORM], [document_id])

    async def find(connection: Request) -> Job:
        caller, fields = await enter(connection, authenticator, Scope.DOCUMENTS)
        key = fields.read(schemas.DocumentKeyIn).document_key
        job = await documents.find(connection.path_params["document_id"].lower(), key.lower())
        if job.key_id != caller.key_id:
            raise UnknownDocument
        return job

    @router.post(
        ONE,
        **openapi.describe_route(
            "Return the state of a document", "The state", schemas.DocumentStatus, errors, of_one
        ),
    )
    async def status(connection: Request) -> Response:
        """Return whether the document is done, failed or still in progress."""
        return SafeJSONResponse(_document_status(await find(connection)))

    @router.post(
        f"{ONE}/result",
        response_class=Response,
        **openapi.describe_route(
            "Download a document",
            responses={**errors, 200: openapi.file_response("The translated document")},
            request=of_one,
        ),
    )
    async def result(connection: Request) -> Response:
        """Return the translated document once, and delete it."""
        job = await find(connection)
        if job.result is None:
            raise _no_result_error(job)
        headers = {
            "Content-Length": str(job.result.size_bytes),
            "Content-Disposition": attachment(job.job_request.result_name),
        }
        return FileStream(await documents.take(job), 200, headers, openapi.OCTETS)


async def _submit_document(
    documents: DocumentService,
    sent: schemas.UploadDocumentForm,
    caller: Caller,
    terms: RequestTerminology | None,
) -> AcceptedDocument:
    job_request = read_document_parameters(sent)
    job_request = replace(job_request, output=_read_output(sent.output_format, job_request.file_name))
    job_request = await documents.job_service.apply_memory(job_request, caller)
    if not _has_work(documents.job_service, job_request, terms):
        return await documents.add_failed(job_request, caller, EQUAL_LANGUAGES)
    try:
        return await documents.add(
            sent.file.file, job_request, caller, problem_if_in_target=EQUAL_LANGUAGES, terms=terms
        )
    except FileRejected as error:
        raise DeepLError(ErrorKind.INVALID_INPUT, INVALID_FILE, detail=str(error)) from error


def _read_output(output_format: str, file_name: str) -> str:
    """Return the suffix of the output. Without `output_format`, clients expect the document's own format."""
    try:
        output = requested_output(file_name, output_format)
        is_converted = output_name(file_name) != file_name
    except FileFormatError as error:
        raise field_error("output_format", error.problem) from error
    if is_converted and not output:
        raise field_error(
            "output_format", "is missing; a document of this format is not written, send `docx` or `txt`"
        )
    return output


def _has_work(job_service: JobService, job_request: JobRequest, terms: RequestTerminology | None) -> bool:
    """Return whether there is anything to translate: not between variants of one language.

    Raises:
        InputError: the pair is not served, or a glossary is for another one.
    """
    if are_variants(job_request.source, job_request.target, job_service.runner.router.routes):
        return False
    job_service.require_pair(job_request, terms)
    return True


def _document_status(job: Job) -> dict[str, Any]:
    presented: dict[str, Any] = {"document_id": job.id.upper(), "status": STATUSES[job.state]}
    if not job.has_ended:
        presented["seconds_remaining"] = _seconds_remaining(job)
    if job.state is JobState.DONE:
        presented["billed_characters"] = job.num_characters
        presented |= {"message": job.remark} if job.remark else {}
    if STATUSES[job.state] == "error":
        presented["error_message"] = presented["message"] = _problem_of(job)
    return presented


def _seconds_remaining(job: Job) -> int:
    """Estimate from the measured rate, or else from the length; jobs ahead in the queue do not count."""
    time_left_s = job.time_left_s
    if time_left_s is None:
        time_left_s = job.num_characters / ASSUMED_CHARACTERS_PER_S
    return max(ceil(time_left_s), 1)


def _problem_of(job: Job) -> str:
    return job.problem or "it was cancelled"


def _no_result_error(job: Job) -> ApiError:
    if job.has_ended:
        return ApiError(ErrorKind.NOT_FOUND, f"no translation: {_problem_of(job)}")
    problem = f"the document is {STATUSES[job.state]}; retry when it is done"
    return ApiError(ErrorKind.NOT_READY, problem)
