"""Settings of an operator: by option, environment variable or TOML file, in this order of precedence.

Import reads nothing; a command calls `load_settings` once.
"""

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from service.settings import groups
from service.settings.links import describe_ignored, describe_misspelt, nearest_setting, without_service_links

ENV_PREFIX = "DRAGOMAN_"


class SettingsError(Exception):
    """Settings that cannot be used; the message names each of them."""


class Settings(
    groups.TelemetrySettings, groups.AccountSettings, groups.ApiSettings, groups.JobSettings,
    groups.LimitSettings, groups.EngineSettings, groups.NetworkSettings, groups.BundleSettings, BaseSettings,
):  # fmt: skip
    """The settings of one server or command; they do not change while it runs."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX)

    @model_validator(mode="after")
    def _check_key_access(self) -> Self:
        has_keys = self.requires_key or self.database_url is not None
        for name, access in (("metrics", self.metrics), ("discovery", self.discovery)):
            if access == "key" and not has_keys:
                raise ValueError(f"{name}: `key` requires API keys; set database_url or requires_key")
        return self

    @property
    def metrics_access(self) -> Literal["open", "key", "off"]:
        """Return `metrics` with `auto` resolved."""
        return self._auto_access if self.metrics == "auto" else self.metrics

    @property
    def discovery_access(self) -> Literal["open", "key"]:
        """Return `discovery` with `auto` resolved."""
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
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 -- the library's signature
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 -- the same
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources in order: options of the command, the environment, the TOML file."""
        if isinstance(env_settings, EnvSettingsSource):
            env_settings.env_vars = without_service_links(env_settings.env_vars)
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)


def load_settings(config: Path | None = None, overrides: Mapping[str, object] | None = None) -> Settings:
    """Load the settings as `read_settings` does, and log a warning if environment variables are ignored."""
    settings = read_settings(config, overrides)
    log_ignored_variables()
    return settings


def read_settings(config: Path | None = None, overrides: Mapping[str, object] | None = None) -> Settings:
    """Read the settings from `overrides` (None means not given), the environment and the TOML file `config`.

    Raises:
        SettingsError: the file cannot be read, it has an unknown name, a value is not valid, or a variable of
            the environment is probably a misspelt setting near security.
    """
    security = {name for name, field in Settings.model_fields.items() if groups.SECURITY in field.metadata}
    if problem := describe_misspelt(os.environ, ENV_PREFIX, tuple(Settings.model_fields), security):
        raise SettingsError(problem)
    given: dict[str, Any] = {name: value for name, value in (overrides or {}).items() if value is not None}
    if config is not None and not config.is_file():
        raise SettingsError(f"configuration file {config} does not exist or is not a file")

    class SettingsWithFile(Settings):
        model_config = SettingsConfigDict(toml_file=config)

    try:
        return SettingsWithFile(**given)
    except ValidationError as error:
        raise SettingsError(_describe(error)) from error
    except (ValueError, OSError) as error:  # not TOML, not UTF-8, or an integer with too many digits
        raise SettingsError(f"configuration file {config} cannot be read: {error}") from error
    except RecursionError as error:
        raise SettingsError(f"configuration file {config} cannot be read: it is nested too deeply") from error


def log_ignored_variables() -> None:
    """Log a warning that names the ignored environment variables with the prefix, if there are any."""
    if problem := describe_ignored(os.environ, ENV_PREFIX, tuple(Settings.model_fields)):
        logging.getLogger(__name__).warning("ignored environment variables: %s", problem)


def _describe(error: ValidationError) -> str:
    problems = []
    for problem in error.errors(include_url=False):
        name = "".join(map(str, problem["loc"][:1]))  # what follows are the types of a union
        if problem["type"] == "extra_forbidden":
            nearest = nearest_setting(name, tuple(Settings.model_fields))
            problems.append(f"{name} is not a setting; did you mean {nearest}?")
        else:
            problems.append(
                f"{name} (or {ENV_PREFIX}{name.upper()}): {problem['msg']}, not {problem['input']!r}"
            )
    return "; ".join(problems)
