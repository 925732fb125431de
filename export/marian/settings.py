"""Options by name, from small YAML files and blocks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from export.bounded_files import UnreadableFileError, read_bounded

MAX_YAML_BYTES = 2**20
"""Maximum size of options; vocabularies have their own reader."""


def parse_options(text: str, name: str, problems: list[str]) -> dict[str, Any]:
    """Return the entries of a mapping, read as plain data.

    Args:
        text: YAML.
        name: name of the text, for problems.
        problems: the reason why it cannot be read is added here.

    Returns:
        Options by name; none if there is a problem.
    """
    try:
        # A few aliases can expand to more than any memory holds, and nobody writes options with them.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader)):
            problems.append(f"{name} has aliases (*), which are not supported")
            return {}
        content = yaml.load(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problems.append(f"{name} is not YAML: {' '.join(str(error).split())}")
        return {}
    if not isinstance(content, dict):
        problems.append(f"{name} is not a mapping from names to options")
        return {}
    return {str(option): value for option, value in content.items()}


def read_options(path: Path, problems: list[str]) -> Mapping[str, Any]:
    """Return the entries of a file, as `parse_options` does."""
    try:
        text = read_bounded(path, MAX_YAML_BYTES).decode("utf8")
    except UnreadableFileError as error:
        problems.append(f"{path.name} {error}")
    except UnicodeDecodeError as error:
        problems.append(f"{path.name} cannot be read: {error}")
    else:
        return parse_options(text, path.name, problems)
    return {}
