"""Which APIs a server offers: each in a room of its own, over the same desk."""

from collections.abc import Callable, Mapping

from fastapi import APIRouter

from service.deepl.api import deepl_api
from service.jobs.api import FORM_BYTES, PATH, jobs_api
from service.libretranslate.api import libretranslate_api
from service.native.models import model_routes
from service.native.reading import reading_routes
from service.native.streaming import streaming_routes
from service.native.translation import translation_routes
from service.premises import Api, Premises
from service.settings import split_names

__all__ = ["KNOWN", "Api", "Premises", "offered_apis"]


def offered_apis(premises: Premises) -> list[Api]:
    """Those that the settings name."""
    names = split_names(premises.settings.apis)
    return [KNOWN[name](premises) for name in names if name in KNOWN]


def _native(premises: Premises) -> Api:
    routes = APIRouter()
    routes.include_router(translation_routes(premises.desk, premises.door))
    routes.include_router(streaming_routes(premises.desk, premises.door))
    routes.include_router(reading_routes(premises.desk, premises.door))
    watcher = premises.watcher if premises.settings.reload_endpoint else None
    wants_key = premises.settings.discovery_access == "key"
    router = premises.desk.inference.router
    routes.include_router(model_routes(router, premises.door, watcher, wants_key=wants_key))
    jobs = premises.jobs
    if jobs is None:
        return Api(routes)
    routes.include_router(jobs_api(jobs, premises.door, premises.settings, premises.is_stopping))
    return Api(routes, streamed_paths={PATH: premises.settings.max_job_bytes + FORM_BYTES})


KNOWN: Mapping[str, Callable[[Premises], Api]] = {
    "native": _native,
    "libretranslate": libretranslate_api,
    "deepl": deepl_api,
}
