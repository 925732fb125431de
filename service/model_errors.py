"""Errors of downloading and removing models; each message says what to do."""


class ModelManagementError(Exception):
    """A model cannot be downloaded or removed."""


class ModelIndexError(ModelManagementError):
    """An index, or a file that it names, cannot be used."""


class NoModelIndex(ModelManagementError):  # noqa: N818 -- clear without the suffix
    """The settings name no index."""

    def __init__(self) -> None:
        super().__init__("no index of models is configured; the operator sets model_index")


class UnknownModel(ModelManagementError):  # noqa: N818 -- clear without the suffix
    """There is no such model in the index, or none in the models folder."""


class ModelExists(ModelManagementError):  # noqa: N818 -- clear without the suffix
    """A model with this name exists."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} exists; remove it, or use --replace (in the HTTP API: `replace`)")


class ModelBusy(ModelManagementError):  # noqa: N818 -- clear without the suffix
    """The model is being downloaded or removed, here or by another process."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is being downloaded or removed; try again later")


class ModelIsBundled(ModelManagementError):  # noqa: N818 -- clear without the suffix
    """The model belongs to the installed package."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is bundled and cannot be removed; the setting model chooses the models")


class TooManyDownloads(ModelManagementError):  # noqa: N818 -- clear without the suffix
    """As many downloads as possible are running."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"{limit} downloads are running, as many as possible; try again later")


class NotEnoughModelSpace(ModelManagementError):  # noqa: N818 -- clear without the suffix
    """The models folder's disk has too little free space."""

    def __init__(self, name: str, needed_bytes: int, free_bytes: int) -> None:
        super().__init__(
            f"{name} needs {needed_bytes} more bytes of disk space, but only {free_bytes} are free; "
            "free some space, or choose another models_dir"
        )


class ModelsNotWritable(ModelManagementError):  # noqa: N818 -- clear without the suffix
    """The models folder cannot be written."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"cannot write to the models folder: {error.strerror or error}")
