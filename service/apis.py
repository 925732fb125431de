"""Which APIs a server offers: each in a room of its own, over the same desk."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fastapi import APIRouter

from service.desk.desk import Desk
from service.front.door import Door
from service.front.errors import ErrorForm
from service.native.models import model_routes
from service.native.translation import translation_routes
from service.settings import Settings, split_names
from service.watching import Watcher


@dataclass(frozen=True, slots=True)
class Premises:
    """What every API works with."""

    desk: Desk
    door: Door
    watcher: Watcher
    settings: Settings


@dataclass(frozen=True, slots=True)
class Api:
    """An API as the application takes it in."""

    routes: APIRouter
    errors: ErrorForm | None = None
    """Its own form of them; None for Dragoman's."""


def offered_apis(premises: Premises) -> list[Api]:
    """Those that the settings name."""
    names = split_names(premises.settings.apis)
    return [KNOWN[name](premises) for name in names if name in KNOWN]


def _native(premises: Premises) -> Api:
    routes = APIRouter()
    routes.include_router(translation_routes(premises.desk, premises.door))
    watcher = premises.watcher if premises.settings.reload_endpoint else None
    routes.include_router(model_routes(premises.desk.inference.router, watcher))
    return Api(routes)


KNOWN: Mapping[str, Callable[[Premises], Api]] = {"native": _native}
