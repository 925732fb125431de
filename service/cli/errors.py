"""Errors that a command reports in one line."""

from dragoman import DragomanError
from service.accounts.errors import AccountsError
from service.formats.entries import FileFormatError
from service.model_index import ModelIndexError
from service.settings import SettingsError
from service.telemetry.tracing import TracingError

EXPECTED_ERRORS = (
    DragomanError,
    SettingsError,
    AccountsError,
    TracingError,
    FileFormatError,
    ModelIndexError,
    OSError,
)
"""Errors that a user or an operator can fix."""
