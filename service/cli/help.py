"""Help on the settings, for `dragoman serve --help` and docs/reference/settings*.md."""

import textwrap
from dataclasses import dataclass

from pydantic.fields import FieldInfo

from service.settings.groups import GROUPS
from service.settings.settings import ENV_PREFIX

WIDTH = 76
PRECEDENCE = """Settings. An option overrides the environment variable, which overrides the TOML file of
--config. The keys of the file are the names of the settings."""
KEEP_LINES = "\b"
"""Marker before a paragraph of a command's help whose lines must not be refilled."""


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
    return {
        heading: [_describe(*setting) for setting in group.model_fields.items()]
        for heading, group in GROUPS.items()
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
