"""Access of the routes of glossaries and translation memories to requests of those who own these."""

from collections.abc import Callable
from typing import TypeVar

from fastapi import Request

from service.accounts.keys import Scope
from service.http import openapi
from service.http.authentication import Authenticator, key_in_headers
from service.http.fields import Fields, read_fields
from service.http.threads import run_in_thread

CREATED, NO_CONTENT = 201, 204
WRITE_ERRORS = (*openapi.KEY_ERRORS, *openapi.BODY_ERRORS)

Result = TypeVar("Result")


class OwnerAccess:
    """Authenticates callers and reads their requests."""

    def __init__(self, authenticator: Authenticator) -> None:
        self._authenticator = authenticator

    async def owner(self, connection: Request) -> str | None:
        """Return the owner of the caller's glossaries and memories."""
        caller = await self._authenticator.authenticate(
            connection, key_in_headers(connection), Scope.GLOSSARIES
        )
        return caller.key_id

    async def read(self, connection: Request, read: Callable[[Fields], Result]) -> tuple[str | None, Result]:
        """Return the owner and what `read` finds in the fields, on a thread."""
        owner = await self.owner(connection)
        fields = await read_fields(connection)
        return owner, await run_in_thread(lambda: read(fields))
