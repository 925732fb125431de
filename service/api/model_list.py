"""The names of models that chats may have, as OpenAI's clients list them."""

from typing import Literal

from dragoman.routing.routes import Routes
from service.http.openapi import DocumentedModel
from service.translation.request import AUTO

PREFIX = "dragoman"


class ListedModel(DocumentedModel):
    """A name that `model` of a chat may be."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    """Always 0."""
    owned_by: str = PREFIX


class ModelList(DocumentedModel):
    """Names that `model` of a chat may be, but those of pairs that need a multilingual model or two."""

    object: Literal["list"] = "list"
    data: list[ListedModel]


def listed_models(routes: Routes) -> list[ListedModel]:
    """Return the names to list: any languages, each target, and the pairs of bilingual models."""
    single = (offer.languages for offer in routes.offers if offer.languages.is_single_pair)
    pairs = [pair for languages in single for pair in languages.pairs()]
    names = [PREFIX, *(f"{PREFIX}-{AUTO}-{target}" for target in routes.targets())]
    names += sorted({f"{PREFIX}-{pair.source}-{pair.target}" for pair in pairs})
    return [ListedModel(id=name) for name in names]
