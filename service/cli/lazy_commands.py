"""Commands whose modules are imported when they run: a shell that completes a word waits for no engine."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand


def add_lazily(group: typer.Typer, name: str, target: str, description: str) -> None:
    """Add a command to a group without importing it.

    Args:
        group: gets the command.
        name: name of the command.
        target: module and name of its `Typer` app, such as `service.cli.translate:app`.
        description: first sentence of its help, for the list of commands.
    """

    class LazyCommand(TyperCommand):
        def make_context(
            self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any
        ) -> Any:
            """Parse the arguments as the real command, which the context then runs."""
            module, _, attribute = target.partition(":")
            command = typer.main.get_command(getattr(import_module(module), attribute))
            return command.make_context(info_name, args, parent, **extra)

    @group.command(name, cls=LazyCommand, help=description)
    def run() -> None:
        """Never runs: the context belongs to the real command."""
