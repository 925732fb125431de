"""Limits of file processing, from the settings."""

from service.formats.limits import FileLimits, can_limit_processes
from service.settings import Settings, SettingsError


def client_file_limits(settings: Settings) -> FileLimits | None:
    """Return the limits for clients' files; None if the server's own process reads them.

    Raises:
        SettingsError: this platform cannot enforce the limits.
    """
    if settings.file_isolation == "off":
        return None
    if not can_limit_processes():
        raise SettingsError(
            "file_isolation: this platform cannot limit memory and CPU time of reading a file (no Python "
            "module `resource`); set jobs to off, or file_isolation to off if all clients are trusted"
        )
    return file_limits(settings)


def file_limits(settings: Settings) -> FileLimits:
    """Return the limits even if they are disabled for clients' files.

    Raises:
        SettingsError: this platform cannot enforce the limits.
    """
    if not can_limit_processes():
        raise SettingsError(
            "--untrusted: this platform cannot limit memory and CPU time of reading a file (no Python module "
            "`resource`); omit the option for files that you trust"
        )
    return FileLimits(settings.file_memory_bytes, settings.file_cpu_s, settings.file_timeout_s)
