"""Errors that a command reports in one line."""

from dragoman import DragomanError
from service.accounts.errors import AccountsError
from service.formats.entries import FileFormatError
from service.glossaries.errors import GlossaryError
from service.model_errors import ModelManagementError
from service.settings import SettingsError
from service.telemetry.tracing_setup import TracingError

EXPECTED_ERRORS = (
    DragomanError,
    SettingsError,
    AccountsError,
    TracingError,
    FileFormatError,
    GlossaryError,
    ModelManagementError,
    OSError,
)
"""Errors that a user or an operator can fix."""
