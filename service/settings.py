"""What an operator may set: by option, environment variable or TOML file, in this order of precedence.

Nothing is read on import; `load_settings` is called once, by a command.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, SecretStr, ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from dragoman import ProviderError
from dragoman.providers import parse_providers
from service.accounts.errors import RatesInvalid
from service.accounts.rates import RateLimits

ENV_PREFIX = "DRAGOMAN_"
APIS = ("native", "libretranslate", "deepl")


class SettingsError(Exception):
    """The settings cannot be used; the message names every one at fault."""


def default_models_dir() -> Path:
    """`models` in the current directory, or else beside this package (the repository, in a checkout)."""
    here = Path("models")
    beside = Path(__file__).resolve().parent.parent / "models"
    return beside if beside.is_dir() and not here.is_dir() else here


def _check_providers(providers: str) -> str:
    try:
        parse_providers(providers)
    except ProviderError as error:
        raise ValueError(str(error)) from error
    return providers


def split_names(names: str) -> tuple[str, ...]:
    """What stands between commas."""
    return tuple(name for part in names.split(",") if (name := part.strip()))


def _check_apis(apis: str) -> str:
    names = split_names(apis)
    if unknown := [name for name in names if name not in APIS]:
        raise ValueError(f"{', '.join(unknown)} is none of {', '.join(APIS)}")
    return apis


def _check_rate_limit(rate_limit: str | None) -> str | None:
    if rate_limit is not None:
        try:
            RateLimits.parse(rate_limit)
        except RatesInvalid as error:
            raise ValueError(error.problem) from error
    return rate_limit


class Settings(BaseSettings):
    """Facts of one server or command; they do not change while it runs."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, extra="forbid", frozen=True, use_attribute_docstrings=True
    )

    model: str | None = Field(default=None, min_length=1)
    """A bundle's folder, or the name of one under `models_dir`; several with commas between. None for all
    that are in `models_dir`."""
    models_dir: Path = Field(default_factory=default_models_dir)
    """Where bundles are looked up by name."""
    preload: str | None = None
    """Names of bundles that are opened before the server is ready, with commas between; empty for none. None
    for the bundle there is, if it is the only one; others are opened on first use."""
    memory_budget_bytes: int | None = Field(default=None, ge=1)
    """Memory that open bundles together may be reckoned to take; None for no limit. The least recently used
    are closed when another needs their room."""
    pivots: str = "en"
    """Languages to go through where no bundle serves a pair, the most wanted first, with commas between; any
    other that will do comes after them."""
    detection: Literal["on", "off"] = "on"
    """Whether the language of a text is detected where a request does not name it. It takes memory: 100 MB
    for two languages, more for many. If not, it may be left out where only one is possible."""
    watch_s: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Seconds between looks at the bundles' folders for new and changed ones; 0 looks at the start alone."""
    reload_endpoint: bool = False
    """Whether `POST /v1/models/reload` looks at them too. With `requires_key` it takes a key of the scope
    `admin`; else anybody who reaches the server may call it."""
    host: str = "127.0.0.1"
    """Address to listen on; `0.0.0.0` listens on all."""
    port: int = Field(default=8000, ge=0, le=65535)
    """Port to listen on; 0 takes a free one."""
    replicas: int | None = Field(default=None, ge=1)
    """Searches that run at the same time, each over many segments; None for as many as there are CPUs for
    their threads."""
    threads: int = Field(default=1, ge=1)
    """Threads inside one replica."""
    providers: Annotated[str, AfterValidator(_check_providers)] = "cpu"
    """What the model runs on: `cpu`, `cuda`, `tensorrt`, or several with commas between, the most wanted
    first."""
    queue_size: int = Field(default=4096, ge=1)
    """Segments that may wait before requests are refused as too many."""
    segment_cache_size: int = Field(default=4096, ge=0)
    """Segments, of those translated last, whose translations are kept in memory and not searched for anew."""
    segment_cache: Literal["shared", "per_key", "off"] = "per_key"
    """Who finds these translations again. `per_key`: each API key its own, and all callers without a key
    theirs. `shared`: every caller all of them, which is faster if many send the same, but the time of an
    answer then tells what others had translated. `off`: nobody, as with `segment_cache_size` 0."""
    request_timeout_s: float = Field(default=60.0, gt=0, allow_inf_nan=False)
    """Seconds after which a request is given up."""
    client_timeout_s: float = Field(default=30.0, gt=0, allow_inf_nan=False)
    """Seconds that a client may take to say what it wants, again so many to send it, and so many to read
    some of its answer."""
    drain_s: float = Field(default=2.0, ge=0, allow_inf_nan=False)
    """Seconds between SIGTERM, from which on `/readyz` answers 503, and the end of listening. Requests that
    have come by then are answered."""
    stop_timeout_s: float = Field(default=65.0, ge=0, allow_inf_nan=False)
    """Seconds that a server told to stop waits, once it has ended listening, for requests that have come;
    then it closes their connections."""
    max_body_bytes: int = Field(default=2**20, ge=1)
    """Largest request body in bytes."""
    max_document_bytes: int = Field(default=10 * 2**20, ge=1)
    """The same where a file is sent to be translated."""
    max_connections: int = Field(default=4096, ge=1)
    """Most connections; further ones are closed with an answer."""
    max_connections_of_address: int = Field(default=1024, ge=1)
    """The same of one address; of IPv6, of a network of 64 bits. Those of `trusted_proxies` may have all."""
    max_bodies: int = Field(default=256, ge=1)
    """Most request bodies of which a part has come and another has not; further ones are refused."""
    max_bodies_of_address: int = Field(default=64, ge=1)
    """The same of one address; of IPv6, of a network of 64 bits."""
    documents: Literal["on", "off"] = "on"
    """Whether whole files are translated for clients of DeepL and LibreTranslate. They are jobs, so that
    there are none where `jobs` is `off`."""
    document_lifetime_s: float = Field(default=1800.0, gt=0, allow_inf_nan=False)
    """Seconds for which a file of such a client, once it is translated or has failed, waits to be fetched."""
    jobs: Literal["on", "off"] | None = None
    """Whether files of any size are translated as jobs, by `/v1/jobs`. None for `on`, unless the database is
    PostgreSQL and nothing says where all processes on it find the files (`jobs_files`)."""
    jobs_files: str | None = None
    """Where files of jobs are kept: a folder, or a URL as `s3://bucket/folder` with the extra `s3`. None for
    the folder `dragoman-jobs` beside the database, if that is SQLite; without `database_url`, for a temporary
    one, with which all jobs end when the server does."""
    jobs_at_a_time: int = Field(default=1, ge=0)
    """Jobs that this process works on at a time, beside two documents; 0 leaves both to other processes on
    the same database."""
    job_texts: int = Field(default=32, ge=1)
    """Texts of a job that are in the engine at a time. More are faster while nobody else asks for anything,
    and others then wait longer."""
    max_job_bytes: int = Field(default=100 * 2**20, ge=1)
    """Largest file of a job in bytes."""
    file_isolation: Literal["on", "off"] = "on"
    """Whether files of clients are read and written in processes of their own, within the limits below. `off`
    only where every client is trusted."""
    file_memory_bytes: int = Field(default=2**30, ge=2**27)
    """Most memory in bytes of a process that reads or writes a file."""
    file_cpu_s: float = Field(default=60.0, ge=1, allow_inf_nan=False)
    """Most seconds of CPU time of such a process, for each 16 MiB of its file."""
    file_timeout_s: float = Field(default=120.0, gt=0, allow_inf_nan=False)
    """Most seconds in which such a process may find nothing to translate and write nothing."""
    max_jobs_bytes: int = Field(default=10 * 2**30, ge=1)
    """Most bytes of files of all jobs, their results included."""
    max_jobs_bytes_of_key: int = Field(default=2 * 2**30, ge=1)
    """The same of files of one key's jobs and documents; those who come without a key count as one."""
    max_uploads_bytes: int = Field(default=512 * 2**20, ge=1)
    """Most bytes of files that are on their way in at a time. One that comes alone is always taken."""
    max_uploads_bytes_of_client: int = Field(default=128 * 2**20, ge=1)
    """The same of one key, or of one address without a key."""
    max_jobs_of_key: int = Field(default=100, ge=1)
    """Most jobs of a key that are not done, and most documents."""
    job_lifetime_s: float = Field(default=7 * 86400.0, gt=0, allow_inf_nan=False)
    """Seconds for which a job that has ended is kept, with its result."""
    webhook_secret: SecretStr | None = None
    """Signs what is sent to a job's `webhook_url` when it ends: 16 bytes or more, or `whsec_` and base64.
    Each key has a secret that is derived from it: `dragoman keys webhook-secret`. None sends nothing, and
    refuses such URLs."""
    webhook_previous_secret: SecretStr | None = None
    """The `webhook_secret` before this one: what is sent is signed with both, so that receivers can change
    over. None for none."""
    webhook_private: bool = False
    """Whether webhooks may also go to addresses that are not of the public internet. Anybody who may send a
    job can then have this server ask its own network."""
    max_texts: int = Field(default=1000, ge=1)
    """Most texts in a request."""
    max_characters: int = Field(default=100_000, ge=1)
    """Most characters in all texts of a request together."""
    apis: Annotated[str, AfterValidator(_check_apis)] = "native,libretranslate,deepl"
    """Which APIs are offered, with commas between: Dragoman's own under `/v1`, LibreTranslate's, DeepL's
    under `/v2`."""
    glossaries: Literal["refused", "stored"] = "refused"
    """What becomes of a glossary that a client of DeepL makes. No translation uses glossaries, and requests
    that name one are refused. `refused`: so is making one. `stored`: it is kept in the database."""
    database_url: str | None = None
    """Where API keys, their use and glossaries are kept: `sqlite:///dragoman.db`, or `postgresql://...`. None
    for none of these; with `requires_key` it is then `sqlite:///dragoman.db`."""
    requires_key: bool = False
    """Whether requests must bring an API key; `dragoman keys create` makes one."""
    rate_limit: Annotated[str | None, AfterValidator(_check_rate_limit)] = None
    """Most requests of a key, or of an address without one, as in `20/minute; 1000/hour`. None for no limit;
    a key may have one of its own."""
    rate_storage_url: str | None = None
    """Where requests are counted by several processes together: `redis://HOST:PORT/NUMBER`. None counts in
    this process."""
    cors_origins: str = ""
    """Origins whose pages may call this server from a browser, with commas between; `*` for all."""
    trusted_proxies: str = ""
    """Addresses of proxies that are believed when they say whom they speak for, with commas between."""
    reuse_port: bool = False
    """Whether several processes may listen on one port, among which the system shares out connections."""
    discovery: Literal["auto", "open", "key"] = "auto"
    """Who may read `/v1/models`, `/v1/languages`, `/openapi.json` and `/docs`: anybody who reaches the
    server, or any key. `auto` is `key` with `requires_key`, else `open`."""
    metrics: Literal["auto", "open", "key", "off"] = "auto"
    """Who may read `/metrics`: anybody who reaches the server, keys of the scope `admin`, or nobody. `auto`
    is `key` with `requires_key`, else `open`."""
    otlp_endpoint: str | None = None
    """Where OpenTelemetry traces are sent, as in `http://collector:4318`; None for nowhere. Wants the extra
    `otel`."""
    log_format: Literal["text", "json"] = "text"
    """Of the log: for people, or an object a line."""
    log_addresses: bool = False
    """Whether the log names clients' addresses."""
    log_texts: bool = False
    """Whether the log has clients' texts in it, at the level `debug`."""
    log_level: Literal["critical", "error", "warning", "info", "debug"] = "info"
    """Least severity that is logged."""

    @model_validator(mode="after")
    def _has_keys_where_they_are_wanted(self) -> Self:
        has_keys = self.requires_key or self.database_url is not None
        for name, access in (("metrics", self.metrics), ("discovery", self.discovery)):
            if access == "key" and not has_keys:
                raise ValueError(
                    f"{name}: only for keys, and there are none; set database_url or requires_key"
                )
        return self

    @property
    def metrics_access(self) -> Literal["open", "key", "off"]:
        """Return `metrics`, decided."""
        return self._auto_access if self.metrics == "auto" else self.metrics

    @property
    def discovery_access(self) -> Literal["open", "key"]:
        """Return `discovery`, decided."""
        return self._auto_access if self.discovery == "auto" else self.discovery

    @property
    def _auto_access(self) -> Literal["open", "key"]:
        return "key" if self.requires_key else "open"

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 -- the signature is the library's
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 -- the same
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Options given to the command, then the environment, then the TOML file."""
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)


def load_settings(config: Path | None = None, overrides: Mapping[str, object] | None = None) -> Settings:
    """Build the settings from `overrides` (None means not given), the environment and the TOML file `config`.

    Raises:
        SettingsError: the file cannot be read, a name is unknown, or a value does not fit.
    """
    if unknown := _unknown_variables():
        raise SettingsError(
            f"unknown environment variable(s) {', '.join(unknown)}; known are {', '.join(_known_variables())}"
        )
    given: dict[str, Any] = {name: value for name, value in (overrides or {}).items() if value is not None}
    if config is not None and not config.is_file():
        raise SettingsError(f"configuration file {config} does not exist or is not a file")

    class Configured(Settings):
        model_config = SettingsConfigDict(toml_file=config)

    try:
        return Configured(**given)
    except ValidationError as error:
        raise SettingsError(_describe(error)) from error
    except (ValueError, OSError) as error:  # no TOML, no UTF-8, or an integer of too many digits
        raise SettingsError(f"configuration file {config} cannot be read: {error}") from error
    except RecursionError as error:
        raise SettingsError(f"configuration file {config} cannot be read: it is nested too deeply") from error


def _known_variables() -> list[str]:
    return [ENV_PREFIX + name.upper() for name in Settings.model_fields]


def _unknown_variables() -> list[str]:
    known = set(_known_variables())
    return sorted(
        name for name in os.environ if name.upper().startswith(ENV_PREFIX) and name.upper() not in known
    )


def _describe(error: ValidationError) -> str:
    problems = []
    for problem in error.errors(include_url=False):
        name = ".".join(str(part) for part in problem["loc"])
        if problem["type"] == "extra_forbidden":
            problems.append(f"{name} is not a setting; known are {', '.join(Settings.model_fields)}")
        else:
            problems.append(
                f"{name} (or {ENV_PREFIX}{name.upper()}): {problem['msg']}, not {problem['input']!r}"
            )
    return "; ".join(problems)
