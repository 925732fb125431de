"""The settings by group, with their defaults; each part of the service gets its own group.

The attributes' docstrings are the reference that operators read.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from dragoman import ProviderError
from dragoman.providers import Kernels, parse_providers
from service.accounts.errors import RatesInvalid
from service.accounts.rates import parse_rate_limits
from service.settings.model_folders import ModelFolders

MAX_TEXTS = 100_000
"""Highest limit of texts of a request, whatever its body may hold."""
APIS = ("native", "libretranslate", "deepl", "google", "openai")
SECURITY = object()
Value = TypeVar("Value")
Security = Annotated[Value, SECURITY]
"""Marks a setting whose misspelt name ends the start: without it the server may be open to others."""


def _check_providers(providers: str) -> str:
    try:
        parse_providers(providers)
    except ProviderError as error:
        raise ValueError(str(error)) from error
    return providers


def split_names(names: str) -> tuple[str, ...]:
    """Split a list at commas; ignore surrounding spaces and empty names."""
    return tuple(name for part in names.split(",") if (name := part.strip()))


def _check_apis(apis: str) -> str:
    names = split_names(apis)
    if unknown := [name for name in names if name not in APIS]:
        raise ValueError(f"{', '.join(unknown)} is unknown; known are {', '.join(APIS)}")
    return apis


def _check_rate_limit(rate_limit: str | None) -> str | None:
    if rate_limit is not None:
        try:
            parse_rate_limits(rate_limit)
        except RatesInvalid as error:
            raise ValueError(error.problem) from error
    return rate_limit


def _check_mode(mode: str) -> str:
    if not re.fullmatch("[0-7]{3}", mode):
        raise ValueError("must be three octal digits, such as 660")
    return mode


def _check_root_path(path: str) -> str:
    if path and not re.fullmatch(r"(/[A-Za-z0-9._~-]+)+", path):
        raise ValueError(
            "must begin with a slash, not end with one, and need no quoting, such as /translator"
        )
    return path


class _Group(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class BundleSettings(_Group):
    """Models to serve, and when to load them."""

    model: str | None = Field(default=None, min_length=1)
    """Folder of a bundle, or its name under `models_dir`; several are separated by commas. None for all
    bundles there."""
    models_dir: Path | None = None
    """Folder of the bundles. None for two: your own in `models` in the current folder, and the bundled
    models, which serve only what your own do not."""
    model_index: str | None = Field(default=None, min_length=1)
    """Address or path of the index from which `dragoman pull` downloads models."""
    preload: str | None = None
    """Names of bundles to open before the server is ready, separated by commas; empty for none. None for the
    bundle there is, if it is the only one, or the only one of your own. Other bundles are opened on first
    use."""
    memory_budget_bytes: int | None = Field(default=None, ge=1)
    """Maximum estimated memory in bytes of all open bundles together; None for no limit. The least recently
    used bundles are closed when another needs their memory."""
    pivots: str = "en"
    """Preferred pivot languages, for pairs that no bundle serves directly; the most preferred first,
    separated by commas."""
    detection: Literal["on", "off"] = "on"
    """Whether to detect the language of a text if a request does not name it. This takes memory: 100 MB for
    two languages, more for many. If `off`, a request may omit the language only if there is just one."""
    watch_s: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Seconds between scans of the bundles' folders for new and changed bundles; 0 scans only at start."""
    reload_endpoint: Security[bool] = False
    """Whether `POST /v1/models/reload` scans them too. With `requires_key` it needs a key with the scope
    `admin`; otherwise anybody who reaches the server may call it."""

    @property
    def model_folders(self) -> ModelFolders:
        """Return the folders that `models_dir` stands for."""
        return ModelFolders.of(self.models_dir)


class EngineSettings(_Group):
    """Engine that runs the models."""

    providers: Annotated[str, AfterValidator(_check_providers)] = "cpu"
    """Hardware that the model runs on: `cpu`, `cuda`, `tensorrt`, or several separated by commas, the most
    preferred first."""
    kernels: Kernels = "auto"
    """Backend of the model: `native` for the engine's own kernels (int8, one thread per replica; or fp16,
    a GPU), `onnxruntime`, or `auto`: native if possible, on CPUs."""
    replicas: int | None = Field(default=None, ge=1)
    """Number of searches that run at the same time in each process, each over many segments; None for as many
    as there are CPUs for their threads."""
    threads: int = Field(default=1, ge=1)
    """Number of threads per replica."""
    weights_dir: Path | None = None
    """Folder of files with the weights of native kernels, which processes share; it must be writable for
    trusted users only. None for a temporary one if there are several `processes`."""
    queue_size: int = Field(default=4096, ge=1)
    """Maximum number of queued segments; further requests are rejected as too many."""
    segment_cache_size: int = Field(default=4096, ge=0)
    """Number of recently translated segments whose translations are cached in memory."""
    segment_cache: Security[Literal["shared", "per_key", "off"]] = "per_key"
    """Who shares cached translations. `per_key`: each API key has its own, and all callers without a key
    share theirs. `shared`: all callers share all, which is faster if many send the same text, but the time of
    a response then reveals what others have translated. `off`: nobody, as with `segment_cache_size` 0."""


class NetworkSettings(_Group):
    """Addresses to listen on, and the stop of the server."""

    host: Security[str] = "127.0.0.1"
    """Address to listen on; `0.0.0.0` listens on all."""
    port: int = Field(default=8000, ge=0, le=65535)
    """Port to listen on; 0 chooses a free one."""
    uds: Security[Path | None] = None
    """Path of a Unix socket to listen on instead of `host` and `port`."""
    uds_mode: Security[Annotated[str, AfterValidator(_check_mode)]] = "660"
    """Permissions of that socket, in octal digits: `660` lets its owner and group connect, `666` everybody on
    the machine."""
    root_path: Annotated[str, AfterValidator(_check_root_path)] = ""
    """Path prefix under which a proxy publishes the server, such as `/translator`. The proxy must remove it
    from the paths of requests."""
    reuse_port: bool = False
    """Whether several processes may listen on one port; the system distributes connections among them."""
    processes: Annotated[int, Field(ge=1)] | Literal["auto"] = 1
    """Number of processes of this server, which share a port and memory (Linux, no GPU); `auto` for one for
    each 4 CPUs. A process that ends is replaced."""
    trusted_proxies: Security[str] = ""
    """Addresses of proxies whose client addresses are trusted, separated by commas; `unix` for those that
    connect to `uds`."""
    cors_origins: Security[str] = ""
    """Origins whose pages may call this server from a browser, separated by commas; `*` for all."""
    drain_s: float = Field(default=2.0, ge=0, allow_inf_nan=False)
    """Seconds for which the server continues to listen after SIGTERM, while `/readyz` responds with 503.
    Requests that have arrived by then are answered."""
    stop_timeout_s: float = Field(default=65.0, ge=0, allow_inf_nan=False)
    """Maximum seconds to wait for running requests after a stopping server has ceased to listen; then it
    closes their connections."""

    @model_validator(mode="after")
    def _check_uds(self) -> Self:
        given = {"host", "port", "reuse_port"} & self.model_fields_set
        if self.uds is not None and given:
            names = ", ".join(sorted(given))
            raise ValueError(f"uds: a server listens on a Unix socket or on a port; remove {names}, or uds")
        return self


class LimitSettings(_Group):
    """Limits of requests and connections."""

    request_timeout_s: Security[float] = Field(default=60.0, gt=0, allow_inf_nan=False)
    """Maximum seconds for a request; then it is cancelled."""
    client_timeout_s: Security[float] = Field(default=30.0, gt=0, allow_inf_nan=False)
    """Maximum seconds for a client to send the head of a request, the same again to send its body, and the
    same to read some of the response."""
    max_body_bytes: Security[int] = Field(default=2**20, ge=1)
    """Maximum bytes of a request body."""
    max_document_bytes: Security[int] = Field(default=10 * 2**20, ge=1)
    """Maximum bytes of a request body with a file to translate."""
    max_connections: Security[int] = Field(default=4096, ge=1)
    """Maximum number of connections; further ones get an error response and are closed."""
    max_connections_of_address: Security[int] = Field(default=1024, ge=1)
    """The same of one address, or of one IPv6 network of 64 bits. Those of `trusted_proxies` may have all."""
    max_bodies: Security[int] = Field(default=256, ge=1)
    """Maximum number of partly received request bodies; further ones are rejected."""
    max_bodies_of_address: Security[int] = Field(default=64, ge=1)
    """The same of one address, or of one IPv6 network of 64 bits."""
    max_texts: Security[int] = Field(default=1000, ge=1, le=MAX_TEXTS)
    """Maximum number of texts in a request, up to 100,000."""
    max_characters: Security[int] = Field(default=100_000, ge=1)
    """Maximum characters of all texts in a request together."""


class AccountSettings(_Group):
    """API keys, rate limits and their databases."""

    database_url: Security[str | None] = None
    """Database of API keys, their usage and glossaries: `sqlite:///dragoman.db`, or `postgresql://...`. None
    for no keys, and for glossaries that are kept like jobs; with `requires_key` it is then
    `sqlite:///dragoman.db`."""
    requires_key: Security[bool] = False
    """Whether requests need an API key; `dragoman keys create` creates one."""
    rate_limit: Security[Annotated[str | None, AfterValidator(_check_rate_limit)]] = None
    """Maximum requests of a key, or of an address without one, such as `20/minute; 1000/hour`. None for no
    limit; a key may have a limit of its own."""
    rate_storage_url: Security[str | None] = None
    """Redis in which several processes count requests together: `redis://HOST:PORT/NUMBER`. None counts in
    this process."""
    discovery: Security[Literal["auto", "open", "key"]] = "auto"
    """Who may read `/v1/models`, `/v1/languages` and `/openapi.json`: anybody who reaches the server, or
    callers with any key. `auto` is `key` with `requires_key`, else `open`."""


class ApiSettings(_Group):
    """APIs, their documents and their glossaries."""

    apis: Annotated[str, AfterValidator(_check_apis)] = ",".join(APIS)
    """APIs to offer, separated by commas: Dragoman's own under `/v1`, LibreTranslate's, DeepL's under `/v2`,
    Google's under `/language/translate/v2`, chat completions like OpenAI's under `/openai/v1`."""
    page: Literal["on", "off"] = "on"
    """Whether `/` is a web page to translate texts and documents. It uses Dragoman's own API, so there is
    none if `apis` does not have `native`."""
    documents: Literal["on", "off"] = "on"
    """Whether to translate whole files for clients of DeepL and LibreTranslate. These are jobs, so there are
    none if `jobs` is `off`."""
    document_lifetime_s: float = Field(default=1800.0, gt=0, allow_inf_nan=False)
    """Seconds for which such a file is kept for download, once it is translated or has failed."""
    suggestions: Literal["on", "off"] = "off"
    """Whether `/v1/suggestions` and LibreTranslate's `/suggest` store corrections, in translation memories of
    their callers."""
    max_glossaries_of_key: int = Field(default=1000, ge=0)
    """Maximum number of glossaries of a key; all callers without a key count as one. 0 rejects new ones."""
    max_glossary_entries: int = Field(default=10_000, ge=1)
    """Maximum number of entries of a glossary, of all its language pairs together."""
    max_glossaries_bytes_of_key: int = Field(default=64 * 2**20, ge=1)
    """Maximum bytes of the entries of all glossaries of a key."""


class JobSettings(_Group):
    """Jobs, and the reading of clients' files."""

    jobs: Literal["on", "off"] | None = None
    """Whether `/v1/jobs` translates files of any size as jobs. None for `on`, unless the database is
    PostgreSQL and `jobs_files` does not say where all its processes find the files."""
    jobs_files: str | None = None
    """Storage of the files of jobs: a folder, or a URL such as `s3://bucket/folder` with the extra `s3`. None
    for the folder `dragoman-jobs` next to the database, if that is SQLite; without `database_url`, for a
    temporary folder, so that all jobs end with the server."""
    jobs_at_a_time: int = Field(default=1, ge=0)
    """Number of jobs that this process runs at a time, in addition to two documents and to the first jobs of
    two other keys; 0 leaves all to other processes on the same database."""
    job_texts: int = Field(default=32, ge=1)
    """Number of texts of a job that are in the engine at a time. More are faster while there are no other
    requests, but make these wait longer."""
    max_job_bytes: Security[int] = Field(default=100 * 2**20, ge=1)
    """Maximum bytes of the file of a job, and of what it unpacks to."""
    file_isolation: Security[Literal["on", "off"]] = "on"
    """Whether clients' files are read and written in separate processes, within the limits below. Use `off`
    only if you trust every client."""
    file_memory_bytes: Security[int] = Field(default=2**30, ge=2**27)
    """Maximum memory in bytes of a process that reads or writes a file."""
    file_cpu_s: Security[float] = Field(default=60.0, ge=1, allow_inf_nan=False)
    """Maximum seconds of CPU time of such a process, for each 16 MiB of its file."""
    file_timeout_s: Security[float] = Field(default=120.0, gt=0, allow_inf_nan=False)
    """Maximum seconds for which such a process may find nothing to translate and write nothing."""
    max_jobs_bytes: Security[int] = Field(default=10 * 2**30, ge=1)
    """Maximum bytes of the files of all jobs, including their results."""
    max_jobs_bytes_of_key: Security[int] = Field(default=2 * 2**30, ge=1)
    """Maximum bytes of the files of one key's jobs and documents; all callers without a key count as one."""
    max_uploads_bytes: Security[int] = Field(default=512 * 2**20, ge=1)
    """Maximum bytes of files being uploaded at a time; no client may have more than it leaves free. An upload
    is always accepted alone."""
    max_uploads_bytes_of_client: Security[int] = Field(default=128 * 2**20, ge=1)
    """Maximum bytes of files being uploaded at a time by one key, or by one address without a key."""
    max_jobs_of_key: Security[int] = Field(default=100, ge=1)
    """Maximum number of unfinished jobs of a key, and of unfinished documents."""
    job_lifetime_s: float = Field(default=7 * 86400.0, gt=0, allow_inf_nan=False)
    """Seconds for which a job that has ended is kept, with its result."""


class TelemetrySettings(_Group):
    """Metrics, logs and traces."""

    metrics: Security[Literal["auto", "open", "key", "off"]] = "auto"
    """Who may read `/metrics`: anybody who reaches the server, keys with the scope `admin`, or nobody. `auto`
    is `key` with `requires_key`, else `open`."""
    log_level: Literal["critical", "error", "warning", "info", "debug"] = "info"
    """Minimum severity that is logged."""
    log_format: Literal["text", "json"] = "text"
    """Format of the log: text for people, or one JSON object per line."""
    log_addresses: Security[bool] = False
    """Whether the log contains clients' addresses."""
    log_texts: Security[bool] = False
    """Whether the log contains clients' texts, at the level `debug`."""
    otlp_endpoint: str | None = None
    """Base address of the collector of OpenTelemetry traces, such as `http://collector:4318`; None for no
    traces. Needs the extra `otel`."""


GROUPS: Mapping[str, type[BaseModel]] = {
    "Models": BundleSettings, "Engine": EngineSettings, "Network": NetworkSettings, "Limits": LimitSettings,
    "API keys and rate limits": AccountSettings, "APIs": ApiSettings, "Jobs": JobSettings,
    "Telemetry": TelemetrySettings,
}  # fmt: skip
"""All groups, by their headings in the reference."""
