"""Authentication of requests: API keys, their scopes, and rate limits."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from fastapi import Request

from service.accounts.accounts import Accounts
from service.accounts.errors import KeyRejected, MissingKey, UnknownKey
from service.accounts.keys import ANONYMOUS, Caller, Scope
from service.accounts.rates import RateLimiter, identity_of
from service.http.errors import ApiError, field_error
from service.http.fields import Fields, read_fields, read_query
from service.http.uploads import UPLOAD, TrackedUpload
from service.work.shares import current_client
from service.work.threads import run_in_thread

BEARER = "bearer "
KEY_HEADER = "x-api-key"


@dataclass(slots=True, eq=False)
class Authenticator:
    """Checks the key and the rate limit of every request that causes work."""

    accounts: Accounts
    rates: RateLimiter

    async def authenticate(
        self,
        connection: Request,
        presented: str | None,
        scope: Scope | None,
        *,
        accepts_any_key: bool = False,
    ) -> Caller:
        """Return the caller of a request, and count the request.

        Args:
            connection: the request; without a key, its client's address is counted.
            presented: the key, wherever the API expects it.
            scope: scope that the key needs; None if any key will do.
            accepts_any_key: whether to treat an unknown key as none if no key is required.

        Raises:
            AccountsError: the key is missing, invalid or without the scope, or the rate limit is exceeded.
            ApiError: the caller has too many uploads in progress.
        """
        address = "" if connection.client is None else connection.client.host
        try:
            caller = await self._identify(presented, accepts_any_key=accepts_any_key)
        except KeyRejected:
            await self.rates.admit(ANONYMOUS, address)  # guesses of keys count as well
            raise
        await self.rates.admit(caller, address)
        if scope is not None:
            caller.require(scope)
        caller = replace(caller, client=identity_of(caller, address))
        current_client.set(caller.client)
        upload: TrackedUpload | None = connection.scope.get(UPLOAD)
        if upload is not None:
            upload.authenticate(caller)
        return caller

    async def authenticate_header(self, connection: Request, scope: Scope | None) -> Caller:
        """Do the same for a key in a header."""
        return await self.authenticate(connection, key_in_headers(connection), scope)

    async def authenticate_key(self, connection: Request, scope: Scope | None) -> Caller:
        """Do the same for a route that always requires a key, in a header."""
        if not key_in_headers(connection):
            raise MissingKey
        return await self.authenticate_header(connection, scope)

    async def _identify(self, presented: str | None, *, accepts_any_key: bool) -> Caller:
        if not presented:
            return self.accounts.identify(None)
        try:
            if self.accounts.has_cached(presented):  # a thread would wait for the interpreter twice
                return self.accounts.identify(presented)
            return await run_in_thread(lambda: self.accounts.identify(presented))
        except UnknownKey:
            if self.accounts.requires_key or not accepts_any_key:
                raise
            return ANONYMOUS


async def authenticate_with_fields(
    connection: Request,
    key: str | None,
    key_field: str,
    authenticate: Callable[[str | None], Awaitable[Caller]],
) -> tuple[Caller, Fields]:
    """Return the caller of a request whose key may be in a field, and the request's fields.

    A key in the headers or in the URL is checked before the body is read; a key in the body, after that. A
    request whose fields cannot be read counts as well.

    Args:
        connection: the request.
        key: the key in its headers, if any.
        key_field: name of the field that may contain the key.
        authenticate: calls an `Authenticator`, and words its errors for the API.

    Raises:
        ApiError: the fields cannot be read, or contain another key.
    """
    try:
        key = key or Fields(form=read_query(connection)).string(key_field)
        fields = None if key else await read_fields(connection)
        found = fields.string(key_field) if fields else key
    except ApiError:
        await authenticate(None)
        raise
    caller = await authenticate(found)
    if fields is None:
        fields = await read_fields(connection)
        if fields.string(key_field) not in {None, "", key}:
            raise field_error(key_field, "differs from the key in the request's headers; send one of them")
    return caller, fields


def key_in_headers(connection: Request) -> str | None:
    """Return the key in `Authorization: Bearer KEY` or `X-API-Key: KEY`."""
    authorization = connection.headers.get("authorization", "")
    if authorization.lower().startswith(BEARER):
        return authorization[len(BEARER) :].strip()
    return connection.headers.get(KEY_HEADER)
