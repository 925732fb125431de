"""The APIs that the settings enable; all use the same services."""

from collections.abc import Callable, Mapping

from fastapi import APIRouter

from service.api.deepl.api import deepl_api
from service.api.libretranslate.api import libretranslate_api
from service.api.native.analysis import analysis_routes
from service.api.native.models import model_routes
from service.api.native.streaming import streaming_routes
from service.api.native.translation import translation_routes
from service.jobs.api import FORM_BYTES, PATH, jobs_api
from service.services import ApiDefinition, Services
from service.settings import split_names

__all__ = ["KNOWN", "ApiDefinition", "Services", "enabled_apis"]


def enabled_apis(services: Services) -> list[ApiDefinition]:
    """Return the APIs that the settings enable."""
    names = split_names(services.settings.apis)
    return [KNOWN[name](services) for name in names if name in KNOWN]


def _native(services: Services) -> ApiDefinition:
    routes = APIRouter()
    routes.include_router(translation_routes(services.translation_service, services.authenticator))
    routes.include_router(streaming_routes(services.translation_service, services.authenticator))
    routes.include_router(analysis_routes(services.translation_service, services.authenticator))
    watcher = services.watcher if services.settings.reload_endpoint else None
    requires_key = services.settings.discovery_access == "key"
    router = services.translation_service.inference.router
    routes.include_router(model_routes(router, services.authenticator, watcher, requires_key=requires_key))
    jobs = services.jobs
    if jobs is None:
        return ApiDefinition(routes)
    routes.include_router(jobs_api(jobs, services.authenticator, services.settings, services.is_stopping))
    return ApiDefinition(routes, streamed_paths={PATH: services.settings.max_job_bytes + FORM_BYTES})


KNOWN: Mapping[str, Callable[[Services], ApiDefinition]] = {
    "native": _native,
    "libretranslate": libretranslate_api,
    "deepl": deepl_api,
}
