"""Registries in the shapes of Mozilla's and Argos's, with files beside them."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import zstandard

FIREFOX_FILE, ARGOS_FILE = "records.json", "index.json"


def firefox_records(
    folder: Path, files: Mapping[str, bytes], pair: tuple[str, str], **changes: Any
) -> list[dict[str, Any]]:
    """Write the files of a model, by the types of files with their names, and return their records."""
    records = []
    for kind_and_name, content in files.items():
        file_type, name = kind_and_name.split(":")
        packed = zstandard.ZstdCompressor().compress(content)
        location = f"attachments/{'-'.join(pair)}-{len(list(folder.rglob('*')))}.zst"
        (folder / "attachments").mkdir(parents=True, exist_ok=True)
        (folder / location).write_bytes(packed)
        records.append(
            {
                "name": name,
                "sourceLanguage": pair[0],
                "targetLanguage": pair[1],
                "architecture": "base-memory",
                "version": "3.0",
                "fileType": file_type,
                "filter_expression": "",
                "attachment": {
                    "location": location,
                    "hash": hashlib.sha256(packed).hexdigest(),
                    "size": len(packed),
                },
            }
            | changes
        )
    return records


def write_firefox(folder: Path, *records: list[dict[str, Any]]) -> Path:
    path = folder / FIREFOX_FILE
    path.write_text(json.dumps({"data": [one for each in records for one in each]}), encoding="utf8")
    return path


def write_argos(folder: Path, *packages: tuple[str, str, str, str]) -> Path:
    """Write an index of packages: the languages, the version and the link of each."""
    content = [
        {"from_code": source, "to_code": target, "package_version": version, "links": ["ipfs://x", link]}
        for source, target, version, link in packages
    ]
    path = folder / ARGOS_FILE
    path.write_text(json.dumps(content), encoding="utf8")
    return path
