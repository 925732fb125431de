"""Tables of cases, in TOML files beside the modules that read them."""

import tomllib
from pathlib import Path
from typing import Any


def read_cases(module_file: str) -> dict[str, Any]:
    """Read the tables in the TOML file that has the name of a module."""
    return tomllib.loads(Path(module_file).with_suffix(".toml").read_text(encoding="utf8"))
