"""Limits of files as the settings have them."""

from service.formats.limits import FileLimits, are_enforceable
from service.settings import Settings, SettingsError


def client_file_limits(settings: Settings) -> FileLimits | None:
    """Return the limits of files that clients send; None where they are read in the server's own process.

    Raises:
        SettingsError: this platform cannot enforce them.
    """
    if settings.file_isolation == "off":
        return None
    if not are_enforceable():
        raise SettingsError(
            "file_isolation: this platform cannot limit what reading a file costs (Python has no module "
            "`resource` here); set jobs to off, or file_isolation to off where every client is trusted"
        )
    return file_limits(settings)


def file_limits(settings: Settings) -> FileLimits:
    """Return the limits whether or not files of clients are read within them.

    Raises:
        SettingsError: this platform cannot enforce them.
    """
    if not are_enforceable():
        raise SettingsError(
            "--untrusted: this platform cannot limit what reading a file costs (Python has no module "
            "`resource` here); leave it out for files that you trust"
        )
    return FileLimits(settings.file_memory_bytes, settings.file_cpu_s, settings.file_timeout_s)
