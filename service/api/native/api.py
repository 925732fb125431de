"""Definition of Dragoman's own API for the application."""

from service.api.native.glossaries import GLOSSARY_PATHS, glossary_routes
from service.api.native.jobs.routes import FORM_BYTES, PATH, job_routes
from service.api.native.memories import MEMORY_PATHS, memory_routes
from service.api.native.models import model_routes
from service.api.native.texts import analysis_routes, text_routes
from service.api.services import ApiDefinition, Services
from service.http.api_router import ApiRouter
from service.http.openapi import operation_id

PARTS = (text_routes, glossary_routes, memory_routes, analysis_routes, model_routes)


def native_api(services: Services) -> ApiDefinition:
    """Return Dragoman's own API: all paths under `/v1`, without jobs if the server has none."""
    routes = ApiRouter(prefix="/v1", generate_unique_id_function=operation_id)
    for part in PARTS:
        routes.include_router(part(services))
    streamed_paths = dict[str, int]()
    if services.jobs is not None:
        routes.include_router(job_routes(services, services.jobs))
        streamed_paths[PATH] = services.settings.max_job_bytes + FORM_BYTES
    return ApiDefinition(routes, document_paths=GLOSSARY_PATHS | MEMORY_PATHS, streamed_paths=streamed_paths)
