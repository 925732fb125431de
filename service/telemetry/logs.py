"""Log lines as text or JSON, in one format for all, with the request they belong to.

By default no line contains text from a client. Dragoman's own modules take care of that themselves. Other
modules can log only warnings and errors; exceptions lose their messages; lines of asyncio, which may show
results of its tasks, lose their details.
"""

import json
import logging
import traceback
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Literal, TextIO

from service.telemetry.request_record import CURRENT_REQUEST

LogFormat = Literal["text", "json"]
OWN_LOGGERS = ("dragoman", "service", "uvicorn", "uvicorn.error", "uvicorn.access")
"""Loggers that may log at all levels."""
VERBOSE_LOGGER = "asyncio"

logger = logging.getLogger(__name__)

_ExceptionInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


def configure_logs(log_format: LogFormat, level: str, stream: TextIO | None = None) -> None:
    """Send all log lines of the process to one stream; the command that serves calls this once.

    Args:
        log_format: text for people, JSON for programs.
        level: minimum severity, such as `info`.
        stream: the output; None for stderr.
    """
    min_level = logging.getLevelNamesMapping()[level.upper()]
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonFormatter() if log_format == "json" else TextFormatter())
    logging.basicConfig(handlers=[handler], level=max(min_level, logging.WARNING), force=True)
    for name in OWN_LOGGERS:
        named = logging.getLogger(name)
        named.handlers.clear()  # uvicorn may have added some
        named.propagate = True
        named.setLevel(min_level)


class _Lines(logging.Formatter):
    def formatException(self, ei: _ExceptionInfo) -> str:  # noqa: N802 -- the library's name
        return "".join(traceback_without_messages(ei[1])).rstrip("\n")


class JsonFormatter(_Lines):
    """A JSON object per line: time, level, logger, message, the line's own fields, the request's id."""

    def format(self, record: logging.LogRecord) -> str:
        time = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {
            "time": time.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "logger": _logger_of(record),
            "message": _message(record),
            **_fields(record),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class TextFormatter(_Lines):
    """Lines like `INFO: service.access: request method=POST route=/v1/translate status=200 ...`."""

    def format(self, record: logging.LogRecord) -> str:
        fields = "".join(f" {name}={value}" for name, value in _fields(record).items())
        line = f"{record.levelname}: {_logger_of(record)}: {_message(record)}{fields}"
        if record.exc_info and record.exc_info[1] is not None:
            line += "\n" + self.formatException(record.exc_info)
        return line


def _logger_of(record: logging.LogRecord) -> str:
    """Return the logger's name. Uvicorn logs everything under `uvicorn.error`, which looks like a failure."""
    return "uvicorn" if record.name == "uvicorn.error" else record.name


def _message(record: logging.LogRecord) -> str:
    if record.name != VERBOSE_LOGGER:
        return record.getMessage()
    # Only the first line of the template: arguments and further lines show results and errors of tasks.
    return str(record.msg).split("\n", 1)[0]


def _fields(record: logging.LogRecord) -> Mapping[str, Any]:
    """Return a line's `extra={"fields": {...}}`, with the ids of its request and trace."""
    fields: dict[str, Any] = dict(getattr(record, "fields", {}))
    note = CURRENT_REQUEST.get()
    if note is not None:
        fields["request_id"] = note.request_id
        if note.trace_id is not None:
            fields["trace_id"] = note.trace_id
    return fields


def traceback_without_messages(error: BaseException | None) -> Iterator[str]:
    """Yield tracebacks and types of an error and its causes, but no messages: they may quote client text."""
    while error is not None:
        yield from traceback.format_tb(error.__traceback__)
        yield f"{type(error).__module__}.{type(error).__qualname__}\n"
        error = error.__cause__ or error.__context__
        if error is not None:
            yield "caused by\n"


def log_unexpected(error: Exception) -> None:
    """Log the traceback without the exceptions' messages, since these may quote a client's text."""
    logger.error("request failed\n%s", "".join(traceback_without_messages(error)))
