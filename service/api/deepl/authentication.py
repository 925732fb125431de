"""Authentication by DeepL's API keys."""

from fastapi import Request

from service.accounts.callers import Caller
from service.accounts.keys import Scope
from service.http.authentication import Authenticator, authenticate_with_fields
from service.http.fields import Fields

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
