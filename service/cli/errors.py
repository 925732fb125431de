"""Errors that a command reports in one line."""

from dragoman import DragomanError
from service.errors import ServiceError
from service.settings.settings import SettingsError
from service.telemetry.tracing_setup import TracingError

EXPECTED_ERRORS = (DragomanError, SettingsError, ServiceError, TracingError, OSError)
"""Errors that a user or an operator can fix."""
