"""Access of the routes of glossaries and translation memories to requests of those who own these."""

from collections.abc import Callable
from os import SEEK_END
from typing import TypeVar

from fastapi import Request

from service.accounts.keys import Caller, Scope
from service.formats.isolation import RecordReader
from service.http import openapi
from service.http.authentication import Authenticator
from service.http.errors import ErrorKind
from service.http.fields import Fields, NoFields, read_fields
from service.http.validation import Model
from service.work.file_work import FileWork
from service.work.threads import run_in_thread

CREATED, NO_CONTENT = 201, 204
READ_ERRORS = (*openapi.KEY_ERRORS, ErrorKind.CLIENT_TIMEOUT, ErrorKind.TOO_LARGE)
WRITE_ERRORS = (*openapi.KEY_ERRORS, *openapi.BODY_ERRORS)

Result = TypeVar("Result")


class OwnerAccess:
    """Authenticates callers and reads their requests."""

    def __init__(self, authenticator: Authenticator, file_work: FileWork, id_name: str) -> None:
        """Create the access.

        Args:
            authenticator: checks keys and the rate limit.
            file_work: runs what reads files.
            id_name: name of the id in paths.
        """
        self._authenticator = authenticator
        self._file_work = file_work
        self._id_name = id_name

    def id_of(self, connection: Request) -> str:
        """Return the id in the path."""
        return str(connection.path_params[self._id_name])

    async def caller(self, connection: Request) -> Caller:
        """Return the caller, whose key has the scope for glossaries and memories."""
        return await self._authenticator.authenticate_header(connection, Scope.GLOSSARIES)

    async def find(self, connection: Request, find: Callable[[str | None], Result]) -> Result:
        """Return what `find` returns for the owner, on a thread."""
        owner = await self.owner(connection)
        return await run_in_thread(lambda: find(owner))

    async def find_one(self, connection: Request, find: Callable[[str | None, str], Result]) -> Result:
        """Return what `find` returns for the owner and the id in the path, on a thread."""
        return await self.find(connection, lambda owner: find(owner, self.id_of(connection)))

    async def delete_one(self, connection: Request, delete: Callable[[str | None, str], Result]) -> Result:
        """Do the same for a deletion; reject fields, which the caller may have meant to restrict it."""
        owner, _ = await self.read(connection, NoFields)
        return await run_in_thread(lambda: delete(owner, self.id_of(connection)))

    async def owner(self, connection: Request) -> str | None:
        """Return the owner of the caller's glossaries and memories."""
        return (await self.caller(connection)).key_id

    async def read(self, connection: Request, model: type[Model]) -> tuple[str | None, Model]:
        """Return the owner and the fields."""
        owner = await self.owner(connection)
        return owner, (await read_fields(connection)).read(model)

    async def import_records(
        self, connection: Request, caller: Caller, work: Callable[[Fields, RecordReader], Result]
    ) -> Result:
        """Run work that reads a file or many records from the fields. If the request is cancelled, it stops.

        Args:
            connection: the request.
            caller: the caller, in whose share the work runs.
            work: reads the fields.
        """
        fields = await read_fields(connection)
        sizes = (upload.file.seek(0, SEEK_END) for sent in fields.uploads.values() for upload in sent)
        return await self._file_work.import_records(caller, sum(sizes), lambda reader: work(fields, reader))
