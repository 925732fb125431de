"""Routes that translate files and return them."""

from collections.abc import Mapping
from urllib.parse import quote

import anyio
from fastapi import APIRouter, Request
from starlette.responses import Response

from service.accounts.keys import Caller, Scope
from service.api.catalogue import CatalogueCache
from service.api.libretranslate import errors
from service.api.libretranslate.requests import LanguagePair, find_pair
from service.api.libretranslate.responses import WITH_ANY_KEY, TranslatedFile, errors_of
from service.api.libretranslate.schemas import TranslateFileForm
from service.api.readiness import require_ready
from service.api.services import Services
from service.formats.registry import installed_suffixes, is_known
from service.http.errors import ApiError, ErrorKind, SafeJSONResponse
from service.http.file_names import attachment, base_name, strip_folders
from service.http.forms import Upload
from service.http.openapi import MULTIPART, OCTETS, describe_route, file_response, path_parameter, request_of
from service.http.streams import FileStream
from service.jobs.documents import AcceptedDocument, DocumentService
from service.jobs.errors import FileRejected
from service.jobs.job import ID_LENGTH, SERVERS_FAULTS, Job, JobRequest, JobState

MAX_NAME_LENGTH = 150
"""Maximum characters of a file name, from its end, in URLs and downloads; quoting may make 12 of each."""


def add_file_routes(
    routes: APIRouter, services: Services, catalogues: CatalogueCache, headers: Mapping[str, str]
) -> None:
    """Add the routes that translate files; arguments are those of `add_text_routes`."""
    authenticator, documents = services.authenticator, services.documents

    @routes.post(
        errors.TRANSLATE_FILE,
        dependencies=WITH_ANY_KEY,
        **describe_route(
            "Translate a file",
            "The URL of the translated file",
            TranslatedFile,
            errors_of(),
            request_of(TranslateFileForm, [MULTIPART]),
        ),
    )
    async def translate_file(request: Request) -> Response:
        """Translate a file of a kind that `/frontend/settings` lists. The response waits until it is done."""
        if documents is None:
            raise errors.disabled_error("Files translation are disabled")
        require_ready(services.translation_service.inference)
        caller, fields = await errors.enter(authenticator, request, Scope.DOCUMENTS)
        sent = fields.read(TranslateFileForm)
        upload = _check_upload(sent.file)
        pair = find_pair(sent.source, sent.target, await catalogues.current())
        document = await _submit_file(documents, upload, pair, caller)
        job = await _await_translation(documents, document.job)
        name = quote(document.job.job_request.result_name, safe="")
        origin = str(request.base_url).removesuffix("/") + services.settings.root_path
        url = f"{origin}{errors.DOWNLOADS}/{document.job.id}{document.document_key}.{name}"
        remark = {"message": job.remark} if job.remark else {}
        return SafeJSONResponse({"translatedFileUrl": url, **remark}, headers=headers)

    @routes.get(
        f"{errors.DOWNLOADS}/{{name:path}}",
        response_class=Response,
        **describe_route(
            "Download a translated file",
            responses={
                200: file_response("The file"),
                **errors_of((ErrorKind.FORBIDDEN, ErrorKind.NOT_FOUND, ErrorKind.INTERNAL)),
            },
            request={"parameters": [path_parameter("name", "The last part of `translatedFileUrl`.")]},
        ),
    )
    async def download_file(request: Request) -> Response:
        """Return a translated file to anyone who has its URL, until it is deleted."""
        if documents is None:
            raise errors.disabled_error("Files translation are disabled")
        address = str(request.path_params["name"]).partition(".")[0]
        job = await documents.find(address[:ID_LENGTH], address[ID_LENGTH:])
        pieces = await documents.read(job)
        # A translated web page must not run with this server's origin.
        file_headers = {
            "Content-Disposition": attachment(job.job_request.result_name),
            "X-Content-Type-Options": "nosniff",
        }
        return FileStream(pieces, 200, {**headers, **file_headers}, OCTETS)


async def _submit_file(
    documents: DocumentService, upload: Upload, pair: LanguagePair, caller: Caller
) -> AcceptedDocument:
    job_request = JobRequest(base_name(_display_name(upload.name)), pair.source, pair.target)
    if pair.is_copied:
        return await documents.add_unchanged(upload.file, job_request, caller)
    documents.job_service.require_pair(job_request)
    try:
        return await documents.add(upload.file, job_request, caller)
    except FileRejected as error:
        raise errors.rejected(str(error)) from error


async def _await_translation(documents: DocumentService, job: Job) -> Job:
    """Return a job once it is done; discard the job if it fails or the request is cancelled."""
    try:
        ended_job = await documents.ended(job)
    except BaseException:
        with anyio.CancelScope(shield=True):
            await documents.give_up(job)
        raise
    if ended_job.state is JobState.DONE:
        return ended_job
    await documents.give_up(ended_job)
    problem = ended_job.problem or "it was cancelled"
    raise ApiError(ErrorKind.INTERNAL, problem) if problem in SERVERS_FAULTS else errors.rejected(problem)


def _check_upload(upload: Upload) -> Upload:
    if not upload.name:
        raise errors.rejected("empty file")
    if not is_known(upload.name):
        known = ", ".join(installed_suffixes())
        raise errors.rejected(f"file format not supported: {_display_name(upload.name)!a}; known are {known}")
    return upload


def _display_name(file_name: str) -> str:
    """Return the last characters of a file's own name, without folders."""
    return strip_folders(file_name)[-MAX_NAME_LENGTH:]
