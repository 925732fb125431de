"""What a sender wants of a file, from fields of a form or of a URL."""

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
"""Unicode's category of what must not be in a name. Other characters that do not show are in names of
people's own files, as spaces that do not break are in those of macOS.
"""
MAX_COLUMNS = 64
MAX_COLUMN_LENGTH = 200


def read_job_request(fields: Fields, sent_name: str, webhooks: WebhookOptions | None) -> JobRequest:
    """Wishes, each within its limits; languages are as they were sent.

    Args:
        fields: all but the file.
        sent_name: what the file is called where no field says otherwise.
        webhooks: None where none are sent.

    Raises:
        ApiError: naming the fields that cannot be used.
    """
    problems = [
        FieldProblem(field=name[:80], problem=f"is not known; known are file, {', '.join(KNOWN)}")
        for name in fields.names()
        if name not in KNOWN
    ]
    if problems:
        raise invalid_input(problems, total=len(problems))
    return JobRequest(
        file_name=own_name(fields.string("file_name") or sent_name),
        source=_code(fields, "source"),
        target=_code(fields, "target"),
        model=_code(fields, "model"),
        columns=_columns(fields.strings("columns") or ()),
        on_failure=_on_failure(fields.string("on_failure")),
        webhook_url=_webhook_url(fields.string("webhook_url"), webhooks),
    )


def require_pair(job_request: JobRequest, router: Router, detection: DetectionMode) -> None:
    """Raise what would make the work fail whatever the file is.

    Raises:
        InputError: nothing serves the pair, or the source is to be detected and cannot be.
    """
    if is_detected(job_request, detection):
        router.routes.sources_of(job_request.target, job_request.model)
        if job_request.target is None and len(router.routes.targets()) > 1:
            raise InputError("target", "say which language to translate into")
    else:
        router.route(job_request.source, job_request.target, job_request.model)


def is_detected(job_request: JobRequest, detection: DetectionMode) -> bool:
    """Whether the source is found in the file.

    Raises:
        InputError: it is to be, and this server does not.
    """
    return detection.is_wanted(job_request.source)


def without_folders(name: str) -> str:
    """What stands after the last separator of any system."""
    return name.replace("\\", "/").rpartition("/")[2]


def own_name(name: str) -> str:
    """A file's name without folders that it may have.

    Raises:
        ApiError: it is none, is too long, or has characters that control something.
    """
    last = without_folders(name)
    if not last or len(last) > MAX_NAME_LENGTH or any(category(each) == CONTROL for each in last):
        raise field_error(
            "file",
            f"its name must have 1 to {MAX_NAME_LENGTH} characters, without control characters; it tells the "
            "format",
        )
    return last


def _code(fields: Fields, name: str) -> str | None:
    """None for one that is left empty, as forms of browsers send it."""
    value = fields.string(name) or None
    if value is not None and not value.isprintable():
        raise field_error(name, "has characters that cannot be printed")
    return value


def _columns(columns: Sequence[str]) -> tuple[str, ...]:
    found = tuple(column for column in columns if column)
    if len(found) > MAX_COLUMNS:
        raise field_error("columns", f"there are {len(found)}, more than {MAX_COLUMNS}")
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
        raise field_error("webhook_url", "none are sent here; the operator must set webhook_secret")
    try:
        parsed = parse_webhook_url(url)
        if not webhooks.allows_private:
            reject_private_literal(parsed)
    except AddressRejected as error:
        raise field_error("webhook_url", error.problem) from error
    return url
