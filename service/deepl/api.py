"""All of it, as the application takes it in."""

from fastapi import APIRouter, Depends
from fastapi.security import APIKeyHeader, APIKeyQuery

from service.deepl.answers import FORM, ROOT
from service.deepl.catalogue import catalogue_routes
from service.deepl.documents import document_routes
from service.deepl.glossaries import glossary_routes
from service.deepl.translation import translation_routes
from service.deepl.unserved import unserved_routes
from service.front.documentation import operation_ids
from service.premises import Api, Premises

DOCUMENT_PATHS = frozenset({f"{ROOT}/document", f"{ROOT}/glossaries"})
"""Where more comes than texts: DeepL's clients may send 10 MiB of a glossary."""
KEY_HEADER = APIKeyHeader(
    name="Authorization",
    scheme_name="DeepL",
    description="`DeepL-Auth-Key KEY`, where the server wants a key.",
    auto_error=False,
)
KEY_IN_QUERY = APIKeyQuery(
    name="auth_key",
    scheme_name="DeepLQuery",
    description="The key as a field `auth_key`, of the URL or of the body.",
    auto_error=False,
)
"""Both for the document alone; `entrance` reads them."""


def deepl_api(premises: Premises) -> Api:
    """DeepL's paths, all under `/v2`; those under `/v3` are refused."""
    desk, door = premises.desk, premises.door
    routes = APIRouter(
        prefix=ROOT,
        dependencies=[Depends(KEY_HEADER), Depends(KEY_IN_QUERY)],
        generate_unique_id_function=operation_ids("deepl"),
    )
    for each in (
        translation_routes(desk, door),
        catalogue_routes(desk, door),
        glossary_routes(desk, door, stores_new=premises.settings.glossaries == "stored"),
        document_routes(desk, door, premises.documents),
    ):
        routes.include_router(each)
    every = APIRouter()
    every.include_router(routes)
    every.include_router(unserved_routes(door))
    return Api(every, FORM, DOCUMENT_PATHS)
