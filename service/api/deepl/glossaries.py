"""Routes for glossaries: of one language pair (version 2), and of several (version 3)."""

from functools import partial

from fastapi import APIRouter, Request
from fastapi.responses import Response

from dragoman.types import Pair
from service.api.deepl import schemas
from service.api.deepl.access import CREATED, NO_CONTENT, DeepLOwnerAccess
from service.api.deepl.glossary_fields import (
    DictionaryReader,
    present_entries,
    present_info,
    present_v2,
    present_v3,
    read_pair,
    to_tsv,
)
from service.api.deepl.languages import direct_pairs
from service.api.deepl.responses import NEXT_ROOT, ROOT
from service.api.dictionaries import DICTIONARIES
from service.api.languages import RoutesCache
from service.api.services import Services
from service.glossaries.errors import UnknownGlossary
from service.glossaries.store import Glossary
from service.http import openapi
from service.http.errors import ApiError, ErrorKind, SafeJSONResponse, field_error
from service.http.fields import media_type_of
from service.work.threads import run_in_thread

ALL = f"{ROOT}/glossaries"
ONE = f"{ALL}/{{glossary_id}}"
ALL_MULTILINGUAL = f"{NEXT_ROOT}/glossaries"
ONE_MULTILINGUAL = f"{ALL_MULTILINGUAL}/{{glossary_id}}"
TSV = "text/tab-separated-values"
ACCEPTED_MEDIA_TYPES = frozenset({TSV, "text/*", "*/*"})
ERRORS_OF_ONE = schemas.errors_of(ErrorKind.NOT_FOUND)
ID = openapi.path_parameter("glossary_id", "From the response to its creation.")
describe_all = partial(openapi.describe_route, request=openapi.request_of())
describe_one = partial(
    openapi.describe_route, responses=ERRORS_OF_ONE, request=openapi.request_of(parameters=[ID])
)


class GlossaryAccess(DeepLOwnerAccess):
    """Access to glossaries, and to the pairs that they may have."""

    def __init__(self, services: Services) -> None:
        super().__init__(services.authenticator, "glossary_id")
        self.glossaries = services.glossaries
        self.store = services.glossaries.store
        self.pairs = RoutesCache(services.translation_service.inference, direct_pairs)

    async def reader(self) -> DictionaryReader:
        """Return a reader of entries for the pairs that are served now."""
        return DictionaryReader(await self.pairs.current(), self.store.limits.max_entries)


def add_glossaries(router: APIRouter, access: GlossaryAccess) -> None:
    """Add the routes of version 2, for glossaries of one pair. Those of several pairs are unknown here."""

    @router.get(
        f"{ROOT}/glossary-language-pairs",
        **describe_all("List the language pairs of glossaries", "The pairs", schemas.GlossaryPairs),
    )
    async def language_pairs(connection: Request) -> Response:
        """Return all pairs that a single model translates."""
        await access.enter(connection, scope=None)
        served = [{"source_lang": pair[0], "target_lang": pair[1]} for pair in await access.pairs.current()]
        return SafeJSONResponse({"supported_languages": served})

    @router.post(
        ALL,
        status_code=CREATED,
        **openapi.describe_route(
            "Store a glossary",
            "The stored glossary",
            schemas.DeepLGlossary,
            request=openapi.request_of(schemas.CreateGlossaryIn, [openapi.JSON, openapi.FORM]),
        ),
    )
    async def create(connection: Request) -> Response:
        """Store terms of one language with their translations into another."""
        caller, sent = await access.enter_to_change(connection, schemas.CreateGlossaryIn)
        reader = await access.reader()

        def store() -> Glossary:
            return access.store.add(caller.key_id, sent.name, [reader.read(sent)], access.glossaries.now())

        return SafeJSONResponse(present_v2(await run_in_thread(store)), CREATED)

    @router.get(ALL, **describe_all("List all glossaries", "The key's glossaries", schemas.Glossaries))
    async def all_glossaries(connection: Request) -> Response:
        """List the key's glossaries of one language pair, the oldest first."""
        found = await access.find(connection, access.store.list)
        return SafeJSONResponse({"glossaries": [present_v2(each) for each in found if _has_one_pair(each)]})

    _add_routes_of_one(router, access)


def _add_routes_of_one(router: APIRouter, access: GlossaryAccess) -> None:
    def get(owner: str | None, wanted: str) -> Glossary:
        glossary = access.store.get(owner, wanted)
        if not _has_one_pair(glossary):
            raise UnknownGlossary(wanted)
        return glossary

    @router.get(ONE, **describe_one("Return one glossary", "The glossary", schemas.DeepLGlossary))
    async def one(connection: Request) -> Response:
        """Return everything about a glossary but its entries."""
        return SafeJSONResponse(present_v2(await access.find_one(connection, get)))

    @router.get(
        f"{ONE}/entries",
        response_class=Response,
        **describe_one(
            "Return a glossary's entries",
            responses={**ERRORS_OF_ONE, 200: openapi.file_response("The entries", TSV)},
        ),
    )
    async def entries(connection: Request) -> Response:
        """Return lines of source term, tab and target term."""
        _require_tsv(connection)

        def read(owner: str | None, wanted: str) -> str:
            [dictionary] = get(owner, wanted).dictionaries
            return to_tsv(access.store.read_dictionary(owner, wanted, dictionary.pair))

        return Response(await access.find_one(connection, read), media_type=TSV)

    @router.delete(
        ONE, status_code=NO_CONTENT, **describe_one("Delete a glossary", "The glossary is deleted")
    )
    async def delete(connection: Request) -> Response:
        """Delete a glossary permanently."""
        return await access.delete_one(
            connection, lambda owner, wanted: access.store.delete(owner, get(owner, wanted).id)
        )


def add_multilingual_glossaries(router: APIRouter, access: GlossaryAccess) -> None:
    """Add the routes of version 3, for glossaries of any number of pairs."""

    @router.post(
        ALL_MULTILINGUAL,
        status_code=CREATED,
        **openapi.describe_route(
            "Store a multilingual glossary",
            "The stored glossary",
            schemas.MultilingualGlossary,
            request=openapi.json_or_form(
                schemas.CreateMultilingualGlossaryIn,
                schemas.CreateMultilingualGlossaryForm,
                form_type=openapi.FORM,
            ),
        ),
    )
    async def create_multilingual(connection: Request) -> Response:
        """Store terms of any number of language pairs."""
        caller, sent = await access.enter_to_change(connection, schemas.CreateMultilingualGlossaryIn)
        if DICTIONARIES not in sent.model_fields_set and media_type_of(connection) == openapi.JSON:
            raise field_error(DICTIONARIES, "is missing; send an array, which may be empty")
        reader = await access.reader()

        def store() -> Glossary:
            dictionaries = reader.read_all(sent.dictionaries)
            return access.store.add(caller.key_id, sent.name, dictionaries, access.glossaries.now())

        return SafeJSONResponse(present_v3(await run_in_thread(store)), CREATED)

    @router.get(
        ALL_MULTILINGUAL,
        **describe_all(
            "List all glossaries with their language pairs",
            "The key's glossaries",
            schemas.MultilingualGlossaries,
        ),
    )
    async def all_multilingual(connection: Request) -> Response:
        """List the key's glossaries, the oldest first."""
        found = await access.find(connection, access.store.list)
        return SafeJSONResponse({"glossaries": list(map(present_v3, found))})

    _add_multilingual_routes_of_one(router, access)
    _add_dictionary_routes(router, access)


def _add_multilingual_routes_of_one(router: APIRouter, access: GlossaryAccess) -> None:
    @router.get(
        ONE_MULTILINGUAL,
        **describe_one(
            "Return one glossary with its language pairs", "The glossary", schemas.MultilingualGlossary
        ),
    )
    async def one_multilingual(connection: Request) -> Response:
        """Return everything about a glossary but its entries."""
        return SafeJSONResponse(present_v3(await access.find_one(connection, access.store.get)))

    @router.patch(
        ONE_MULTILINGUAL,
        **describe_one(
            "Change a glossary",
            "The changed glossary",
            schemas.MultilingualGlossary,
            request=openapi.json_or_form(
                schemas.ChangeGlossaryIn, schemas.ChangeGlossaryForm, [ID], form_type=openapi.FORM
            ),
        ),
    )
    async def change_multilingual(connection: Request) -> Response:
        """Change the name, and add entries or replace those of equal source terms."""
        caller, sent = await access.enter_to_change(connection, schemas.ChangeGlossaryIn)
        if sent.name is None and not sent.dictionaries:
            raise field_error("name", "is missing; send a name, dictionaries or both")
        reader = await access.reader()

        def change() -> Glossary:
            dictionaries = reader.read_all(sent.dictionaries)
            return access.store.merge(caller.key_id, access.id_of(connection), sent.name, dictionaries)

        return SafeJSONResponse(present_v3(await run_in_thread(change)))

    @router.delete(
        ONE_MULTILINGUAL,
        status_code=NO_CONTENT,
        **describe_one("Delete a multilingual glossary", "The glossary is deleted"),
    )
    async def delete_multilingual(connection: Request) -> Response:
        """Delete a glossary permanently."""
        return await access.delete_one(connection, access.store.delete)


def _add_dictionary_routes(router: APIRouter, access: GlossaryAccess) -> None:
    describe_pair = partial(
        describe_one, request=openapi.request_of(parameters=[ID], query=schemas.DeepLPairQuery)
    )

    @router.get(
        f"{ONE_MULTILINGUAL}/entries",
        **describe_pair("Return the entries of a language pair", "The entries", schemas.DictionariesEntries),
    )
    async def entries_of_pair(connection: Request) -> Response:
        """Return the entries as TSV in JSON."""
        caller, fields = await access.enter(connection)
        pair = read_pair(fields.read(schemas.DeepLPairQuery))
        found = await run_in_thread(
            lambda: access.store.read_dictionary(caller.key_id, access.id_of(connection), pair)
        )
        return SafeJSONResponse({DICTIONARIES: [present_entries(found)]})

    @router.put(
        f"{ONE_MULTILINGUAL}/dictionaries",
        **describe_one(
            "Replace the entries of a language pair",
            "The language pair",
            schemas.DictionaryInfoOut,
            request=openapi.request_of(schemas.DeepLDictionaryIn, [openapi.JSON, openapi.FORM], [ID]),
        ),
    )
    async def put_dictionary(connection: Request) -> Response:
        """Replace all entries of a pair, or add the pair."""
        caller, sent = await access.enter_to_change(connection, schemas.DeepLDictionaryIn)
        reader = await access.reader()

        def put() -> tuple[Pair, Glossary]:
            read = reader.read(sent)
            return read.pair, access.store.put_dictionary(caller.key_id, access.id_of(connection), read)

        pair, changed = await run_in_thread(put)
        [info] = [each for each in changed.dictionaries if each.pair == pair]
        return SafeJSONResponse(present_info(info))

    @router.delete(
        f"{ONE_MULTILINGUAL}/dictionaries",
        status_code=NO_CONTENT,
        **describe_pair("Remove a language pair", "The pair is removed"),
    )
    async def delete_dictionary(connection: Request) -> Response:
        """Remove all entries of a pair."""
        caller, sent = await access.enter_to_change(connection, schemas.ChangedPairQuery)
        pair = read_pair(sent)
        await run_in_thread(
            lambda: access.store.remove_dictionary(caller.key_id, access.id_of(connection), pair)
        )
        return Response(status_code=NO_CONTENT)


def _has_one_pair(glossary: Glossary) -> bool:
    return len(glossary.dictionaries) == 1


def _require_tsv(connection: Request) -> None:
    accepted = connection.headers.get("accept", TSV).split(",")
    if not any(each.split(";")[0].strip().lower() in ACCEPTED_MEDIA_TYPES for each in accepted):
        raise ApiError(ErrorKind.UNSUPPORTED_MEDIA_TYPE, f"entries are {TSV}; send it in the header Accept")
