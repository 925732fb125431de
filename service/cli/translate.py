"""`dragoman translate`: a text line by line."""

from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from dragoman import DecodingOptions
from dragoman.pipeline.engine_request import DEFAULT_DECODING
from dragoman.translator import READ_AHEAD_TEXTS
from service.batch.entry_translator import RoutedEntryTranslator
from service.cli import options as cli_options
from service.cli.exit_status import EXIT_INCOMPLETE
from service.cli.languages import LanguageArguments, find_route, preload
from service.cli.lines import open_lines, open_output, write_lines
from service.cli.terms import TermOptions
from service.models.engine import open_router
from service.settings.settings import load_settings
from service.text.options import PlaceholderMode
from service.translation.options import TranslationOptions

app = cli_options.new_command()


@app.command()
def translate(  # noqa: PLR0913 -- the command's options
    text: cli_options.TextArgument = None,
    *,
    file: cli_options.FileOption = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Output file. Default: stdout.")
    ] = None,
    source: cli_options.SourceOption = None,
    target: cli_options.TargetOption = None,
    model: cli_options.ModelOption = None,
    providers: cli_options.ProvidersOption = None,
    kernels: cli_options.KernelsOption = None,
    beam_size: cli_options.BeamSizeOption = DEFAULT_DECODING.beam_size,
    length_penalty: cli_options.LengthPenaltyOption = DEFAULT_DECODING.length_penalty,
    early_stopping: Annotated[
        bool | None,
        typer.Option(
            "--early-stopping/--no-early-stopping",
            help="End a search once as many hypotheses as the beam size are finished. Default: the model's.",
        ),
    ] = DEFAULT_DECODING.early_stopping,
    max_length: cli_options.MaxLengthOption = None,
    formality: cli_options.FormalityOption = None,
    use_shortlist: cli_options.ShortlistOption = DEFAULT_DECODING.use_shortlist,
    glossary: cli_options.GlossaryOption = None,
    term: cli_options.TermOption = None,
    placeholders: cli_options.PlaceholdersOption = PlaceholderMode.AUTO,
    config: cli_options.ConfigOption = None,
) -> None:
    """Translate a text line by line.

    Output line n is the translation of input line n. A line that cannot be translated is written
    unchanged and reported on stderr; the exit status is then 1.
    """
    options = TranslationOptions(
        DecodingOptions(
            beam_size=beam_size,
            length_penalty=length_penalty,
            early_stopping=early_stopping,
            max_length=max_length,
            return_scores=False,
            use_shortlist=use_shortlist,
            formality=formality,
        ),
        placeholders=placeholders,
    )
    settings = load_settings(config, {"model": model, "providers": providers, "kernels": kernels})
    names = LanguageArguments(source, target)
    with ExitStack() as stack:
        lines = stack.enter_context(open_lines(text, file))
        router = stack.enter_context(open_router(settings))
        route = find_route(names, router, settings.detection, lines.beginning)
        if route is not None:
            terms = TermOptions(glossary, tuple(term or ()))
            options = options.with_terms(terms.read(route.pair))
            preload(route, router)  # fail before the output is emptied if a bundle cannot be opened
        target_file = stack.enter_context(open_output(output, lines.file))
        if route is None:
            target_file.writelines(lines)
            return
        # A user who types a line waits for its translation.
        read_ahead = 1 if lines.is_terminal else READ_AHEAD_TEXTS
        translator = RoutedEntryTranslator(router, *route.pair, options, read_ahead)
        is_complete = write_lines(translator, lines, target_file)
    if not is_complete:
        raise typer.Exit(EXIT_INCOMPLETE)
