"""The error of downloading models; its message says what to do."""

from service.errors import ServiceError


class ModelError(ServiceError):
    """A model is not there, cannot be downloaded or cannot be written."""

    MESSAGE = "{problem}"
    problem: str
