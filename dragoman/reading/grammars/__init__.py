"""Grammars of languages, one module each; `reading.toml` names them."""

import re
from importlib import import_module
from typing import cast

from dragoman.reading.grammar import Grammar

_NAME = re.compile("[a-z_]+")


def find_grammar(name: str) -> Grammar | None:
    """Return the grammar of a name; None if there is none."""
    module = f"{__name__}.{name}"
    if not _NAME.fullmatch(name):
        return None
    try:
        return cast("Grammar", import_module(module))
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        return None
