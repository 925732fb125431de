"""Command lines of the benchmarks: arguments, rows that they print, results that they write."""

import argparse
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.provenance import ON_CPU, provenance, write_json
from dragoman.providers import SessionOptions

HELP: Mapping[str, str] = {
    "bundle": "folder of the bundle",
    "folder": "written by `python -m bench.models`",
    "--sentences": "source text, one sentence per line",
    "--rounds": "how often everything is measured",
    "--replicas": "of the bundle, with one thread each",
    "--output": "JSON file of the result, such as bench/results/NAME.json",
}
"""Help of the arguments that several commands have."""

Options = dict[str, Any]
"""Defaults of arguments by name and help; see `Command`."""


@dataclass(frozen=True, slots=True)
class Words:
    """Stands for the default of an argument of several words, such as a name and two files."""

    names: tuple[str, ...]
    times: str = "several"
    """`several`: the argument may be given several times, and is a list; or `once`."""

    def settings(self) -> dict[str, Any]:
        """Return the argument's settings for argparse."""
        action = {"action": "append", "default": []} if self.times == "several" else {}
        return {"nargs": len(self.names), "metavar": self.names, **action}


class Command:
    """One command of `bench`, which writes its result to `--output`."""

    def __init__(self, name: str, description: str | None, defaults: Mapping[str, Any]) -> None:
        """Declare the arguments.

        Args:
            name: module in `bench`.
            description: shown by `--help`.
            defaults: value of each argument that is not given. A key is the argument's name, perhaps followed
                by its help. A type stands for None and that type, False declares a flag. A list with a type
                or a function accepts any number of values; a tuple accepts one or more: any, or those in the
                tuple if it has strings. A positional argument with a tuple is one of its strings. `Words`
                accepts several words.
        """
        self.parser = argparse.ArgumentParser(
            prog=f"python -m bench.{name}",
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        self._words: list[str] = []
        self._output: Path | None = None
        for text, default in {"--output": Path, **defaults}.items():
            argument, _, explained = text.partition(" ")
            settings = _settings(argument, default)
            self.parser.add_argument(argument, help=explained or HELP.get(argument), **settings)

    def parse(self, words: Sequence[str] | None = None) -> argparse.Namespace:
        """Parse `words`, by default those of the command line."""
        self._words = list(sys.argv[1:] if words is None else words)
        arguments = self.parser.parse_args(self._words)
        self._output = arguments.output
        return arguments

    def __str__(self) -> str:
        """Return the command line for the record, without the output and without folders of this machine."""
        output = {"--output", str(self._output), f"--output={self._output}"}
        words = [word for word in self._words if word not in output]
        return f"{self.parser.prog} {shlex.join(map(_short_path, words))}"

    def write(self, bundle: Path, figures: Mapping[str, Any], session: SessionOptions = ON_CPU) -> None:
        """Write the figures, measured with a bundle in such a session, if there is an output."""
        if self._output is not None:
            write_json(self._output, {"provenance": provenance(bundle, str(self), session), **figures})


def _settings(name: str, default: Any) -> dict[str, Any]:
    """Return the settings of an argument for argparse."""
    if default is False:
        return {"action": "store_true"}
    if isinstance(default, Words):
        return default.settings()
    if isinstance(default, type):
        return {"type": default}
    if isinstance(default, list):
        return {"type": default[0], "nargs": "+", "action": "extend", "default": []}
    if isinstance(default, tuple):
        choices = default if isinstance(default[0], str) else None
        several = {"nargs": "+", "default": default} if name.startswith("-") else {}
        return {"type": type(default[0]), "choices": choices, **several}
    return {"type": type(default), "default": default, **({} if name.startswith("-") else {"nargs": "?"})}


def show(rows: Iterable[Mapping[str, Any]]) -> None:
    """Print each row on a line."""
    for row in rows:
        print("  ".join(f"{name} {_show_value(value)}" for name, value in row.items()), flush=True)


def _show_value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"({', '.join(f'{name} {_show_value(inner)}' for name, inner in value.items())})"
    return f"{value:.4g}" if isinstance(value, float) and abs(value) < 1e4 else str(value)  # noqa: PLR2004 -- digits


def _short_path(word: str) -> str:
    """Shorten an absolute file to its name, and an absolute folder to its last two names."""
    path = Path(word)
    if not path.is_absolute():
        return word
    return path.name if path.is_file() else str(Path(*path.parts[-2:]))
