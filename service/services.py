"""What an API is given, and what the application takes of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fastapi import APIRouter

from service.http.authentication import Authenticator
from service.http.errors import ErrorForm
from service.jobs.documents import Documents
from service.jobs.job_service import JobService
from service.model_watcher import Watcher
from service.settings import Settings
from service.translation.translation_service import TranslationService


@dataclass(frozen=True, slots=True)
class Services:
    """What every API works with."""

    translation_service: TranslationService
    authenticator: Authenticator
    watcher: Watcher
    settings: Settings
    jobs: JobService | None = None
    """None where there are none."""
    documents: Documents | None = None
    """None where files are translated as jobs alone, or not at all."""
    is_stopping: Callable[[], bool] = lambda: False
    """Whether answers that have no end by themselves are to end."""


@dataclass(frozen=True, slots=True)
class Api:
    """An API as the application takes it in."""

    routes: APIRouter
    errors: ErrorForm | None = None
    """Its own form of them; None for Dragoman's."""
    document_paths: frozenset[str] = frozenset()
    """Where files are sent, which may be larger than other bodies."""
    streamed_paths: Mapping[str, int] = field(default_factory=dict)
    """Where bodies are read as they come, and the most bytes of each."""
