"""The services that an API gets, and the definition of an API that it returns."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fastapi import APIRouter

from service.glossaries.glossary_service import GlossaryService
from service.http.authentication import Authenticator
from service.http.errors import ErrorForm
from service.jobs.documents import DocumentService
from service.jobs.job_service import JobService
from service.memories.memory_service import MemoryService
from service.models.watcher import ModelWatcher
from service.settings.settings import Settings
from service.translation.translation_service import TranslationService
from service.work.file_work import FileWork


@dataclass(frozen=True, slots=True)
class Services:
    """The services that all APIs share."""

    translation_service: TranslationService
    authenticator: Authenticator
    watcher: ModelWatcher
    settings: Settings
    glossaries: GlossaryService
    memories: MemoryService
    file_work: FileWork
    """Runs the work on clients' files."""
    jobs: JobService | None = None
    """The job service; None if jobs are disabled."""
    documents: DocumentService | None = None
    """The document service; None if files are translated only as jobs, or not at all."""
    is_stopping: Callable[[], bool] = lambda: False
    """Returns whether the server is stopping, so that responses without an end must end."""


@dataclass(frozen=True, slots=True)
class ApiDefinition:
    """An API, as the application mounts it."""

    routes: APIRouter
    errors: ErrorForm | None = None
    """The API's own form of errors; None for Dragoman's."""
    document_paths: frozenset[str] = frozenset()
    """Paths that accept files, which may be larger than other bodies. One that ends with `/` stands for all
    paths below it."""
    streamed_paths: Mapping[str, int] = field(default_factory=dict)
    """Paths whose bodies are read as they arrive, with the maximum bytes of each."""
