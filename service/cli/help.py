"""Help on the settings, for `dragoman serve --help` and docs/reference/settings*.md."""

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic.fields import FieldInfo

from service.settings.settings import ENV_PREFIX, Settings

WIDTH = 76
PRECEDENCE = """Settings. An option overrides the environment variable, which overrides the TOML file of
--config. The keys of the file are the names of the settings."""
KEEP_LINES = "\b"
"""Marker before a paragraph of a command's help whose lines must not be refilled."""
GROUPS: Mapping[str, str] = {
    "Models": """
        model models_dir model_index preload memory_budget_bytes pivots detection watch_s reload_endpoint
    """,
    "Engine": "providers kernels replicas threads queue_size segment_cache_size segment_cache",
    "Network": """
        host port uds uds_mode root_path reuse_port trusted_proxies cors_origins drain_s stop_timeout_s
    """,
    "Limits": """
        request_timeout_s client_timeout_s max_body_bytes max_document_bytes max_connections
        max_connections_of_address max_bodies max_bodies_of_address max_texts max_characters
    """,
    "API keys and rate limits": "database_url requires_key rate_limit rate_storage_url discovery",
    "APIs": """apis page documents document_lifetime_s suggestions max_glossaries_of_key
        max_glossary_entries max_glossaries_bytes_of_key""",
    "Jobs": """
        jobs jobs_files jobs_at_a_time job_texts max_job_bytes file_isolation file_memory_bytes file_cpu_s
        file_timeout_s max_jobs_bytes max_jobs_bytes_of_key max_uploads_bytes max_uploads_bytes_of_client
        max_jobs_of_key job_lifetime_s
    """,
    "Telemetry": "metrics log_level log_format log_addresses log_texts otlp_endpoint",
}
"""Names of all settings, by group."""


@dataclass(frozen=True, slots=True)
class SettingHelp:
    """Documentation of one setting."""

    name: str
    default: str
    meaning: str

    @property
    def variable(self) -> str:
        return ENV_PREFIX + self.name.upper()


def grouped_settings() -> dict[str, list[SettingHelp]]:
    """Return all settings by group."""
    known = Settings.model_fields
    return {
        group: [_describe(name, known[name]) for name in names.split()] for group, names in GROUPS.items()
    }


def settings_help() -> str:
    """Return all settings as text for a command's help."""
    paragraphs = [PRECEDENCE]
    for group, settings in grouped_settings().items():
        paragraphs.append("\n".join([KEEP_LINES, f"{group}:", *map(_format_setting, settings)]))
    return "\n\n".join(paragraphs)


def _format_setting(setting: SettingHelp) -> str:
    head = f"  {setting.name}, {setting.variable} [{setting.default}]"
    meaning = setting.meaning.replace("`", "")
    indent = " " * 6
    lines = textwrap.fill(
        meaning, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
    return f"{head}\n{lines}"


def _describe(name: str, field: FieldInfo) -> SettingHelp:
    meaning = " ".join((field.description or "").split())
    return SettingHelp(name, _format_default(field.default), meaning)


def _format_default(default: object) -> str:
    """Return a default as it would be written in the environment."""
    match default:
        case None:
            return "none"
        case "":
            return "empty"
        case bool():
            return str(default).lower()
        case float():
            return f"{default:g}"
        case _:
            return str(default)
