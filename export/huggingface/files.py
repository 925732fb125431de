"""Settings and model card of a Hugging Face folder, read with checks."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from export.bounded_files import UnreadableFileError, read_beginning, read_bounded
from export.original import ImportRejectedError

CONFIG_FILE = "config.json"
GENERATION_FILE = "generation_config.json"
TOKENIZER_CONFIG_FILE = "tokenizer_config.json"
CARD_FILE = "README.md"
MAX_JSON_BYTES = 256 * 2**20
"""Maximum size of a file; the largest known, a tokenizer.json of 256,000 pieces with merges, has 32 MiB."""

_LICENCE = re.compile(r"^license:\s*[\"']?([\w.+-]+)[\"']?\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class JsonFiles:
    """JSON files of a folder, as stored."""

    folder: Path
    config: Mapping[str, Any]
    generation: Mapping[str, Any] | None
    """None if the folder has no separate file for it; older models keep such settings in `config`."""
    tokenizer: Mapping[str, Any]
    """Empty if the folder has no such file."""


def read_settings(folder: Path) -> JsonFiles:
    """Read the JSON files.

    Raises:
        ImportRejectedError: config.json is missing, or files are not JSON objects; all of them are named.
    """
    problems: list[str] = []
    config = read_object(folder / CONFIG_FILE, problems)
    generation, tokenizer = (
        read_object(folder / name, problems) if (folder / name).exists() else None
        for name in (GENERATION_FILE, TOKENIZER_CONFIG_FILE)
    )
    if problems:
        raise ImportRejectedError(str(folder), tuple(problems))
    return JsonFiles(folder, config, generation, tokenizer or {})


def read_object(path: Path, problems: list[str]) -> dict[str, Any]:
    """Return a JSON object; if the file has none or is unreadable, return {} and add a problem."""
    try:
        content = json.loads(read_bounded(path, MAX_JSON_BYTES))
    except UnreadableFileError as error:
        problems.append(f"{path.name} {error}")
    except (ValueError, RecursionError) as error:
        problems.append(f"{path.name} is not JSON: {error}")
    else:
        if isinstance(content, dict):
            return content
        problems.append(f"{path.name} is not a JSON object")
    return {}


def read_licence(folder: Path) -> str | None:
    """Return the licence in the header of the model card; None if it names none."""
    card = read_beginning(folder / CARD_FILE).replace("\r\n", "\n")
    header = card.split("\n---", 1)[0] if card.startswith("---\n") else ""
    found = _LICENCE.search(header)
    return found.group(1) if found else None
