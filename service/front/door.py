"""Who may come in: keys, what they are for, and how often."""

from fastapi import Request

from service.accounts.accounts import Accounts
from service.accounts.callers import ANYONE, Caller
from service.accounts.errors import KeyRefused, UnknownKey
from service.accounts.keys import Scope
from service.accounts.rates import Rates
from service.front.threads import beside

BEARER = "bearer "
KEY_HEADER = "x-api-key"


class Door:
    """Every request that does work comes through it first."""

    def __init__(self, accounts: Accounts, rates: Rates) -> None:
        self.accounts = accounts
        self.rates = rates

    async def admit(
        self, connection: Request, presented: str | None, scope: Scope, *, takes_any_key: bool = False
    ) -> Caller:
        """Who makes this request.

        Args:
            connection: whose other end's address counts where there is no key.
            presented: a key, wherever the API has it.
            scope: what for.
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
        caller.require(scope)
        return caller

    async def _identify(self, presented: str | None, *, takes_any_key: bool) -> Caller:
        if not presented:
            return self.accounts.identify(None)
        # It may have to be looked up in a database, for which an event loop must not wait.
        try:
            return await beside(lambda: self.accounts.identify(presented))
        except UnknownKey:
            if self.accounts.requires_key or not takes_any_key:
                raise
            return ANYONE


def key_in_headers(connection: Request) -> str | None:
    """`Authorization: Bearer KEY` or `X-API-Key: KEY`."""
    authorization = connection.headers.get("authorization", "")
    if authorization.lower().startswith(BEARER):
        return authorization[len(BEARER) :].strip()
    return connection.headers.get(KEY_HEADER)
