"""The error of databases whose schema this release cannot use."""


class SchemaError(Exception):
    """The schema cannot be upgraded. The message says why and what to do, without the database's name."""
