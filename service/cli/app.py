"""The command line: the list of commands, and the report of errors."""

import os
import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from service.cli.exit_status import EXIT_FAILED
from service.cli.options import new_command_group
from service.versions import installed_version


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


COMMANDS = {
    "translate": ("service.cli.translate:app", "Translate a text line by line."),
    "detect": ("service.cli.detect:app", "Detect the language of a text."),
    "score": ("service.cli.score:app", "Score given translations."),
    "batch": ("service.cli.batch:app", "Translate whole files in many formats."),
    "serve": ("service.cli.serve:app", "Serve translations over HTTP until stopped."),
    "import": (
        "service.cli.import_model:app",
        "Convert a model of another toolkit to a bundle in the models folder.",
    ),
    "pull": ("service.cli.pull:app", "Download a model that an index names into the models folder."),
    "models": ("service.cli.models:app", "List the bundles in the models folder and verify their files."),
    "info": ("service.cli.info:app", "Show the installed versions and the properties of each bundle."),
    "keys": ("service.cli.keys:keys", "Manage API keys."),
}
"""Name of each command, its app, and the first sentence of its help."""

app = new_command_group(
    "dragoman", "Translate text and files, or serve translations over HTTP.", completes=True
)
for _name, (_target, _description) in COMMANDS.items():
    add_lazily(app, _name, _target, _description)


def main() -> None:
    """Run a command; report an error that a user or operator can fix in one line, without a traceback."""
    try:
        app(prog_name="dragoman")
    except Exception as error:
        from service.cli.errors import EXPECTED_ERRORS  # noqa: PLC0415 -- needs the engine, which is slow to import

        if not isinstance(error, EXPECTED_ERRORS):
            raise
        print(f"dragoman: {_describe(error)}", file=sys.stderr)  # noqa: T201 -- a command reports on stderr
        sys.exit(EXIT_FAILED)


def _describe(error: Exception) -> str:
    """Return an error as a sentence; the system's own have a number, and the name of the file at the end."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{os.fsdecode(error.filename)}: {error.strerror.lower()}"
    return str(error)


def _print_version(is_wanted: bool) -> None:  # noqa: FBT001 -- the signature is the library's
    if is_wanted:
        typer.echo(f"dragoman {installed_version('dragoman')}")
        raise typer.Exit


@app.callback()
def root(
    *,
    _version: Annotated[
        bool,
        typer.Option(
            "--version", "-V", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Accept the options that belong to no command."""
