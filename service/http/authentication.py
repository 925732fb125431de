"""Who may come in: keys, what they are for, and how often."""

from collections.abc import Awaitable, Callable

from fastapi import Request

from service.accounts.accounts import Accounts
from service.accounts.callers import ANYONE, Caller
from service.accounts.errors import KeyRefused, MissingKey, UnknownKey
from service.accounts.keys import Scope
from service.accounts.rates import Rates
from service.http.errors import ApiError
from service.http.fields import Fields, field_error, read_fields, read_query
from service.http.threads import run_in_thread

BEARER = "bearer "
KEY_HEADER = "x-api-key"


class Authenticator:
    """Every request that does work comes through it first."""

    def __init__(self, accounts: Accounts, rates: Rates) -> None:
        self.accounts = accounts
        self.rates = rates

    async def authenticate(
        self, connection: Request, presented: str | None, scope: Scope | None, *, takes_any_key: bool = False
    ) -> Caller:
        """Who makes this request.

        Args:
            connection: whose other end's address counts where there is no key.
            presented: a key, wherever the API has it.
            scope: what for; None for what every key is for.
            takes_any_key: whether, where no key is required, one that nobody knows counts as none.

        Raises:
            AccountsError: there must be a key, this is none, it is not for this, or it comes too often.
        """
        address = "" if connection.client is None else connection.client.host
        try:
            caller = await self._identify(presented, takes_any_key=takes_any_key)
        except KeyRefused:
            await self.rates.admit(ANYONE, address)  # who guesses keys is counted as well
            raise
        await self.rates.admit(caller, address)
        if scope is not None:
            caller.require(scope)
        return caller

    async def authenticate_key(self, connection: Request, scope: Scope | None) -> Caller:
        """The same for what wants a key whether or not the server does; it stands in a header."""
        presented = key_in_headers(connection)
        if not presented:
            raise MissingKey
        return await self.authenticate(connection, presented, scope)

    async def _identify(self, presented: str | None, *, takes_any_key: bool) -> Caller:
        if not presented:
            return self.accounts.identify(None)
        # It may have to be looked up in a database, for which an event loop must not wait.
        try:
            return await run_in_thread(lambda: self.accounts.identify(presented))
        except UnknownKey:
            if self.accounts.requires_key or not takes_any_key:
                raise
            return ANYONE


async def authenticate_with_fields(
    connection: Request,
    key: str | None,
    key_field: str,
    authenticate: Callable[[str | None], Awaitable[Caller]],
) -> tuple[Caller, Fields]:
    """Who makes a request whose key may stand among its fields, and these.

    The body is read once a key in the headers or in the URL is known to be one. A key in the body is known
    when the body is; what cannot be read counts as a request all the same.

    Args:
        connection: the request.
        key: the one in its headers.
        key_field: the field that may have it.
        authenticate: of a `Authenticator`, as the API words its errors.

    Raises:
        ApiError: the fields cannot be read, or have another key.
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
            raise field_error(key_field, "is not the key that the request's head has; send one of them")
    return caller, fields


def key_in_headers(connection: Request) -> str | None:
    """`Authorization: Bearer KEY` or `X-API-Key: KEY`."""
    authorization = connection.headers.get("authorization", "")
    if authorization.lower().startswith(BEARER):
        return authorization[len(BEARER) :].strip()
    return connection.headers.get(KEY_HEADER)
