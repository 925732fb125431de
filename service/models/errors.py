"""Errors of downloading models; each message says what to do."""

from service.errors import ServiceError


class ModelIndexError(ServiceError):
    """An index, or a file that it names, cannot be used."""

    MESSAGE = "{problem}"
    problem: str


class UnknownModel(ServiceError):  # noqa: N818 -- as above
    """There is no such model in the index, or none in the models folder."""

    MESSAGE = "{problem}"
    problem: str


class ModelExists(ServiceError):  # noqa: N818 -- as above
    """A model with this name exists."""

    MESSAGE = "{name} exists; remove its folder, or use --replace"
    name: str


class ModelBusy(ServiceError):  # noqa: N818 -- as above
    """The model is being downloaded, here or by another process."""

    MESSAGE = "{name} is being downloaded; try again later"
    name: str


class NotEnoughModelSpace(ServiceError):  # noqa: N818 -- as above
    """The models folder's disk has too little free space."""

    MESSAGE = (
        "{name} needs {needed_bytes} more bytes of disk space, but only {free_bytes} are free; "
        "free some space, or choose another models_dir"
    )
    name: str
    needed_bytes: int
    free_bytes: int


class ModelsNotWritable(ServiceError):  # noqa: N818 -- as above
    """The models folder cannot be written."""

    MESSAGE = "cannot write to the models folder: {problem}"
    problem: str
