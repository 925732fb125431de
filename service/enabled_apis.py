"""The APIs that the settings enable; all use the same services."""

from collections.abc import Callable, Mapping

from fastapi import APIRouter

from service.api.deepl.api import deepl_api
from service.api.google.api import google_api
from service.api.libretranslate.api import libretranslate_api
from service.api.native.analysis import analysis_routes
from service.api.native.glossaries import GLOSSARY_PATHS, native_glossary_routes
from service.api.native.memories import MEMORY_PATHS, memory_routes
from service.api.native.model_admin import model_admin_routes
from service.api.native.models import model_routes
from service.api.native.streaming import streaming_routes
from service.api.native.translation import translation_routes
from service.api.openai.api import openai_api
from service.jobs.api import FORM_BYTES, PATH, jobs_api
from service.services import ApiDefinition, Services
from service.settings import split_names


def enabled_apis(services: Services) -> list[ApiDefinition]:
    """Return the APIs that the settings enable."""
    names = split_names(services.settings.apis)
    return [KNOWN[name](services) for name in names if name in KNOWN]


def _native(services: Services) -> ApiDefinition:
    routes = APIRouter()
    texts = (services.translation_service, services.authenticator, services.glossaries)
    routes.include_router(translation_routes(*texts, services.memories))
    routes.include_router(streaming_routes(*texts, services.memories))
    routes.include_router(native_glossary_routes(*texts, services.file_work))
    accepts_suggestions = services.settings.suggestions == "on"
    routes.include_router(
        memory_routes(
            services.memories,
            services.authenticator,
            services.file_work,
            accepts_suggestions=accepts_suggestions,
        )
    )
    routes.include_router(analysis_routes(services.translation_service, services.authenticator))
    watcher = services.watcher if services.settings.reload_endpoint else None
    requires_key = services.settings.discovery_access == "key"
    inference = services.translation_service.inference
    routes.include_router(model_routes(inference, services.authenticator, watcher, requires_key=requires_key))
    if services.model_admin is not None:
        routes.include_router(
            model_admin_routes(inference.router, services.authenticator, services.model_admin)
        )
    jobs = services.jobs
    if jobs is None:
        return ApiDefinition(routes, document_paths=GLOSSARY_PATHS | MEMORY_PATHS)
    routes.include_router(
        jobs_api(jobs, services.authenticator, services.glossaries, services.settings, services.is_stopping)
    )
    max_bytes = services.settings.max_job_bytes + FORM_BYTES
    return ApiDefinition(
        routes, document_paths=GLOSSARY_PATHS | MEMORY_PATHS, streamed_paths={PATH: max_bytes}
    )


KNOWN: Mapping[str, Callable[[Services], ApiDefinition]] = {
    "native": _native,
    "libretranslate": libretranslate_api,
    "deepl": deepl_api,
    "google": google_api,
    "openai": openai_api,
}
