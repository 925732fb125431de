"""Messages of errors, made from a template and the error's fields."""

from typing import ClassVar


class MessageTemplate:
    """Gives an error class a message; to be named before the exception that the class derives from."""

    MESSAGE: ClassVar[str] = ""
    """Text for people, with the names of fields in braces."""

    def __str__(self) -> str:
        return self.MESSAGE.format_map(vars(self))
