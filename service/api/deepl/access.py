"""Access to requests: the caller by a key, the fields, and what the caller owns."""

from collections.abc import Callable
from typing import TypeVar

from fastapi import Request
from fastapi.responses import Response

from service.accounts.keys import Caller, Scope
from service.api.deepl.responses import read_id
from service.api.dictionaries import DICTIONARIES
from service.http.authentication import Authenticator, authenticate_with_fields
from service.http.fields import Fields, NoFields
from service.http.validation import Model
from service.work.threads import run_in_thread

CREATED, NO_CONTENT = 201, 204

Result = TypeVar("Result")
SCHEME = "deepl-auth-key "
KEY_FIELD = "auth_key"


def key_in_header(connection: Request) -> str | None:
    """Return the key in `Authorization: DeepL-Auth-Key KEY`."""
    authorization = connection.headers.get("authorization", "")
    return authorization[len(SCHEME) :].strip() if authorization.lower().startswith(SCHEME) else None


async def enter(
    connection: Request, authenticator: Authenticator, scope: Scope | None
) -> tuple[Caller, Fields]:
    """Return the caller, by a key in the header or in a field, and all fields.

    DeepL's clients always send a key. If the server requires none, it accepts any key.

    Args:
        connection: the request.
        authenticator: checks the key and the rate limit.
        scope: scope that the key needs; None if any key will do.

    Raises:
        AccountsError: see `Authenticator.authenticate`.
        ApiError: the fields cannot be read.
    """
    return await authenticate_with_fields(
        connection,
        key_in_header(connection),
        KEY_FIELD,
        lambda key: authenticator.authenticate(connection, key, scope, accepts_any_key=True),
    )


class DeepLOwnerAccess:
    """Authenticates callers, and runs on threads what reads or changes what they own."""

    def __init__(self, authenticator: Authenticator, id_name: str) -> None:
        """Create the access.

        Args:
            authenticator: checks keys and the rate limit.
            id_name: name of the id in paths.
        """
        self._authenticator = authenticator
        self._id_name = id_name

    async def enter(
        self, connection: Request, scope: Scope | None = Scope.GLOSSARIES
    ) -> tuple[Caller, Fields]:
        """Return the caller and the fields."""
        return await enter(connection, self._authenticator, scope)

    async def enter_to_change(self, connection: Request, model: type[Model]) -> tuple[Caller, Model]:
        """Return the caller and the fields, as a model that knows all: others may ask for another change."""
        caller, fields = await self.enter(connection)
        return caller, fields.with_objects(DICTIONARIES).without(KEY_FIELD).read(model)

    async def find(self, connection: Request, find: Callable[[str | None], Result]) -> Result:
        """Return what `find` returns for the owner."""
        caller, _ = await self.enter(connection)
        return await run_in_thread(lambda: find(caller.key_id))

    async def find_one(self, connection: Request, find: Callable[[str | None, str], Result]) -> Result:
        """Return what `find` returns for the owner and the id in the path."""
        return await self.find(connection, lambda owner: find(owner, self.id_of(connection)))

    async def delete_one(self, connection: Request, delete: Callable[[str | None, str], None]) -> Response:
        """Delete what the path names. No field restricts this."""
        caller, _ = await self.enter_to_change(connection, NoFields)
        await run_in_thread(lambda: delete(caller.key_id, self.id_of(connection)))
        return Response(status_code=NO_CONTENT)

    def id_of(self, connection: Request) -> str:
        """Return the id in the path. Raises an ApiError if it is malformed."""
        return read_id(connection.path_params[self._id_name], self._id_name)
