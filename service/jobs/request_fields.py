"""Parsing of a job request from the fields of a form or a URL."""

from collections.abc import Sequence
from unicodedata import category

from dragoman.errors import InputError
from dragoman.routing.router import Router
from service.batch.output_files import OnFailure
from service.http.errors import FieldProblem, invalid_input
from service.http.fields import Fields, field_error
from service.jobs.addresses import parse_webhook_url, reject_private_literal
from service.jobs.errors import AddressRejected
from service.jobs.job import JobRequest
from service.jobs.webhooks import WebhookOptions
from service.translation.source_language import DetectionMode

KNOWN = ("source", "target", "model", "columns", "on_failure", "webhook_url", "file_name")
MAX_NAME_LENGTH = 255
CONTROL = "Cc"
"""Unicode category of characters that file names must not contain. Other invisible characters occur in real
names, such as no-break spaces on macOS.
"""
MAX_COLUMNS = 64
MAX_COLUMN_LENGTH = 200


def read_job_request(fields: Fields, sent_name: str, webhooks: WebhookOptions | None) -> JobRequest:
    """Return the job request, with each field checked against its limits. Language codes are not checked.

    Args:
        fields: all fields but the file.
        sent_name: name of the file if no field overrides it.
        webhooks: webhook options; None if webhooks are disabled.

    Raises:
        ApiError: fields cannot be used; the error names them.
    """
    problems = [
        FieldProblem(field=name[:80], problem=f"is not known; known are file, {', '.join(KNOWN)}")
        for name in fields.names()
        if name not in KNOWN
    ]
    if problems:
        raise invalid_input(problems, total=len(problems))
    return JobRequest(
        file_name=base_name(fields.string("file_name") or sent_name),
        source=_code(fields, "source"),
        target=_code(fields, "target"),
        model=_code(fields, "model"),
        columns=_columns(fields.strings("columns") or ()),
        on_failure=_on_failure(fields.string("on_failure")),
        webhook_url=_webhook_url(fields.string("webhook_url"), webhooks),
    )


def require_pair(job_request: JobRequest, router: Router, detection: DetectionMode) -> None:
    """Reject a request that would fail for any file.

    Raises:
        InputError: no model serves the pair, or detection of the source is requested but not possible.
    """
    if is_detected(job_request, detection):
        router.routes.sources_of(job_request.target, job_request.model)
        if job_request.target is None and len(router.routes.targets()) > 1:
            raise InputError("target", "name the language to translate into")
    else:
        router.route(job_request.source, job_request.target, job_request.model)


def is_detected(job_request: JobRequest, detection: DetectionMode) -> bool:
    """Return whether the source language is detected.

    Raises:
        InputError: it would be, but detection is off on this server.
    """
    return detection.is_wanted(job_request.source)


def strip_folders(name: str) -> str:
    """Return what follows the last path separator of any operating system."""
    return name.replace("\\", "/").rpartition("/")[2]


def base_name(name: str) -> str:
    """Return a file's name without its folders.

    Raises:
        ApiError: the name is empty, is too long or has control characters.
    """
    last = strip_folders(name)
    if not last or len(last) > MAX_NAME_LENGTH or any(category(each) == CONTROL for each in last):
        raise field_error(
            "file",
            f"its name must have 1 to {MAX_NAME_LENGTH} characters and no control characters",
        )
    return last


def _code(fields: Fields, name: str) -> str | None:
    """Return a language code or model name; None for an empty field, as browsers' forms send it."""
    value = fields.string(name) or None
    if value is not None and not value.isprintable():
        raise field_error(name, "has unprintable characters; remove them")
    return value


def _columns(columns: Sequence[str]) -> tuple[str, ...]:
    found = tuple(column for column in columns if column)
    if len(found) > MAX_COLUMNS:
        raise field_error("columns", f"{len(found)} columns exceed the limit of {MAX_COLUMNS}")
    if any(len(column) > MAX_COLUMN_LENGTH or "\0" in column for column in found):
        raise field_error("columns", f"each must have at most {MAX_COLUMN_LENGTH} characters, and no NUL")
    return found


def _on_failure(value: str | None) -> OnFailure:
    try:
        return OnFailure(value or OnFailure.SOURCE)
    except ValueError as error:
        raise field_error("on_failure", f"must be one of {', '.join(OnFailure)}") from error


def _webhook_url(url: str | None, webhooks: WebhookOptions | None) -> str | None:
    if not url:
        return None
    if webhooks is None:
        raise field_error("webhook_url", "webhooks are disabled; the operator must set webhook_secret")
    try:
        parsed = parse_webhook_url(url)
        if not webhooks.allows_private:
            reject_private_literal(parsed)
    except AddressRejected as error:
        raise field_error("webhook_url", error.problem) from error
    return url
