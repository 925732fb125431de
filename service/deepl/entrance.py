"""Who comes in, with what."""

from fastapi import Request

from service.accounts.callers import Caller
from service.accounts.errors import ScopeMissing
from service.accounts.keys import Scope
from service.front.door import Door
from service.front.errors import ApiError
from service.front.fields import Fields, read_fields
from service.front.threads import beside

SCHEME = "deepl-auth-key "
KEY_FIELD = "auth_key"


def key_in_header(connection: Request) -> str | None:
    """`Authorization: DeepL-Auth-Key KEY`."""
    authorization = connection.headers.get("authorization", "")
    return authorization[len(SCHEME) :].strip() if authorization.lower().startswith(SCHEME) else None


async def enter(connection: Request, door: Door, scope: Scope) -> tuple[Caller, Fields]:
    """The caller, by a key in the header or in a field, and all fields.

    DeepL's clients always send a key: where none is required, any will do.

    Raises:
        AccountsError: see `Door.admit`.
        ApiError: the fields cannot be read.
    """
    key = key_in_header(connection)
    if key is not None:
        caller = await door.admit(connection, key, scope, takes_any_key=True)
        return caller, await read_fields(connection)
    try:
        fields = await read_fields(connection)
        key = fields.string(KEY_FIELD)
    except ApiError:
        await door.admit(connection, None, scope)  # what cannot be read counts as a request all the same
        raise
    return await door.admit(connection, key, scope, takes_any_key=True), fields


async def enter_with_any_key(connection: Request, door: Door) -> tuple[Caller, Fields]:
    """The same for what every key is for."""
    try:
        return await enter(connection, door, Scope.TRANSLATE)
    except ScopeMissing:
        fields = await read_fields(connection)
        key = key_in_header(connection) or fields.string(KEY_FIELD)
        return await beside(lambda: door.accounts.identify(key)), fields
