"""`dragoman detect`: the language of a text."""

import typer

from service.cli import options as cli_options
from service.cli.lines import open_lines
from service.models.engine import open_router
from service.settings.settings import load_settings
from service.translation.detection import detect as detect_languages
from service.translation.request import AUTO
from service.translation.source_language import DetectionMode

app = cli_options.new_command()


@app.command()
def detect(
    text: cli_options.TextArgument = None,
    *,
    file: cli_options.FileOption = None,
    model: cli_options.ModelOption = None,
    config: cli_options.ConfigOption = None,
) -> None:
    """Detect the language of a text.

    Prints the languages that the first 2000 characters may be in, among those of the models: one in a line,
    the most likely first, with a tab and the confidence. `und` stands for none of them.
    """
    settings = load_settings(config, {"model": model})
    DetectionMode(settings.detection).is_wanted(AUTO)  # raises if detection is off
    with open_router(settings) as router, open_lines(text, file) as lines:
        served = sorted({*router.routes.sources(), *router.routes.targets()})
        for found in detect_languages(lines.beginning(), served):
            typer.echo(f"{found.language}\t{found.confidence:.4f}")
