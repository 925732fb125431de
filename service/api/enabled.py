"""The APIs that the settings enable; all use the same services."""

from collections.abc import Callable, Mapping

from service.api.deepl.api import deepl_api
from service.api.google.api import google_api
from service.api.libretranslate.api import libretranslate_api
from service.api.native.api import native_api
from service.api.openai.api import openai_api
from service.api.services import ApiDefinition, Services
from service.settings.groups import split_names


def enabled_apis(services: Services) -> list[ApiDefinition]:
    """Return the APIs that the settings enable."""
    names = split_names(services.settings.apis)
    return [KNOWN[name](services) for name in names if name in KNOWN]


KNOWN: Mapping[str, Callable[[Services], ApiDefinition]] = {
    "native": native_api,
    "libretranslate": libretranslate_api,
    "deepl": deepl_api,
    "google": google_api,
    "openai": openai_api,
}
